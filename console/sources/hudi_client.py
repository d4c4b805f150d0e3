"""Reads the timelines of Hudi tables on this machine or S3, and plans pulls."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from console.errors import Refused, SourceDown
from console.sources.cached import within
from pipeline.hudi.changes import EARLIEST
from pipeline.hudi.errors import IncrementalError
from pipeline.hudi.plan import Plan, plan
from pipeline.hudi.table.metadata import CommitMetadata
from pipeline.hudi.table.open_storage import open_storage
from pipeline.hudi.table.storage import HudiStorage
from pipeline.hudi.table.table import HudiTable, open_for_changes
from pipeline.hudi.table.timeline import COMMIT_ACTIONS, Instant
from proxy.auth.thread_pool import DaemonThreads

T = TypeVar("T")

SOURCE = "the files of the Hudi table"
MAX_INSTANTS = 400  # newest instants of a timeline
DESCRIBED = 40  # newest commits whose metadata is read
_PATIENCE = 30.0  # seconds for a request
_THREADS = 4


@dataclass(frozen=True, slots=True)
class HudiTimeline:
    """The newest actions of a table, the newest first. `commits` has the metadata of the newest
    commits, by the names of their files. `left_out` counts the older actions. `by_completion` says
    whether bookmarks are completion times."""

    base: str
    version: int
    merge_on_read: bool
    partition_fields: tuple[str, ...]
    instants: tuple[Instant, ...]
    left_out: int
    commits: dict[str, CommitMetadata]
    by_completion: bool


class HudiClient:
    """Hudi tables. Methods raise SourceDown if the files cannot be read, and Refused for an invalid
    range."""

    def __init__(self) -> None:
        self._threads = DaemonThreads(_THREADS, "hudi")

    async def timeline(self, base: str) -> HudiTimeline:
        """The timeline of the table at `base`."""
        return await self._run(partial(_timeline, base))

    async def pull(self, base: str, since: str) -> Plan:
        """The plan of a pull since this instant."""
        return await self._run(partial(_plan, base, since))

    async def _run(self, call: Callable[[], T]) -> T:
        try:
            return await within(_PATIENCE, SOURCE, self._threads.run(call))
        except OSError as error:
            raise SourceDown(SOURCE, str(error)) from error


def _timeline(base: str) -> HudiTimeline:
    try:
        table = _open(base)
        instants = sorted(table.timeline.instants, key=lambda each: each.requested, reverse=True)
        newest = tuple(instants[:MAX_INSTANTS])
        described = [x for x in newest if x.completed and x.action in COMMIT_ACTIONS][:DESCRIBED]
        return HudiTimeline(
            table.base, table.version, table.merge_on_read, table.partition_fields, newest,
            len(instants) - len(newest), {each.file: table.commit(each) for each in described},
            table.timeline.by_completion,
        )  # fmt: skip
    except IncrementalError as error:
        raise SourceDown(SOURCE, str(error)) from error


def _plan(base: str, since: str) -> Plan:
    try:
        return plan(_open(base), since or EARLIEST)
    except IncrementalError as error:
        raise Refused(str(error)) from error


def _open(base: str) -> HudiTable:
    return open_for_changes(base, open_storage(base, {}, {}, _no_spark))


def _no_spark() -> HudiStorage:
    text = "files on HDFS need Spark: run `causeway incremental plan` to see what a pull reads"
    raise SourceDown(SOURCE, text)
