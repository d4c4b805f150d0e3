"""SHOW CREATE TABLE and DESCRIBE of a column, compared with Spark 3.5.9's answers.

`recorded/created_tables.json` has tables as a metastore gave them, in the form in which they are
kept in memory, and Spark's answers; null where it answered with an error.
"""

import json
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conf.catalog.spark_table import SparkDatabase, SparkTable
from metastore.catalog.spark_table import spark_table, unpacked
from proxy.catalog import descriptions, table_ddl
from thriftcodec.values import LIST, strings

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "recorded" / "created_tables.json").read_text()
)
# Minima that Spark may write otherwise than it keeps them, and a struct of 30 fields.
UNSURE = {("many_cols_stat", "t"), ("many_cols_stat", "f"), ("wide", "s")}


def recorded(name: str) -> SparkTable:
    data = unpacked(b64decode(RECORDED["tables"][name]))
    assert data is not None
    found = spark_table(data)
    assert found is not None
    return found


@pytest.mark.parametrize("name", RECORDED["created"])
def test_the_statement_equals_sparks(name: str) -> None:
    expected = RECORDED["created"][name]
    assert table_ddl.statement(recorded(name)) == expected
    shown = descriptions.create_statement(recorded(name))
    assert (shown is None) == (expected is None)
    if shown is not None:
        assert shown.rows == [(expected,)]


@pytest.mark.parametrize(
    ("name", "column"), [(name, each) for name, of in RECORDED["columns"].items() for each in of]
)
def test_the_columns_equal_sparks(name: str, column: str) -> None:
    table, expected = recorded(name), RECORDED["columns"][name][column]
    extended = descriptions.column_description(table, column, extended=True)
    if extended is None:
        assert table.view is not None or (name, column) in UNSURE or expected is None
        return
    assert [list(row) for row in extended.rows] == expected
    short = descriptions.column_description(table, column, extended=False)
    assert short is not None
    assert [list(row) for row in short.rows] == expected[:3]


def test_a_column_is_shown_as_it_is_written() -> None:
    shown = descriptions.column_description(recorded("all_types"), "A", extended=False)
    assert shown is not None
    assert shown.rows[0] == ("col_name", "A")
    assert descriptions.column_description(recorded("all_types"), "nope", extended=False) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("csv", {"provider": "it's"}),
        ("csv", {"properties": {"owner": "me"}}),
        ("csv", {"properties": {"option.sep": ","}}),
        ("csv", {"storage": None}),
        ("txt", {"storage": None}),
        ("txt", {"properties": {"transactional": "TRUE"}}),
        ("txt", {"properties": {"my.password": "x"}}),
        ("txt", {"properties": {"view.x": "x"}}),
        ("txt", {"partition_columns": ("a b",)}),
    ],
)
def test_tables_without_a_certain_statement_are_left_to_spark(
    name: str, change: dict[str, Any]
) -> None:
    assert table_ddl.statement(recorded(name)) is not None
    assert table_ddl.statement(replace(recorded(name), **change)) is None


def test_an_external_table_needs_a_certain_location() -> None:
    table = recorded("ext")
    assert table.storage is not None
    assert (
        table_ddl.statement(replace(table, storage=replace(table.storage, location=None))) is None
    )


def test_a_required_part_of_a_type_has_no_certain_text() -> None:
    data = unpacked(b64decode(RECORDED["tables"]["wide"]))
    assert data is not None
    field = '"name":"f0","type":"integer","nullable":'
    schema = data.parameters["spark.sql.sources.schema"]
    assert f"{field}true" in schema
    changed = schema.replace(f"{field}true", f"{field}false")
    data.parameters = {**data.parameters, "spark.sql.sources.schema": changed}
    found = spark_table(data)
    assert found is not None
    assert found.columns[0].sql is None
    assert table_ddl.statement(found) is None


def test_a_skewed_table_is_left_to_spark() -> None:
    data = unpacked(b64decode(RECORDED["tables"]["txt"]))
    assert data is not None
    data.storage.struct.get(11).set(1, LIST, strings(["a"]))
    assert data.storage.is_skewed
    assert spark_table(data) is None


@pytest.mark.parametrize(
    "statistics",
    [
        {"version": "1", "nullCount": "0"},
        {"version": "2", "histogram": "x"},
        {"version": "2", "nullCount": "x"},
    ],
)
def test_other_statistics_of_a_column_are_not_certain(statistics: dict[str, str]) -> None:
    table = recorded("counted")
    changed = replace(table, columns=(replace(table.columns[0], statistics=statistics),))
    assert descriptions.column_description(changed, "x", extended=True) is None
    assert descriptions.column_description(changed, "x", extended=False) is not None


def test_a_database_is_described() -> None:
    database = SparkDatabase("sales", "", "file:/w/sales.db", "ann", {"b": "2", "a": "1 x"})
    shown = descriptions.database_description(database, "Sales", extended=True)
    assert shown is not None
    assert shown.rows == [
        ("Catalog Name", "spark_catalog"),
        ("Namespace Name", "Sales"),
        ("Comment", ""),
        ("Location", "file:/w/sales.db"),
        ("Owner", "ann"),
        ("Properties", "((a,1 x), (b,2))"),
    ]
    plain = descriptions.database_description(replace(database, properties={}), "sales", True)
    assert plain is not None
    assert plain.rows[-1] == ("Properties", "")
    for changed in (
        replace(database, owner=""),
        replace(database, location=None),
        replace(database, properties={"owner": "me"}),
    ):
        assert descriptions.database_description(changed, "sales", False) is None


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ((("ds", "2024-01-01"),), ["2024-01-01", ""]),
        ((("hr", "1"),), ["", "1"]),
        ((("hr", "-12"), ("ds", "x")), ["x", "-12"]),
        ((), ["", ""]),
        ((("hr", "01"),), None),
        ((("hr", "x"),), None),
        ((("ds", ""),), None),
        ((("ds", "a/b"),), None),
        ((("other", "1"),), None),
    ],
)
def test_the_values_of_a_partition_are_those_that_spark_sends(
    spec: tuple[tuple[str, str], ...], expected: list[str] | None
) -> None:
    assert descriptions.metastore_values(recorded("txt"), spec) == expected


def test_the_values_of_a_table_without_certain_types_are_unknown() -> None:
    assert descriptions.metastore_values(recorded("ext"), (("p", "2024-01-01"),)) is None
