"""The queue of writes: one write of a table at a time, in order of arrival, without deadlocks."""

import random

import pytest

from conf.catalog.tables import TableInfo, TableKind
from conf.names import TableRef
from dialect.statement import Known, Unknown, Write, WriteAction
from proxy.errors import TableBusy
from proxy.statement.write_queue.queue import WriteQueue, tables_in_turn

T, H, V, N = (TableRef("d", name) for name in "thvn")


class Statement:
    """A write that records when its turn comes."""

    def __init__(self) -> None:
        self.has_turn = False

    def on_turn(self) -> None:
        assert not self.has_turn
        self.has_turn = True

    def enter(self, queue: WriteQueue, *tables: str) -> int:
        ahead = queue.enter(self, tables)
        self.has_turn = not ahead
        return ahead


def test_statements_write_a_table_in_the_order_in_which_they_came() -> None:
    queue = WriteQueue()
    statements = [Statement() for _ in range(4)]
    assert [each.enter(queue, "t") for each in statements] == [0, 1, 2, 3]
    assert Statement().enter(queue, "other") == 0
    first, second, third, fourth = statements
    queue.leave(second)  # cancelled while it waits
    assert [each.has_turn for each in statements] == [True, False, False, False]
    queue.leave(first)
    assert [each.has_turn for each in statements] == [True, False, True, False]
    queue.leave(first)
    assert not fourth.has_turn
    queue.leave(third)
    assert fourth.has_turn


def test_a_statement_with_several_tables_waits_for_all_of_them() -> None:
    queue = WriteQueue()
    one, other, both, behind = (Statement() for _ in range(4))
    one.enter(queue, "a")
    other.enter(queue, "b")
    assert both.enter(queue, "a", "b") == 2
    behind.enter(queue, "b")
    queue.leave(one)
    assert not both.has_turn
    queue.leave(other)
    assert both.has_turn
    assert not behind.has_turn
    queue.leave(both)
    assert behind.has_turn


def test_a_full_queue_refuses_and_keeps_its_places() -> None:
    queue = WriteQueue(waiting=1)
    writes, waits, refused = Statement(), Statement(), Statement()
    writes.enter(queue, "t")
    waits.enter(queue, "t")
    with pytest.raises(TableBusy, match=r"1 statements wait to write t\."):
        refused.enter(queue, "s", "t")
    queue.leave(refused)
    queue.leave(writes)
    assert waits.has_turn
    queue.leave(waits)
    assert len(queue) == 0


@pytest.mark.parametrize("seed", range(20))
def test_at_any_time_one_statement_writes_a_table_and_all_get_their_turn(seed: int) -> None:
    dice, queue = random.Random(seed), WriteQueue()
    there: list[tuple[Statement, tuple[str, ...]]] = []
    order: dict[str, list[Statement]] = {}
    for _ in range(300):
        if dice.random() < 0.5:
            tables = tuple(dice.sample("abcd", dice.randint(1, 3)))
            there.append((statement := Statement(), tables))
            statement.enter(queue, *tables)
            for table in tables:
                order.setdefault(table, []).append(statement)
        elif there:
            statement, tables = there.pop(dice.randrange(len(there)))
            queue.leave(statement)
            for table in tables:
                order[table].remove(statement)
        for statement, tables in there:
            first = all(order[table][0] is statement for table in tables)
            assert statement.has_turn == first, seed
        assert not there or any(each.has_turn for each, _ in there), seed


TEXT, HIVE = TableRef("d", "text"), TableRef("d", "hive_parquet")
SERDES = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe", "x.LazySimpleSerDe"
INFOS = {
    T: TableInfo(T, TableKind.TABLE, provider="parquet"),
    H: TableInfo(H, TableKind.TABLE, provider="hudi"),
    HIVE: TableInfo(HIVE, TableKind.TABLE, serde=SERDES[0]),
    TEXT: TableInfo(TEXT, TableKind.TABLE, serde=SERDES[1]),
}


def insert(table: TableRef, action: WriteAction = WriteAction.INSERT) -> Write:
    return Write(table, action, exists=True)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (Known("insert", writes=(insert(T),)), {T}),
        (Known("insert", writes=(insert(T),), explain=True), set()),
        (Known("insert", writes=(insert(H),)), set()),
        (Known("insert", writes=(insert(HIVE),)), {HIVE}),
        (Known("insert", writes=(insert(TEXT),)), set()),
        (Known("multi_insert", writes=(insert(T), insert(N), insert(H))), {T, N}),
        (Known("ctas", writes=(Write(N, WriteAction.CREATE, exists=False),)), set()),
        (Known("alter", writes=(insert(T, WriteAction.ALTER),)), set()),
        (Known("drop", writes=(insert(T, WriteAction.DROP),)), set()),
        (Known("create_view", writes=(insert(V, WriteAction.VIEW),)), set()),
        (Unknown("odd"), set()),
    ],
)
def test_statements_that_take_turns(statement: Known | Unknown, expected: set[TableRef]) -> None:
    assert tables_in_turn(statement, INFOS.get) == expected
