"""What is listed of a table, against the replies of a Thrift Server 3.5.9."""

import json
from pathlib import Path
from typing import Any

import pytest

from conf.catalog.listing import ListedTable
from conf.names import TableRef
from metastore.catalog.listing import listed
from metastore.client.types import Table
from thriftcodec.values import I32, LIST, STRING, STRUCT, Items, Struct

_FILE = Path(__file__).parent / "recorded" / "listing.json"
RECORDED = json.loads(_FILE.read_text(encoding="utf-8"))


def _fields(columns: list[list[str | None]]) -> Items:
    return Items(
        STRUCT,
        [
            Struct({n: (STRING, text) for n, text in enumerate(each, 1) if text is not None})
            for each in columns
        ],
    )


def table_of(recorded: dict[str, Any]) -> Table:
    """The metastore's object, as far as it was recorded."""
    table = Table.make(TableRef(recorded["db"], recorded["name"]), (), kind=recorded["kind"])
    table.storage.struct.set(1, LIST, _fields(recorded["columns"]))
    table.struct.set(8, LIST, _fields(recorded["keys"]))
    table.struct.set(4, I32, recorded["created"])
    table.parameters = recorded["parameters"]
    return table


def _all(db: str) -> list[ListedTable]:
    found = [listed(table_of(each)) for each in RECORDED["tables"] if each["db"] == db]
    return sorted(found, key=lambda table: (table.age, table.name))


@pytest.mark.parametrize("db", ["sales", "odd"])
def test_tables_are_those_of_the_thrift_server(db: str) -> None:
    ours = [[each.name, "VIEW" if each.is_view else "TABLE", each.comment] for each in _all(db)]
    assert ours == [row[2:5] for row in RECORDED["GetTables"][db]]


@pytest.mark.parametrize("db", ["sales", "odd"])
def test_columns_are_those_of_the_thrift_server(db: str) -> None:
    ours = [
        [table.name, each.name, each.type.sql, each.type.size, each.type.digits]
        for table in _all(db)
        for each in table.columns or ()
    ]
    assert ours == [[*row[2:4], *row[5:7], row[8]] for row in _rows(db)]
    reported = [
        [int(each.nullable), each.comment, position]
        for table in _all(db)
        for position, each in enumerate(table.columns or ())
    ]
    assert reported == [[*row[10:12], row[16]] for row in _rows(db)]


def _rows(db: str) -> list[list[Any]]:
    rows: list[list[Any]] = RECORDED["GetColumns"][db]
    return rows


_HIVE = {
    "db": "d",
    "name": "t",
    "kind": "MANAGED_TABLE",
    "created": 1,
    "columns": [["a", "decimal", "the key"], ["s", "struct<X:array<char(3)>,y:integer>", None]],
    "keys": [["ds", "date", None]],
    "parameters": {},
}
_SCHEMA = "spark.sql.sources.schema"


def test_a_table_of_hives_own_has_hives_columns() -> None:
    columns = listed(table_of(_HIVE)).columns
    assert columns is not None
    assert [(each.name, each.type.sql, each.comment) for each in columns] == [
        ("a", "DECIMAL(10,0)", "the key"),
        ("s", "STRUCT<X: ARRAY<CHAR(3)>, y: INT>", ""),
        ("ds", "DATE", ""),
    ]


def _json(name: str, kind: Any, **metadata: str) -> str:
    field = {"name": name, "type": kind, "nullable": True, "metadata": metadata}
    return json.dumps({"type": "struct", "fields": [field]})


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "MATERIALIZED_VIEW"},
        {"kind": "INDEX_TABLE"},
        {"columns": [["a", "uniontype<int,string>", None]]},
        {"columns": [["a", "timestamp with local time zone", None]]},
        {"columns": [["a", "struct<a b:int>", None]]},
        {"columns": [["a", "array<int", None]]},
        {"columns": [["a", "array<" * 2000, None]]},
        {"parameters": {"spark.sql.sources.provider": "delta"}},
        {"parameters": {"spark.sql.sources.provider": "hive", _SCHEMA: _json("a", "integer")}},
        {"parameters": {"spark.sql.sources.provider": "x", _SCHEMA: _json("a", "variant")}},
        {"parameters": {"spark.sql.sources.provider": "x", _SCHEMA: "{"}},
        {"parameters": {"spark.sql.sources.provider": "x", _SCHEMA: '{"a":' * 100_000}},
        {"parameters": {"spark.sql.sources.provider": "x", f"{_SCHEMA}.numParts": "2"}},
        # Hive's columns have changed since Spark wrote its schema
        {"parameters": {_SCHEMA: _json("a", "integer")}},
    ],
)
def test_an_uncertain_table_has_no_columns(change: dict[str, Any]) -> None:
    assert listed(table_of({**_HIVE, **change})).columns is None


def test_a_long_schema_is_in_parts() -> None:
    text = _json("a", "long", comment="c")
    parts = {f"{_SCHEMA}.part.0": text[:9], f"{_SCHEMA}.part.1": text[9:]}
    parameters = {"spark.sql.sources.provider": "parquet", f"{_SCHEMA}.numParts": "2", **parts}
    columns = listed(table_of({**_HIVE, "parameters": parameters})).columns
    assert columns is not None
    assert [(each.name, each.type.sql, each.comment) for each in columns] == [("a", "BIGINT", "c")]
