"""The inputs of a statement that reads a table with many partitions."""

from array import array

import pytest

from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts
from conf.settings.settings import Coverage
from dialect.pruning.predicate import Matching
from dialect.statement import Known, Read
from router.needs import inputs

EAST, WEST = (Replicas(ClusterName(name), frozenset()) for name in ("east", "west"))
TABLE = TableRef("shop", "orders")
FIRST_DAY = Known("select", (Read(TABLE, Matching((("ds", "1"),))),))


class Counted(array):  # type: ignore[type-arg]
    """An array that counts how often an item is read."""

    looked_up = 0

    def __getitem__(self, row: int) -> int:  # type: ignore[override]
        self.looked_up += 1
        return super().__getitem__(row)


@pytest.mark.parametrize(
    ("replicas", "read", "looked_up"),
    [((EAST, EAST), (EAST,), 0), ((EAST, WEST), (EAST, WEST), 20)],
)
def test_partitions_are_read_one_by_one_only_if_their_replicas_differ(
    replicas: tuple[Replicas, ...], read: tuple[Replicas, ...], looked_up: int
) -> None:
    keys = (PartitionKey("ds", "string"), PartitionKey("n", "string"))
    partitions = PartitionSet(keys, ((str(n % 2), str(n)) for n in range(40)))
    groups = Counted("H", [n // 2 % 2 for n in range(40)])
    facts = TableFacts(EAST, PlacedPartitions(partitions, replicas, groups))
    (found,) = inputs(FIRST_DAY, {TABLE: facts}, Coverage.READ)
    assert (found.replicas, groups.looked_up) == (read, looked_up)
