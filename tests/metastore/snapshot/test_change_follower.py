"""News of other writers reach the snapshot."""

import asyncio
import threading

import pytest

from conf.catalog.tables import NotLoaded, TableInfo, TableKind
from conf.names import ClusterName, TableRef
from conf.placement import Placement
from conf.settings.settings import Settings
from conf.topology import Topology
from metastore.snapshot.change_follower import follow
from metastore.snapshot.snapshot import Snapshot, TableRecord
from tests.metastore.fake import FakeMetastore, Refused
from thriftcodec.values import BOOL, I64, LIST, STRUCT, Struct, strings

C1 = ClusterName("C1")
A, B, OTHER = TableRef("db", "a"), TableRef("db", "b"), TableRef("default", "c")


def _put(snapshot: Snapshot) -> None:
    for ref in (A, B, OTHER):
        token = snapshot.begin(ref)
        snapshot.put_table(ref, TableRecord(TableInfo(ref, TableKind.TABLE), Placement(C1)), token)
        snapshot.end(ref, token)


def _known(snapshot: Snapshot) -> set[TableRef]:
    known = set()
    for ref in (A, B, OTHER):
        try:
            snapshot.table(ref)
        except NotLoaded:
            continue
        known.add(ref)
    return known


def _no_log(method: str) -> None:
    if method == "get_current_notificationEventId":
        raise Refused(1, "no log")


@pytest.mark.parametrize(
    ("news", "everything", "left"),
    [
        ((), False, {A, B, OTHER}),
        (("db.a",), False, {B, OTHER}),
        (("db.*",), False, {OTHER}),
        ((), True, set()),
    ],
)
def test_a_views_feed(
    metastore: FakeMetastore, news: tuple[str, ...], everything: bool, left: set[TableRef]
) -> None:
    snapshot = Snapshot()
    view = View(snapshot, [(101, (), True), (102, news, everything)])
    metastore.answers["causeway_changes"] = view.changes
    metastore.before = _no_log
    settings = Settings(Topology({}, C1), (metastore.endpoint,), views={C1: (metastore.endpoint,)})

    async def run() -> None:
        view.loop = asyncio.get_running_loop()
        following = asyncio.ensure_future(follow(settings, snapshot))
        assert await asyncio.to_thread(view.notified.wait, 10)
        assert _known(snapshot) == left
        view.end.set()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    asyncio.run(run())
    assert view.asked == [0, 101, 102]


class View:
    """Answers in turn; the snapshot is full when the second answer is given."""

    loop: asyncio.AbstractEventLoop

    def __init__(
        self, snapshot: Snapshot, answers: list[tuple[int, tuple[str, ...], bool]]
    ) -> None:
        self.snapshot = snapshot
        self.answers = answers
        self.asked: list[int] = []
        self.notified, self.end = threading.Event(), threading.Event()

    def changes(self, arguments: Struct) -> tuple[int, Struct]:
        self.asked.append(arguments.get(1))
        if len(self.asked) == 2:
            filled = threading.Event()
            self.loop.call_soon_threadsafe(lambda: (_put(self.snapshot), filled.set()))
            assert filled.wait(60)
        elif len(self.asked) > 2:
            self.notified.set()
            self.end.wait(60)
            self.answers.append((103, (), False))
        position, tables, everything = self.answers[len(self.asked) - 1]
        fields = {
            1: (I64, position),
            2: (LIST, strings(tables)),
            3: (BOOL, int(everything)),
        }
        return STRUCT, Struct(fields)


def test_a_metastore_without_a_log_ends_the_following(metastore: FakeMetastore) -> None:
    metastore.before = _no_log
    asyncio.run(follow(Settings(Topology({}, C1), (metastore.endpoint,)), Snapshot()))
    assert metastore.calls["get_current_notificationEventId"] == 1
