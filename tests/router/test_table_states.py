"""The states of a statement's tables: one row for each table and cluster."""

from conf.partitions import Replicas
from conf.settings.settings import Coverage
from dialect.statement import NONE, Known, Read, Unknown, Write, WriteAction
from router.table_states import Presence, TableState, table_states
from tests.router.cases import BOTH, C1, C2, C3, HOME, Where, partitioned, ref, table

CLUSTERS = (C1, C2, C3)
STALE = Replicas(C1, frozenset(), frozenset({C2}))
FACTS = {
    ref("a"): table(C1, C2, stale=(C3,)),
    ref("p"): partitioned(("1", HOME), ("2", BOTH), ("3", STALE), ("4", BOTH)),
    ref("gone"): None,
}


def states(*reads: Read, writes: tuple[Write, ...] = (), coverage: Coverage = Coverage.READ):
    return table_states(Known("select", reads, writes), FACTS, CLUSTERS, coverage)


def test_a_table_without_partitions_has_one_row_in_each_cluster() -> None:
    assert [(row.cluster, row.state) for row in states(Read(ref("a")))] == [
        (C1, Presence.PRIMARY),
        (C2, Presence.FRESH),
        (C3, Presence.STALE),
    ]


def test_partitions_are_counted_and_the_worst_is_the_state() -> None:
    _, west, north = states(Read(ref("p")))
    assert west == TableState(ref("p"), C2, Presence.ABSENT, 4, 0, 2, 1, 1, ("ds=1", "ds=3"))
    assert north == TableState(
        ref("p"), C3, Presence.ABSENT, 4, 0, 0, 0, 4, ("ds=1", "ds=2", "ds=3")
    )
    assert west.document()["table"] == "default.p"
    assert west.document()["state"] == "absent"


def test_only_the_partitions_that_the_statement_uses_count() -> None:
    read = Read(ref("p"), Where("2", "3"))
    assert states(read)[1] == TableState(ref("p"), C2, Presence.STALE, 2, 0, 1, 1, 0, ("ds=3",))
    assert states(Read(ref("p"), Where("4")))[1].state is Presence.FRESH
    assert states(read, coverage=Coverage.TABLE)[1].partitions == 4
    write = Write(ref("p"), WriteAction.INSERT, True, Where("1"))
    assert states(read, writes=(write,))[1].partitions == 3


def test_a_description_shows_the_table_itself() -> None:
    assert states(Read(ref("p"), NONE))[1] == TableState(ref("p"), C2, Presence.ABSENT)


def test_missing_tables_and_unknown_statements_have_no_rows() -> None:
    assert states(Read(ref("gone"))) == ()
    assert table_states(Unknown("odd"), FACTS, CLUSTERS, Coverage.READ) == ()
