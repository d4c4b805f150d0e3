"""Records of the runs that copied something or failed, for the history and for telemetry.

A run has a record for each cluster that data came from, because partitions of a table may have
different primaries. A run that finds every copy fresh has none.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

from conf.logs.log_fields import log_fields, trace_id, with_log_fields
from database.history.work import CopyRecord
from pipeline.errors import AnotherCopyRuns

RecordCopy = Callable[[CopyRecord], None]


def no_records(record: CopyRecord) -> None:
    """For callers that keep no records."""


@dataclass(frozen=True, slots=True)
class CopyRoute:
    """What a run copies, from where and to where; the fields are those of `CopyRecord`."""

    run: str
    table: str
    target_table: str
    source: str
    target: str
    location: str


@dataclass(slots=True)
class Share:
    """What a run copied from one cluster. `objects` are names and versions; an empty name is the
    table itself. `files` and `bytes` are the size of the copies, None where it is not known; `sent`
    are the bytes that went over the network.
    """

    objects: list[tuple[str, str]] = field(default_factory=list)
    files: int | None = 0
    bytes: int | None = 0
    sent: int = 0
    errors: list[str] = field(default_factory=list)


Shares = Callable[[], Mapping[str, Share]]
"""Returns what was copied so far, by the cluster of the source."""


@contextmanager
def recorded(
    record: RecordCopy, clock: Callable[[], float], route: CopyRoute, shares: Shares
) -> Iterator[None]:
    """Records the run inside of the block, also if it raises. Log lines and descriptions of Spark
    jobs in the block have the record's id, unless the copy is made for a statement or an instance.
    A run that copied nothing because another run copies the same has no record.
    """
    id, started = secrets.token_hex(16), clock()
    failure: BaseException | None = None
    with with_log_fields(copy=id):
        try:
            yield
        except BaseException as error:
            failure = error
            raise
        finally:
            parts = {name: part for name, part in shares().items() if part.objects or part.errors}
            if failure is not None and not parts and not isinstance(failure, AnotherCopyRuns):
                parts = {route.source: Share(files=None, bytes=None)}
            text = "" if failure is None else str(failure) or type(failure).__name__
            for number, (source, share) in enumerate(parts.items()):
                record_id = sha256(f"{id} {source}".encode()).hexdigest()[:32] if number else id
                record(_record_of(record_id, route, source, share, (started, clock()), text))


def _record_of(
    id: str,
    route: CopyRoute,
    source: str,
    share: Share,
    times: tuple[float, float],
    error: str,
) -> CopyRecord:
    fields = log_fields()
    names = [name for name, _ in share.objects]
    return CopyRecord(
        id=id,
        trace=trace_id(),
        run=route.run,
        table=route.table,
        target_table=route.target_table,
        source=source,
        target=route.target,
        location=route.location,
        started=times[0],
        ended=times[1],
        partitions=None if names == [""] or not names else len(names),
        objects=share.objects,
        copied=len(names),
        failed=len(share.errors),
        files=share.files,
        bytes=share.bytes,
        sent=share.sent,
        error=error or next(iter(share.errors), ""),
        statement=fields.get("statement", ""),
        instance=fields.get("instance", ""),
        entity=fields.get("entity", ""),
    )
