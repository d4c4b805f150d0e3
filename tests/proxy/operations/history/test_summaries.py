"""Summaries of refusals and of lineage, on both databases."""

from typing import Any

import pytest

from conf.names import ClusterName, TableRef
from database.database import open_database
from database.errors import BadSearch
from database.history.history_store import DAY, HistoryStore
from database.history.history_thread import WorkBatch
from database.history.refusals import refusals
from database.history.work import Row
from proxy.operations.history.row import row_of
from proxy.operations.history.table_use import TableUse
from proxy.protocol.types import OperationState
from router.obstacles import Considered, Obstacle, ObstacleKind
from tests.database.history.work_records import copy
from tests.proxy.operations.history.records import record

EAST, WEST = ClusterName("east"), ClusterName("west")
ORDERS, ITEMS = TableRef("sales", "orders"), TableRef("sales", "items")


def lacking(cluster: ClusterName, *tables: TableRef, **fields: Any) -> Considered:
    found = tuple(Obstacle(cluster, ObstacleKind.ABSENT, table, **fields) for table in tables)
    return Considered(cluster, "DC-R7", False, found)


def refused(number: int, *considered: Considered, **fields: Any) -> Row:
    made = record(number, code="CW104", state=OperationState.ERROR, considered=considered)
    for name, value in fields.items():
        setattr(made, name, value)
    return row_of(made, (), "proxy1")


def ran(number: int, reads: str = "", writes: str = "", **fields: Any) -> Row:
    """The row of a statement that reads and writes the tables of these letters."""
    uses = [TableUse(f"d.{each}", is_write=False) for each in reads]
    uses += [TableUse(f"d.{each}", is_write=True) for each in writes]
    return row_of(record(number, **fields), uses, "proxy1")


def filled(url: str, *rows: Row) -> HistoryStore:
    store = HistoryStore(url)
    for _ in range(2):  # repeating it changes nothing
        store.put(rows, {})
    return store


def test_refusals_are_grouped_by_what_each_cluster_lacks(url: str) -> None:
    filled(
        url,
        refused(1, lacking(EAST, ORDERS), lacking(WEST, ITEMS, ORDERS)),
        refused(2, lacking(EAST, ORDERS, partitions=7, first=("ds=1",)), user="bob"),
        refused(3, lacking(EAST, ITEMS), began=1_000_000.0 + DAY),
        ran(4, "a"),
        refused(5, lacking(EAST, ORDERS), phases={"execute": 1.0}),  # a cluster ran it
    )
    with open_database(url).transaction(reading=True) as connection:
        orders, items, *west = refusals(connection)
        assert orders == {
            "table": "sales.orders",
            "cluster": "east",
            "kind": "absent",
            "statements": 2,
            "freed": 2,
            "users": 2,
            "partitions": 7,
            "bytes": None,
            "days": {"1970-01-12": 2},
            "examples": ["00000002", "00000001"],
        }
        assert (items["table"], items["days"]) == ("sales.items", {"1970-01-13": 1})
        assert [(each["table"], each["freed"]) for each in west] == [
            ("sales.items", 0),
            ("sales.orders", 0),
        ]
        assert [each["table"] for each in refusals(connection, since=1_000_003.0)] == [
            "sales.items"
        ]
        (of_bob,) = refusals(connection, user="bob")
        assert (of_bob["statements"], of_bob["users"]) == (1, 1)
        assert of_bob["examples"] == ["00000002"]
        assert len(refusals(connection, limit=1)) == 1


def test_a_refusal_has_the_bytes_of_the_last_whole_copy(url: str) -> None:
    store = filled(url, refused(1, lacking(EAST, ORDERS), lacking(WEST, ITEMS)))
    whole = {"partitions": None, "table": "sales.orders"}
    part = copy(4, table="sales.items")
    WorkBatch([copy(1, bytes=5, **whole), copy(2, bytes=9, **whole), part]).write(store)
    found = store.answer("refusals", {})["refusals"]
    assert {each["table"]: each["bytes"] for each in found} == {
        "sales.orders": 9,
        "sales.items": None,
    }


def test_a_refusal_without_a_table_has_its_kind(url: str) -> None:
    down = Considered(EAST, "DC-R7", False, (Obstacle(EAST, ObstacleKind.DOWN),))
    (found,) = filled(url, refused(1, down)).answer("refusals", {})["refusals"]
    assert (found["table"], found["kind"], found["freed"]) == (None, "down", 1)


def test_lineage_has_the_tables_that_statements_read_and_wrote(url: str) -> None:
    store = filled(
        url,
        ran(1, "ab", "c"),
        ran(2, "a", "c"),
        ran(3, "c"),
        ran(4, "", "a"),
        ran(5, "b", "d", state=OperationState.ERROR),
        ran(6, "c", "d", began=1_000_000.0 + DAY),
    )
    found = store.answer("lineage", {})
    assert [(each["source"], each["target"], each["statements"]) for each in found["edges"]] == [
        ("d.a", "d.c", 2),
        ("d.b", "d.c", 1),
        ("d.c", "d.d", 1),
    ]
    assert found["edges"][0]["example"] == "00000002"
    assert {each["table"]: (each["reads"], each["writes"]) for each in found["tables"]} == {
        "d.a": (2, 1),
        "d.b": (1, 0),
        "d.c": (2, 2),
        "d.d": (0, 1),
    }
    assert not found["more"]
    later = store.answer("lineage", {"since": str(1_000_000 + DAY)})
    assert [each["source"] for each in later["edges"]] == ["d.c"]
    assert store.answer("lineage", {"limit": "1"})["more"]


def test_lineage_ends_with_its_statements(url: str) -> None:
    store = filled(url, ran(1, "a", "b"), ran(2, "b", "c", began=1_000_000.0 + 3 * DAY))
    assert store.forget(1_000_000.0 + DAY, 0)[0] == 1
    assert [each["target"] for each in store.answer("lineage", {})["edges"]] == ["d.c"]
    assert store.forget(9e9, 0)[0] == 1
    assert store.answer("lineage", {})["tables"] == []
    assert store.answer("refusals", {})["refusals"] == []


def test_deleted_statements_do_not_count_as_refusals(url: str) -> None:
    store = filled(url, refused(1, lacking(EAST, ORDERS)), refused(2, lacking(EAST, ORDERS)))
    store.forget(1_000_002.0, 0)
    (found,) = store.answer("refusals", {})["refusals"]
    assert found["examples"] == ["00000002"]


def test_a_question_that_cannot_be_read_is_refused(url: str) -> None:
    store = HistoryStore(url)
    for question, parameters in (
        ("refusals", {"table": "d.a"}),
        ("lineage", {"limit": "0"}),
        ("traffic", {"since": "yesterday"}),
    ):
        with pytest.raises(BadSearch):
            store.answer(question, parameters)
