"""GetTables and GetColumns, compared with the answers of a Thrift Server 3.5.9."""

from typing import Any

import pytest

from conf.catalog.listing import ColumnType, ListedColumn, ListedTable
from metastore.catalog.listing import listed
from proxy.catalog import metadata
from proxy.catalog.metadata import (
    NO_DATABASE,
    MetadataRequest,
    lists_as_usual,
    metadata_request,
    scala_order,
)
from tests.metastore.catalog.test_listing import RECORDED, table_of
from thriftcodec.values import LIST, STRING, STRUCT, Items, Struct

DATABASES = ("alpha", "beta_x", "d8", "default", "gamma", "sales", "sales2", "salesx", "zeta")
INT = ListedColumn("x", ColumnType("INT", "INT", 4, 0))


def asked(
    name: str, *texts: str | None, kinds: tuple[str, ...] | None = None
) -> MetadataRequest | None:
    """The request of a call with catalog null and these patterns of schema, table and column."""
    arguments = Struct({1: (STRUCT, Struct())})
    for field, text in enumerate(texts, 3):
        if text is not None:
            arguments.set(field, STRING, text.encode())
    if kinds is not None:
        arguments.set(5, LIST, Items(STRING, [each.encode() for each in kinds]))
    return metadata_request(name, arguments)


def sure(name: str, *texts: str | None, kinds: tuple[str, ...] | None = None) -> MetadataRequest:
    found = asked(name, *texts, kinds=kinds)
    assert found is not None
    return found


def tables_of(db: str) -> list[ListedTable]:
    found = [listed(table_of(each)) for each in RECORDED["tables"] if each["db"] == db]
    return sorted(found, key=lambda table: (table.age, table.name))


def rows(found: MetadataRequest, db: str) -> list[list[Any]]:
    table = found.answer([(db, tables_of(db))], [])
    assert table is not None
    return [list(row) for row in table.rows[0 : len(table.rows)]]


@pytest.mark.parametrize("db", ["sales", "odd"])
def test_the_rows_are_those_of_the_thrift_server(db: str) -> None:
    assert rows(sure("GetTables", db, "%"), db) == RECORDED["GetTables"][db]
    assert rows(sure("GetColumns", db, "%", "%"), db) == RECORDED["GetColumns"][db]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (None, DATABASES),
        ("", DATABASES),
        ("%", DATABASES),
        (".%", DATABASES),
        ("sales", ("sales",)),
        ("SALES", ("sales",)),
        ("s%", ("sales", "sales2", "salesx")),
        ("sale_", ("sales",)),
        ("beta\\_x", ("beta_x",)),
        ("beta_x", ("beta_x",)),
        ("sales|zeta", ("sales", "zeta")),
    ],
)
def test_patterns_of_databases(pattern: str | None, found: tuple[str, ...]) -> None:
    wanted = sure("GetTables", pattern, None).databases
    assert tuple(filter(wanted, DATABASES)) == found


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("abc_1", ["abc_1", "abcx1"]),
        ("abc\\_1", ["abc_1"]),
        ("ABC%", ["abc_1", "abcde", "abcx1"]),
        ("a%|e*", ["abc_1", "abcde", "abcx1", "ext", "avr"]),
        ("ab.*", ["abc_1", "abcde", "abcx1"]),
        ("x__", []),
        ("a__de", []),  # the second of two is a letter: Spark's own translation
        ("__t", ["ext", "prt", "txt"]),  # but not at the beginning
    ],
)
def test_patterns_of_tables(pattern: str, found: list[str]) -> None:
    names = [row[2] for row in rows(sure("GetTables", "sales", pattern), "sales")]
    assert sorted(names) == sorted(found)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("A", ["u_all.A"]),
        ("a", ["t_all.a", "txt.a", "v1.a"]),
        ("weird name", ["prt.weird name"]),
        ("W%", []),
    ],
)
def test_patterns_of_columns_regard_case(pattern: str, found: list[str]) -> None:
    columns = rows(sure("GetColumns", "sales", "%", pattern), "sales")
    assert [f"{row[2]}.{row[3]}" for row in columns] == found


@pytest.mark.parametrize(
    ("kinds", "count"),
    [((), 18), (("TABLE",), 15), (("VIEW",), 3), (("TABLE", "VIEW"), 18), (("table",), 0)],
)
def test_kinds_of_tables(kinds: tuple[str, ...], count: int) -> None:
    assert len(rows(sure("GetTables", "sales", None, kinds=kinds), "sales")) == count


@pytest.mark.parametrize(
    "texts",
    [
        ("*", None),  # Java refuses it
        ("a|", None),
        ("sa[l]es", None),
        (" sales", None),
        ("ä", None),
        (None, ""),
        (None, "a$"),
        (None, "T\\%"),
        (None, "a b"),
        (None, "a\\"),
    ],
)
def test_uncertain_patterns_are_left_to_the_cluster(texts: tuple[str | None, ...]) -> None:
    assert asked("GetTables", *texts) is None
    assert asked("GetColumns", *texts) is None


def test_patterns_with_many_wildcards_are_matched_fast() -> None:
    """If a part were tried at several places, each pattern would take very long."""
    many = "%" * 300 + "q"
    busy = sure("GetColumns", many, "a_" + "%_" * 100 + "q", "%a" * 100 + "q")
    assert busy.temporary.get(3) == NO_DATABASE.encode()
    assert not busy.databases("a" * 256)
    assert not busy.tables("a" * 256)
    assert not busy.columns("a" * 256)
    assert busy.tables("a" + "xyz" * 100 + "q")
    assert asked("GetTables", "%" * 513, None) is None  # not a real pattern: the cluster may answer


@pytest.mark.parametrize("column", ["", "x*", "ds|hr", "d.", "[ab]", "("])
def test_uncertain_patterns_of_columns_are_left_to_the_cluster(column: str) -> None:
    assert asked("GetColumns", "sales", "%", column) is None


def test_other_calls_and_types_of_arguments_are_left_to_the_cluster() -> None:
    assert metadata_request("GetFunctions", Struct()) is None
    assert metadata_request("GetTables", Struct({3: (STRUCT, Struct())})) is None
    assert metadata_request("GetTables", Struct({3: (STRING, b"\xff")})) is None
    assert metadata_request("GetTables", Struct({5: (STRING, b"TABLE")})) is None


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        (None, "global\\_temp"),
        ("", NO_DATABASE),  # all databases, but not this one
        ("%", "global\\_temp"),
        ("GLOBAL_TEMP", "global\\_temp"),
        ("global\\_temp", "global\\_temp"),
        ("odd|global_temp", "global\\_temp"),
        ("glob", NO_DATABASE),
        ("odd", NO_DATABASE),
    ],
)
def test_the_call_to_the_cluster_selects_only_temporary_views(
    schema: str | None, pattern: str
) -> None:
    found = sure("GetTables", schema, "v%", kinds=("VIEW",))
    assert found.temporary.get(3) == pattern.encode()
    assert found.temporary.get(4) == b"v%"
    assert found.temporary.get(5) == Items(STRING, [b"VIEW"])


def test_temporary_views_are_the_last_rows() -> None:
    found = sure("GetTables", None, None)
    last = (None, None, "tmp", "VIEW", "", None, None, None, None, None)
    table = found.answer([("d", [ListedTable("t", False, "", (INT,))])], [last])
    assert table is not None
    assert [row[2] for row in table.rows[0:9]] == ["t", "tmp"]
    assert table.rows[1:2] == [last]
    assert table.rows[-1] == last


def test_a_table_with_uncertain_columns_leaves_the_answer_to_the_cluster() -> None:
    tables = [ListedTable("a", False, "", (INT,)), ListedTable("b", False, "", None)]
    assert sure("GetTables", "d", "%").answer([("d", tables)], []) is None
    assert sure("GetTables", "d", "a").answer([("d", tables)], []) is not None


def test_answers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "MAX_ROWS", 2)
    two = ListedTable("t", False, "", (INT, INT))
    assert sure("GetColumns", "d", None, None).answer([("d", [two])], []) is not None
    assert sure("GetColumns", "d", None, None).answer([("d", [two, two])], []) is None


def test_many_databases_come_in_scalas_order() -> None:
    """As recorded: GetColumns has the order of a hash map, GetTables the metastore's."""
    order = scala_order(DATABASES)
    assert order is not None
    with_tables = [each for each in order if each not in ("sales2", "salesx")]
    assert with_tables == ["alpha", "zeta", "beta_x", "sales", "default", "d8", "gamma"]
    one = [ListedTable("one", False, "", (INT,))]
    lists = [(name, one) for name in DATABASES]
    columns = sure("GetColumns", None, None, None).answer(lists, [])
    tables = sure("GetTables", None, None).answer(lists, [])
    assert columns is not None
    assert tables is not None
    assert [row[1] for row in columns.rows[0:9]] == order
    assert [row[1] for row in tables.rows[0:9]] == list(DATABASES)


def test_up_to_four_databases_keep_their_order_and_equal_hashes_have_none() -> None:
    assert scala_order(["d", "c", "b", "a"]) == ["d", "c", "b", "a"]
    assert scala_order(["Aa", "BB", "c", "d", "e"]) is None


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("spark.sql.shuffle.partitions", True),
        ("spark.sql.caseSensitive", False),
        ("spark.sql.timestampType", False),
        ("spark.sql.globalTempDatabase", False),
    ],
)
def test_settings_with_which_spark_lists_in_another_way(setting: str, expected: bool) -> None:
    assert lists_as_usual({setting: "x"}) is expected
