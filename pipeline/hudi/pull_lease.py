"""The lease of a pull or a replication where files have no locks."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from conf.names import TableRef
from pipeline.copy.files import Files
from pipeline.copy.runs.lease import Lease, run_markers
from pipeline.copy.runs.staging import new_run, open_path, this_machine
from pipeline.errors import AnotherCopyRuns, CopyError, VerifyFailed
from pipeline.hudi.errors import PullRunning, StorageFault
from pipeline.hudi.table.table import LOCKS


@contextmanager
def leased(files: Files, location: str, folder: str = LOCKS) -> Iterator[Callable[[], None]]:
    """Allows one pull or replication into a location at a time, by a marker with heartbeats in its
    `folder`. Yields a function that raises PullRunning when the lease was lost. Raises PullRunning,
    StorageFault.
    """
    locks = f"{location}/{folder}"
    marker = new_run(TableRef("hudi", "pull"), 0, time.time())
    lease = Lease(files, locks, marker, time.time)
    lease.finished = True  # a pull leaves no files to take over
    try:
        with lease:
            _sweep(files, locks, marker.run)
            yield lease.check
    except AnotherCopyRuns as other:
        raise PullRunning(f"another pull into {location} is running: {other.args[0]}") from other
    except VerifyFailed:
        raise
    except CopyError as fault:
        raise StorageFault(f"{location}: {fault.args[0]}") from fault
    finally:
        with suppress(CopyError):
            files.delete([open_path(locks, marker.run), f"{locks}/{marker.run}"])


def _sweep(files: Files, locks: str, own: str) -> None:
    """Deletes the markers of runs that were killed. A run that only seemed killed misses its marker
    when it checks its lease before it writes.
    """
    machine, now = this_machine(), time.time()
    for run, marker in run_markers(files, locks).items():
        if run != own and marker is not None and not marker.is_alive(now, machine):
            files.delete([open_path(locks, run), f"{locks}/{run}"])
