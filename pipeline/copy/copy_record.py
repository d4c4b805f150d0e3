"""Records of the runs that copied something or failed, for the history and for telemetry.

A record has a row for each cluster that data came from: partitions of a table may have different
primaries. A run that finds every copy fresh has none.
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
    """What a run copied from one cluster: `objects` are names and versions, an empty name is the
    table itself. `files` and `bytes` are None where the size of the copy is not known."""

    objects: list[tuple[str, str]] = field(default_factory=list)
    files: int | None = 0
    bytes: int | None = 0
    sent: int = 0
    errors: list[str] = field(default_factory=list)


Shares = Callable[[], Mapping[str, Share]]
"""What was copied so far, by the cluster that it came from."""


@contextmanager
def recorded(
    record: RecordCopy, clock: Callable[[], float], route: CopyRoute, shares: Shares
) -> Iterator[None]:
    """Records the run inside of the block, also if it raises. Its log lines and the description of
    its Spark jobs have the copy's id, unless it is made for a statement or an instance. A run that
    copied nothing because another one is at work has no record."""
    id, started = secrets.token_hex(16), clock()
    failure: BaseException | None = None
    with with_log_fields(copy=id):
        try:
            yield
        except BaseException as error:
            failure = error
            raise
        finally:
            found = {name: each for name, each in shares().items() if each.objects or each.errors}
            if failure is not None and not found and not isinstance(failure, AnotherCopyRuns):
                found = {route.source: Share(files=None, bytes=None)}
            text = "" if failure is None else str(failure) or type(failure).__name__
            for number, (source, share) in enumerate(found.items()):
                own = sha256(f"{id} {source}".encode()).hexdigest()[:32] if number else id
                record(_record_of(own, route, source, share, (started, clock()), text))


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
