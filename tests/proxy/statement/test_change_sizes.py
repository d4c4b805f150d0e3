"""EXPLAIN CLUSTER shows how much an incremental read reads."""

import asyncio
from collections.abc import Iterator

import pytest

from conf.settings.settings import Settings
from dialect.grammar.cluster_statements import ExplainCluster
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from proxy.session.session import SessionState
from proxy.statement.change_sizes import ChangeSize, ChangeSizes, FilesRead
from proxy.statement.dry_run import explain
from proxy.statement.statement_router import StatementRouter
from router.claim import ChangeRange
from tests.metastore.view.server.view_calls import KEYS, table
from tests.metastore.writable import TOPOLOGY, WritableMetastore

HUDI = {"spark.sql.sources.provider": "hudi"}
SETTINGS = {
    "hoodie.t.consume.mode": "INCREMENTAL",
    "hoodie.t.consume.start.timestamp": "7",
    "hoodie.t.consume.max.commits": "3",
}
CHANGED = ChangeSize(2, FilesRead(2, 3, 1500), FilesRead(10_000, 20_000, 4_000_000))


class Sizes:
    """Returns `size` for every call, and records the calls."""

    def __init__(self, size: ChangeSize | None) -> None:
        self.size = size
        self.asked: list[tuple[str, ChangeRange]] = []

    async def __call__(self, location: str, changes: ChangeRange) -> ChangeSize | None:
        self.asked.append((location, changes))
        return self.size


@pytest.fixture
def hms() -> Iterator[WritableMetastore]:
    fake = WritableMetastore()
    fake.add(table(HUDI, KEYS), ("ds=1", {}))
    yield fake
    fake.stop()


def explained(
    hms: WritableMetastore, sizes: ChangeSizes | None, extended: bool = False,
    settings: dict[str, str] = SETTINGS,
) -> list[str | None]:  # fmt: skip
    """`because`, or `changes` of each row of EXTENDED."""

    async def main() -> list[str | None]:
        snapshot = Snapshot()
        found = Settings(TOPOLOGY, (hms.endpoint,))
        loader = SnapshotLoader(found, snapshot)
        router = StatementRouter(found, snapshot, loader)
        state = SessionState.opened("ann", 9, {}, TOPOLOGY)
        state.variables.update(settings)
        try:
            shown = await explain(ExplainCluster("SELECT * FROM t", extended), state, router, sizes)
        finally:
            await router.analysis.close()
            loader.close()
        column = shown.columns.index("changes" if extended else "because")
        return [None if row[column] is None else str(row[column]) for row in shown.rows]

    return asyncio.run(main())


def test_the_reason_has_the_size_of_the_range_where_the_table_is(hms: WritableMetastore) -> None:
    sizes = Sizes(CHANGED)
    (because,) = explained(hms, sizes)
    assert because is not None
    assert because.endswith(
        "default.t is read incrementally: commits after 7, at most 3; default.t: 2 commits,"
        " 2 of 10,000 partitions, 3 of 20,000 files, 1.5 kB of 4.0 MB"
    )
    assert sizes.asked == [(table({}, KEYS).location, ChangeRange("7", None, 3))]


def test_extended_has_the_size_in_each_row_of_the_table(hms: WritableMetastore) -> None:
    texts = explained(hms, Sizes(CHANGED), extended=True)
    assert len(texts) == len(TOPOLOGY.clusters)
    assert set(texts) == {str(CHANGED)}


@pytest.mark.parametrize("sizes", [None, Sizes(None)], ids=["nothing counts", "not readable"])
def test_a_size_that_cannot_be_read_is_unknown(hms: WritableMetastore, sizes: Sizes | None) -> None:
    (because,) = explained(hms, sizes)
    assert because is not None
    assert because.endswith("at most 3; default.t: how much is read is not known")


def test_no_size_is_read_of_a_table_that_is_read_as_a_whole(hms: WritableMetastore) -> None:
    sizes = Sizes(CHANGED)
    (because,) = explained(hms, sizes, settings={})
    assert "default.t:" not in str(because)
    assert set(explained(hms, sizes, extended=True, settings={})) == {None}
    assert sizes.asked == []


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (ChangeSize(1, FilesRead(1, 1, 10)), "1 commit, 1 partitions, 1 files, 10 bytes"),
        (ChangeSize(0, FilesRead(None, 0, 0), FilesRead(None, 5, 50)),
         "0 commits, 0 of 5 files, 0 bytes of 50 bytes"),
        (ChangeSize(2, FilesRead(1, 4, 10), None, "p=1/f was cleaned"),
         "2 commits, 1 partitions, 4 files, 10 bytes (all files are read: p=1/f was cleaned)"),
    ],
)  # fmt: skip
def test_only_known_numbers_are_shown(size: ChangeSize, expected: str) -> None:
    assert str(size) == expected
