import pytest

from conf.catalog.tables import TableInfo, TableKind
from conf.names import TableRef
from dialect.analyze import analyze
from dialect.statement import Namespace, Unknown
from proxy.errors import NotIncremental
from proxy.session.settings.hudi_settings import hudi_settings, incremental_reads
from router.claim import ChangeRange, Changes, WholeUnless


class Lake:
    """`d.t` and `d.u` are Hudi tables of Spark, `d.h` is one of Hive; all others are parquet."""

    def table(self, ref: TableRef) -> TableInfo:
        is_hudi = str(ref) in ("d.t", "d.u", "d.h")
        provider = {"d.h": "hive"}.get(str(ref), "hudi" if is_hudi else "parquet")
        return TableInfo(ref, TableKind.TABLE, (), provider=provider, is_hudi=is_hudi)


def reads(sql: str, unclear: tuple[str, ...] = (), **settings: str) -> Changes:
    variables = {key.replace("_", "."): value for key, value in settings.items()}
    statement = analyze(sql, Namespace("d", variables), Lake())
    found = hudi_settings(variables, unclear)
    return incremental_reads(statement, found, Lake().table) if found else {}


MODE = {"hoodie_t_consume_mode": " Incremental "}
FROM_7 = {**MODE, "hoodie_t_consume_start_timestamp": "7"}
ONE = ChangeRange("7", None, 1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t",
        "SELECT * FROM p JOIN T ON true",
        "INSERT INTO p SELECT * FROM d.t",
        "CREATE TABLE x AS SELECT * FROM t",
        "WITH c AS (SELECT * FROM t) SELECT * FROM c",
        "MERGE INTO p USING t ON p.a = t.a WHEN MATCHED THEN DELETE",
        "EXPLAIN SELECT * FROM t",
    ],
)
def test_a_read_of_the_table_has_the_range_of_the_session(sql: str) -> None:
    assert reads(sql, **FROM_7) == {"d.t": ONE}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM other.t",
        "SELECT * FROM p",
        "SELECT 1",
        "DESCRIBE t",
        "SHOW CREATE TABLE t",
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "DELETE FROM t WHERE a = 1",
        "MERGE INTO t USING p ON p.a = t.a WHEN MATCHED THEN DELETE",
        "ANALYZE TABLE t COMPUTE STATISTICS",
    ],
)
def test_other_reads_and_the_rows_that_a_write_changes_are_whole(sql: str) -> None:
    assert reads(sql, **FROM_7) == {}


@pytest.mark.parametrize("table", ["u", "h"])
def test_another_hudi_table_is_whole_unless_hudi_gives_it_the_name_of_a_setting(table: str) -> None:
    assert reads(f"SELECT * FROM {table}", **FROM_7) == {f"d.{table}": WholeUnless(("t",))}
    unclear = reads("SELECT * FROM u", ("hoodie.w.consume.mode",), **FROM_7)
    assert unclear == {"d.u": WholeUnless(("t", "w"))}
    whole = {f"hoodie_{table}_consume_mode": "snapshot"}
    assert reads(f"SELECT * FROM {table}", **FROM_7, **whole) == {}
    assert reads(f"DELETE FROM {table}", **FROM_7) == {}


def test_changes_of_a_table_of_hive_are_refused() -> None:
    named = {"hoodie_h_consume_mode": "incremental", "hoodie_h_consume_start_timestamp": "7"}
    with pytest.raises(NotIncremental, match=r"d\.h is registered for Hive alone"):
        reads("SELECT * FROM p JOIN h", **named)
    function = "SELECT * FROM hudi_table_changes('d.h', 'latest_state', 'earliest')"
    assert reads(function, **named) == {"d.h": None}


def test_an_insert_into_the_table_that_it_reads_is_refused() -> None:
    with pytest.raises(NotIncremental, match=r"writes d\.t"):
        reads("INSERT INTO t SELECT * FROM t", **FROM_7)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_commits": "3"}, ChangeRange("7", None, 3)),
        ({"max_commits": "-1"}, ChangeRange("7", None, None)),
        ({"end_timestamp": " 9 "}, ChangeRange("7", "9", 1)),
        ({"start_timestamp": "Earliest"}, ChangeRange("000", None, 1)),
    ],
)
def test_the_range_comes_from_the_settings(settings: dict[str, str], expected: ChangeRange) -> None:
    named = {f"hoodie_t_consume_{key}": value for key, value in settings.items()}
    assert reads("SELECT * FROM t", **FROM_7 | named) == {"d.t": expected}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, "start.timestamp is not set"),
        ({"start_timestamp": "yesterday"}, "no instant"),
        ({"start_timestamp": "7", "end_timestamp": "2026-01-01"}, "no instant"),
        ({"start_timestamp": "7", "max_commits": "0"}, "max.commits=0"),
        ({"start_timestamp": "7", "max_commits": "-2"}, "max.commits=-2"),
        ({"start_timestamp": "7", "max_commits": "many"}, "max.commits=many"),
    ],
)
def test_a_range_that_is_not_certain_is_refused(settings: dict[str, str], why: str) -> None:
    named = {f"hoodie_t_consume_{key}": value for key, value in settings.items()}
    with pytest.raises(NotIncremental, match=why):
        reads("SELECT * FROM t", **MODE | named)


@pytest.mark.parametrize("key", ["mode", "start.timestamp"])
def test_a_setting_whose_value_is_not_known_is_refused(key: str) -> None:
    with pytest.raises(NotIncremental, match="is not known"):
        reads("SELECT * FROM t", (f"hoodie.t.consume.{key}",), **FROM_7)
    assert reads("SELECT * FROM p", (f"hoodie.u.consume.{key}",), **FROM_7) == {}


def test_a_setting_with_the_database_in_its_name_comes_first() -> None:
    named = {"hoodie_d_t_consume_mode": "incremental", "hoodie_d_t_consume_start_timestamp": "8"}
    assert reads("SELECT * FROM t", **FROM_7, **named) == {"d.t": ChangeRange("8", None, 1)}


def test_names_need_a_database_if_a_setting_of_hudi_requires_it() -> None:
    both = {"hoodie_incremental_use_database": "true", **FROM_7}
    assert reads("SELECT * FROM t", **both) == {}
    assert reads("SELECT * FROM u", **both) == {}
    named = {"hoodie_d_t_consume_mode": "incremental"}
    assert reads("SELECT * FROM u", **both, **named) == {"d.u": WholeUnless(("d.t",))}


def test_another_consume_mode_reads_the_whole_table() -> None:
    assert reads("SELECT * FROM t", **FROM_7 | {"hoodie_t_consume_mode": "SNAPSHOT"}) == {}


def test_a_call_of_hudis_function_gets_no_range_of_the_session() -> None:
    sql = "SELECT * FROM hudi_table_changes('d.t', 'latest_state', 'earliest')"
    assert reads(sql, **MODE) == {"d.t": None}
    assert reads(sql, hoodie_datasource_query_type="incremental") == {}


def test_a_statement_that_is_not_understood_may_not_read_the_table_as_a_whole() -> None:
    settings = hudi_settings({"hoodie.T.consume.mode": "INCREMENTAL"}, ())
    assert settings is not None
    expected = {"t": None, "*": WholeUnless(("t",))}
    assert incremental_reads(Unknown("why"), settings, Lake().table) == expected
    unclear = hudi_settings({}, ("hoodie.t.consume.mode",))
    assert unclear is not None
    with pytest.raises(NotIncremental, match="is not known"):
        incremental_reads(Unknown("why"), unclear, Lake().table)


def test_a_query_type_is_refused_for_each_hudi_table() -> None:
    with pytest.raises(NotIncremental, match=r"hoodie\.d\.u\.consume\.mode"):
        reads("SELECT * FROM u", hoodie_datasource_query_type="incremental")
    assert reads("SELECT * FROM u", hoodie_datasource_query_type="read_optimized") == {}
    assert reads("SELECT * FROM p", hoodie_datasource_query_type="incremental") == {}


def test_a_session_without_such_settings_has_none() -> None:
    assert hudi_settings({"hoodie.metadata.enable": "false", "a": "b"}, ("c",)) is None
