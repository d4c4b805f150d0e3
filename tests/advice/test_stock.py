"""The bytes of copies of a table."""

import pytest

from advice.stock import TableStock
from conf.catalog.tables import TableInfo, TableKind
from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts

CLUSTERS = tuple(map(ClusterName, ("east", "west", "north")))
EAST, WEST = (Replicas(each, frozenset()) for each in CLUSTERS[:2])
KEYS = (PartitionKey("ds", "string"),)


def dated(size: float | None, sizes: tuple[float | None, ...] = ()) -> TableStock:
    """Five days, of which the first two are written in the west."""
    days = PartitionSet(KEYS, ([f"2026-01-0{n}"] for n in range(1, 6)))
    placed = PlacedPartitions(days, (EAST, WEST), (1, 1, 0, 0, 0))
    info = TableInfo(TableRef("shop", "orders"), TableKind.TABLE, (), KEYS)
    return TableStock(info, TableFacts(EAST, placed), size, None, sizes)


@pytest.mark.parametrize(
    "table",
    [
        dated(100.0),
        dated(None),
        dated(None, (1.0, 2.0, 3.0, 4.0, 5.0)),
        dated(None, (1.0, None, 3.0)),
        TableStock(TableInfo(TableRef("shop", "users"), TableKind.TABLE), TableFacts(EAST), 7.0),
        TableStock(TableInfo(TableRef("shop", "users"), TableKind.TABLE), TableFacts(EAST)),
    ],
)
def test_bytes_of_all_copies_are_the_sum_over_parts_and_clusters(table: TableStock) -> None:
    parts = table.parts(range(5))
    each = [table.bytes_outside(part, name, 50.0) for part in parts for name in CLUSTERS]
    assert table.bytes_of_all_copies(CLUSTERS, 50.0) == pytest.approx(sum(each))


def test_a_primary_that_is_none_of_the_clusters_needs_a_copy_in_each() -> None:
    assert dated(100.0).bytes_of_all_copies(CLUSTERS[:1], 0.0) == pytest.approx(40.0)
