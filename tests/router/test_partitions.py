"""The partitions that a statement reads and writes decide where it may run."""

import pytest

from conf.settings.settings import Coverage
from dialect.statement import ALL, Known, Read, Write, WriteAction
from router.decision import Refuse
from tests.router.cases import AWAY, BOTH, C2, HOME, Where, decide, outcome, partitioned, ref, table

DAYS = {"p": partitioned(("1", HOME), ("2", BOTH), ("3", AWAY)), "t21": table(C2)}


def read_days(*days: str) -> Known:
    return Known("select", (Read(ref("p"), Where(*days) if days else ALL), Read(ref("t21"))))


@pytest.mark.parametrize(
    ("days", "expected"), [(["2"], "C2"), (["3"], "C2"), (["2", "3"], "C2"), (["1"], "CW104")]
)
def test_only_the_partitions_read_have_to_be_there(days: list[str], expected: str) -> None:
    assert outcome(decide(read_days(*days), DAYS)) == expected
    assert outcome(decide(read_days(*days), DAYS, coverage=Coverage.TABLE)) == "CW104"


def test_the_refusal_names_each_cluster_with_the_first_missing_partitions_and_a_count() -> None:
    many = {"p": partitioned(*((str(day), HOME) for day in range(5))), "t21": table(C2)}
    decision = decide(read_days(), many)
    assert isinstance(decision, Refuse)
    assert "C1: default.t21 is missing" in decision.because
    assert "C2: default.p has 5 partitions missing: ds=0, ds=1, ds=2, .." in decision.because


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (Write(ref("p"), WriteAction.INSERT, True, Where("1"), ((("ds", "1"),),)), "C1"),
        (Write(ref("p"), WriteAction.INSERT, True, Where("3"), ((("ds", "3"),),)), "C2"),
        (Write(ref("p"), WriteAction.INSERT, True, Where("9"), ((("ds", "9"),),)), "C1"),
        (Write(ref("p"), WriteAction.INSERT, True, Where("3"), (), dynamic=True), "CW102"),
        (Write(ref("p"), WriteAction.INSERT, True, ALL), "CW102"),
        (Write(ref("p"), WriteAction.DROP, True, ALL), "CW102"),
        (Write(ref("p"), WriteAction.ALTER, True, ALL), "C1"),
        (Write(ref("p"), WriteAction.ALTER, True, Where("3"), ((("ds", "3"),),)), "C2"),
    ],
)
def test_a_partition_is_written_in_its_own_primary(write: Write, expected: str) -> None:
    assert outcome(decide(Known("insert", (), (write,)), DAYS)) == expected
