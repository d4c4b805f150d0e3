"""The history's rows, searches and deletions, on both databases."""

import stat
from collections.abc import Iterable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts
from database.database import open_database
from database.errors import BadSearch
from database.history.history_store import CHUNK, HistoryStore
from database.history.migrations import MIGRATIONS
from database.history.schema import TABLES
from database.history.search import Search
from database.history.work import Row
from dialect.pruning.predicate import Matching
from dialect.statement import Known, Read, Write, WriteAction
from proxy.operations.history.row import amounts_of, row_of
from proxy.operations.history.table_use import TableUse, tables_used
from proxy.protocol.types import OperationState
from tests.proxy.fakes import EAST
from tests.proxy.operations.history.records import record, row


def ids(store: HistoryStore, **parameters: str) -> list[int]:
    found = store.page(Search.read(parameters))["statements"]
    return [int(each["statement"]) for each in found]


def filled(url: str, rows: Iterable[Row]) -> HistoryStore:
    store = HistoryStore(url)
    store.put([*rows], {})
    return store


def test_head_is_the_newest_revision_and_makes_the_schema(url: str) -> None:
    config = Config()
    config.set_main_option("script_location", MIGRATIONS.location)
    assert ScriptDirectory.from_config(config).get_current_head() == MIGRATIONS.head
    HistoryStore(url)
    with open_database(url).transaction() as connection:
        options = {
            "include_name": lambda name, kind, _: kind != "table" or name in TABLES.tables,
            "compare_type": True,
        }
        assert not compare_metadata(MigrationContext.configure(connection, opts=options), TABLES)


def test_a_stored_statement_has_all_its_columns(url: str) -> None:
    whole = record(
        1,
        "SELECT 'x' FROM e WHERE password = 'hunter2'\n\0",
        database="sales",
        application="report\ud800",
        rule="inputs",
        because="e is in east",
        cluster="east",
        phases={"copy": 2.0, "queue": 0.25, "execute": 0.125},
    )
    whole.sent(1000, 7, seconds=0.0625)
    store = HistoryStore(url)
    store.put([row_of(whole, (TableUse("default.e", is_write=False),), "proxy1")], {})
    (found,) = HistoryStore(url).page(Search())["statements"]
    assert found["phases"].pop("first_row") > 0
    assert len(found.pop("fingerprint")) == 32
    assert found == {
        "time": "1970-01-12T13:46:41.250Z",
        "statement": "00000001",
        "proxy": "proxy1",
        "session": "s1",
        "user": "ann",
        "by": "hue",
        "address": "10.0.0.1",
        "application": "report?",
        "text": "SELECT 'x' FROM e WHERE password = '***'\n�",
        "length": 46,
        "sha256": whole.text.hash,
        "database": "sales",
        "cluster": "east",
        "rule": "inputs",
        "because": "e is in east",
        "considered": [],
        "reads": [{"table": "default.e", "partitions": None, "first": []}],
        "writes": [],
        "code": "",
        "refused": False,
        "state": "FINISHED",
        "seconds": 0.5,
        "phases": {"copy": 2.0, "queue": 0.25, "execute": 0.125, "fetch": 0.0625},
        "rows": 7,
        "bytes": 1000,
        "closed": False,
        "error": "",
        "blame": "",
    }


def test_partitions_are_counted_and_named(url: str) -> None:
    days = PartitionSet([PartitionKey("ds", "string")], [[f"d{n}"] for n in range(300)])
    replicas = Replicas(EAST, frozenset())
    facts = TableFacts(replicas, PlacedPartitions(days, (replicas,), [0] * 300))
    table, other = TableRef("default", "t"), TableRef("default", "u")
    statement = Known(
        "insert",
        reads=(Read(table, Matching((("ds", "d7"),))),),
        writes=(
            Write(other, WriteAction.INSERT, exists=True, named=((("ds", "a b"),),)),
            Write(other, WriteAction.INSERT, exists=True, named=((("ds", "c"),),)),
        ),
    )
    store = HistoryStore(url)
    store.put([row_of(record(1), tables_used(statement, {table: facts}), "")], {})
    (found,) = store.page(Search())["statements"]
    assert found["reads"] == [{"table": "default.t", "partitions": 1, "first": ["ds=d7"]}]
    assert found["writes"] == [{"table": "default.u", "partitions": 2, "first": ["ds=a b", "ds=c"]}]
    assert ids(store, table="default.T") == ids(store, table="default.u") == [1]
    uses = tables_used(statement, {table: facts})
    del facts, days
    assert uses[0].document()["partitions"] is None  # nothing keeps a table's partitions in memory


def test_amounts_are_completed_and_repeating_changes_nothing(url: str) -> None:
    store = filled(url, [row(1), row(2)])
    done = record(1, closed=True)
    done.sent(50, 5, seconds=0.25)
    for _ in range(2):
        store.put([row(2, bytes=99)], {"00000001": amounts_of(done), "gone": amounts_of(done)})
    second, first = store.page(Search())["statements"]
    assert (first["rows"], first["bytes"], first["closed"]) == (5, 50, True)
    assert (second["rows"], second["bytes"], second["closed"]) == (0, 0, False)


def test_each_condition_of_a_search(url: str) -> None:
    refusal = {"code": "CW104", "state": OperationState.ERROR}
    lost = {"code": "CW202", "state": OperationState.ERROR, "phases": {"execute": 1.0}}
    store = filled(
        url,
        [
            row(1, "default.e", user="bob"),
            row(2, "default.e", "default.w", cluster="east"),
            row(3, seconds=30.0, cluster="west"),
            row(4, "default.w", **refusal),
            row(5, text="SELECT 2", seconds=None, **lost),
        ],
    )
    assert ids(store) == [5, 4, 3, 2, 1]
    assert ids(store, user="bob") == [1]
    assert ids(store, user="") == []
    assert ids(store, table="default.w") == [4, 2]
    assert ids(store, table="default.w", cluster="east") == [2]
    assert ids(store, cluster="west") == [3]
    assert ids(store, refused="true") == [4]
    assert ids(store, slower_than="29.5") == [3]
    assert ids(store, since="1000004") == [5, 4]
    assert ids(store, since="1970-01-12T13:46:44Z", user="ann", table="default.w") == [4]
    (same,) = {each["fingerprint"] for each in store.page(Search())["statements"]}
    assert ids(store, fingerprint=same, limit="2") == [5, 4]


@pytest.mark.parametrize("table", [None, "default.e"])
def test_pages_have_every_statement_once(url: str, table: str | None) -> None:
    rows = [row(number, "default.e", began=1000.1 + number // 3) for number in range(20)]
    store = filled(url, rows)
    found: list[int] = []
    parameters = {"limit": "7"} | ({"table": table} if table else {})
    while True:
        page = store.page(Search.read(parameters))
        found += [int(each["statement"]) for each in page["statements"]]
        if page["next"] is None:
            break
        parameters["before"] = page["next"]
    assert found == [*reversed(range(20))]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limit", "0"),
        ("limit", "1001"),
        ("since", "yesterday"),
        ("slower_than", "slow"),
        ("before", "7"),
        ("usr", "ann"),
    ],
)
def test_a_search_that_cannot_be_read_is_refused(name: str, value: str) -> None:
    with pytest.raises(BadSearch):
        Search.read({name: value})


def test_old_statements_are_deleted_by_age_and_by_size(url: str) -> None:
    store = filled(url, [row(number, "default.e") for number in range(10)])
    assert store.forget(1_000_003.0, 0)[0] == 3
    assert ids(store) == [*reversed(range(3, 10))]
    weight = store.size() // 7
    deleted, freed = store.forget(0.0, 2 * weight + 1)
    assert deleted == 3
    assert freed == 3 * weight
    assert ids(store, table="default.e") == [9, 8, 7, 6]
    assert store.forget(0.0, 0) == (0, 0)


def test_one_transaction_deletes_a_bounded_number(tmp_path: Path) -> None:
    store = filled(str(tmp_path / "history.db"), [row(number) for number in range(CHUNK + 5)])
    assert store.forget(9e9, 0)[0] == CHUNK
    assert store.forget(9e9, 0)[0] == 5


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    filled(str(tmp_path / "history.db"), [row(1)])
    modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {0o600}
