"""What a predicate chose of many partitions is worked out once."""

from conf.partitions import PartitionKey, PartitionSet
from dialect.pruning.selections import FEW, remembered

DS = PartitionKey("ds", "string")
MANY = PartitionSet([DS], [(str(number),) for number in range(FEW)])


class Work:
    def __init__(self) -> None:
        self.done = 0

    def __call__(self) -> range:
        self.done += 1
        return range(self.done)


def test_the_same_predicate_and_partitions_are_worked_out_once() -> None:
    work, predicate = Work(), object()
    first = remembered(predicate, MANY, (), work)
    assert remembered(predicate, MANY, (), work) == first
    assert work.done == 1


def test_another_predicate_other_partitions_and_another_day_are_not() -> None:
    work, predicate = Work(), object()
    other = PartitionSet([DS], [(str(number),) for number in range(FEW)])
    remembered(predicate, MANY, ("monday",), work)
    remembered(predicate, MANY, ("tuesday",), work)
    remembered(object(), MANY, ("monday",), work)
    remembered(predicate, other, ("monday",), work)
    assert work.done == 4


def test_few_partitions_are_not_remembered() -> None:
    work, predicate, few = Work(), object(), PartitionSet([DS], [("1",)])
    remembered(predicate, few, (), work)
    remembered(predicate, few, (), work)
    assert work.done == 2
