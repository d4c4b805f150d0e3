"""SHOW and DESCRIBE, compared with Spark 3.5.9's answers for the same tables.

`recorded/catalog_statements.json` has tables as a metastore gave them, in the form in which they
are kept in memory, and the rows that Spark's Thrift Server gave.
"""

import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conf.catalog.spark_table import SparkTable
from metastore.catalog.spark_table import spark_table, unpacked
from proxy.catalog import descriptions
from proxy.protocol.results import ResultTable

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "recorded" / "catalog_statements.json").read_text()
)
UTC = "Etc/UTC"
ANSWERS: dict[str, Callable[[SparkTable], ResultTable | None]] = {
    "SHOW COLUMNS IN": descriptions.columns,
    "DESCRIBE": descriptions.description,
    "DESCRIBE TABLE EXTENDED": lambda table: descriptions.extended_description(table, UTC),
    "SHOW TBLPROPERTIES": lambda table: descriptions.properties(table, None),
    "SHOW PARTITIONS": lambda table: descriptions.partitions(
        table, RECORDED["partitions"].get(table.ref.name, [])
    ),
    "SHOW TABLE EXTENDED": lambda table: descriptions.tables_extended([table], UTC),
}
UNSURE = {("csv", "DESCRIBE TABLE EXTENDED")}  # Scala orders its six storage properties


def recorded(name: str) -> SparkTable:
    data = unpacked(b64decode(RECORDED["tables"][name]))
    assert data is not None
    found = spark_table(data)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "statement"),
    [(name, each) for name, answers in RECORDED["answers"].items() for each in answers],
)
def test_the_rows_equal_sparks(name: str, statement: str) -> None:
    answer = ANSWERS[statement](recorded(name))
    if (name, statement) in UNSURE:
        assert answer is None
        return
    assert answer is not None
    assert [list(row) for row in answer.rows] == RECORDED["answers"][name][statement]


def test_patterns_and_names() -> None:
    names = ["a_b", "ab", "axb", "b"]
    assert [row[1] for row in descriptions.tables("d", names, "A*|B").rows] == names
    assert [row[1] for row in descriptions.tables("d", names, "a_b").rows] == ["a_b"]
    assert [row[1] for row in descriptions.views("d", names, "*x*").rows] == ["axb"]
    assert [row[0] for row in descriptions.databases(["a-b", "1"], None).rows] == ["`a-b`", "`1`"]
    assert descriptions.is_certain("a*|_B1")
    assert not any(map(descriptions.is_certain, ("", "a.b", " a", "a|", "a%", "[a]")))


def test_a_property_is_shown_by_its_key() -> None:
    shown = descriptions.properties(recorded("csv"), "a.b")
    assert shown is not None
    assert shown.rows == [("a.b", "c")]
    secret = descriptions.properties(recorded("csv"), "secret")
    assert secret is not None
    assert secret.rows == [("secret", "*********(redacted)")]
    assert descriptions.properties(recorded("csv"), "nothing") is None


def test_causeways_own_parameters_are_not_shown() -> None:
    table = unpacked(b64decode(RECORDED["tables"]["txt"]))
    assert table is not None
    table.parameters = {**table.parameters, "causeway.primary": "x", "causeway.copy.west": "{}"}
    found = spark_table(table)
    assert found is not None
    assert found.copies == {"west"}
    assert not any(key.startswith("causeway.") for key in found.properties)


@pytest.mark.parametrize(
    ("change", "statement"),
    [
        ({"storage": None}, "DESCRIBE TABLE EXTENDED"),
        ({"storage": None}, "SHOW TBLPROPERTIES"),
        ({"properties": {"owner": "me"}}, "SHOW TBLPROPERTIES"),
        ({"properties": {"view.x": "1"}}, "DESCRIBE TABLE EXTENDED"),
        ({"partition_columns": ()}, "SHOW PARTITIONS"),
        ({"partitions_in_catalog": False}, "SHOW PARTITIONS"),
        ({"partition_columns": ("ds", "other")}, "SHOW PARTITIONS"),
    ],
)
def test_uncertain_tables_have_no_answer(change: dict[str, Any], statement: str) -> None:
    assert ANSWERS[statement](recorded("txt")) is not None
    assert ANSWERS[statement](replace(recorded("txt"), **change)) is None


@pytest.mark.parametrize("zone", ["", "Asia/Tehran", "GMT+1", "nowhere"])
def test_the_time_of_creation_is_shown_only_in_certain_zones(zone: str) -> None:
    assert descriptions.extended_description(recorded("txt"), zone) is None
