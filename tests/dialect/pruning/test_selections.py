"""The rows that a predicate selects of many partitions are computed once."""

from conf.partitions import PartitionKey, PartitionSet
from dialect.pruning.selections import MIN_PARTITIONS, cached_rows

DS = PartitionKey("ds", "string")
MANY = PartitionSet([DS], [(str(number),) for number in range(MIN_PARTITIONS)])


class Work:
    def __init__(self) -> None:
        self.done = 0

    def __call__(self) -> range:
        self.done += 1
        return range(self.done)


def test_rows_of_one_predicate_and_set_of_partitions_are_computed_once() -> None:
    work, predicate = Work(), object()
    first = cached_rows(predicate, MANY, (), work)
    assert cached_rows(predicate, MANY, (), work) == first
    assert work.done == 1


def test_rows_are_computed_again_for_another_predicate_partition_set_or_day() -> None:
    work, predicate = Work(), object()
    other = PartitionSet([DS], [(str(number),) for number in range(MIN_PARTITIONS)])
    cached_rows(predicate, MANY, ("monday",), work)
    cached_rows(predicate, MANY, ("tuesday",), work)
    cached_rows(object(), MANY, ("monday",), work)
    cached_rows(predicate, other, ("monday",), work)
    assert work.done == 4


def test_rows_of_few_partitions_are_not_cached() -> None:
    work, predicate, few = Work(), object(), PartitionSet([DS], [("1",)])
    cached_rows(predicate, few, (), work)
    cached_rows(predicate, few, (), work)
    assert work.done == 2
