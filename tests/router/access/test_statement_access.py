"""Statements that use denied objects are denied, however they are written."""

from typing import Any

import pytest

from conf.access.rules import Right
from conf.catalog.tables import Column, TableInfo, TableKind, ViewText
from conf.names import TableRef
from dialect.analyze import analyze
from dialect.statement import Known, Namespace, Needs, SessionVariable, Unknown
from router.access.statement_access import check_cluster, denial_of, refusal_of, table_denial
from router.access.user_access import Denial
from router.decision import Refuse, RunIn
from tests.router.access.rules import access_of, allow, deny


def _table(name: str, *columns: str) -> TableInfo:
    found = tuple(Column(each, "string") for each in columns)
    return TableInfo(TableRef.parse(name), TableKind.TABLE, found)


def _view(name: str, sql: str) -> TableInfo:
    return TableInfo(TableRef.parse(name), TableKind.VIEW, view=ViewText(sql, "default"))


TABLES = {
    each.ref: each
    for each in (
        _table("hr.pay", "id", "salary"),
        _table("t", "id"),
        _view("v", "SELECT id FROM hr.pay"),
        _view("w", "SELECT * FROM v"),
        _view("hr.x", "SELECT * FROM default.t"),
    )
}


class _Catalog:
    def table(self, ref: TableRef) -> TableInfo | None:
        return TABLES.get(ref)


NAMESPACE = Namespace(
    variables={"x": "pay", "y": "HR"},
    temp_views={"tv": ViewText("SELECT * FROM hr.pay", "default")},
    temp_tables={"files": ("hdfs://nn/hr/pay",)},
    session_variables={"n": SessionVariable(True, "hr.pay")},
)
DENY = deny(databases=["hr"])
READ_ONLY = deny(databases=["*"], rights=["insert", "update", "delete", "create", "drop", "alter"])


def denied(sql: str, *rules: dict[str, Any], database: str = "default") -> Denial | None:
    namespace = NAMESPACE
    if database != "default":
        namespace = Namespace(database, dict(NAMESPACE.variables))
    statement = analyze(sql, namespace, _Catalog())
    assert not isinstance(statement, Needs)
    return denial_of(access_of(*rules), statement, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM hr.pay",
        "SELECT * FROM HR.Pay",
        "SELECT * FROM `hr`.`PAY`",
        "SELECT * FROM spark_catalog.hr.pay",
        "SELECT * FROM IDENTIFIER('hr.pay')",
        "SELECT * FROM IDENTIFIER('hr' || '.' || 'pay')",
        "SELECT * FROM IDENTIFIER(n)",
        "SELECT * FROM hr.${x}",
        "SELECT * FROM ${y}.${hivevar:x}",
        "EXECUTE IMMEDIATE 'SELECT * FROM hr.pay'",
        "TABLE hr.pay",
        "FROM hr.pay SELECT *",
        "WITH pay AS (SELECT * FROM hr.pay) SELECT * FROM pay",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM hr.pay)",
        "SELECT (SELECT max(salary) FROM hr.pay)",
        "SELECT * FROM t JOIN LATERAL (SELECT * FROM hr.pay) p",
        "SELECT * FROM t UNION SELECT id FROM hr.pay",
        "SELECT * FROM v",
        "SELECT * FROM w",
        "SELECT * FROM hr.x",
        "SELECT * FROM tv",
        "SELECT * FROM files",
        "SELECT * FROM parquet.`hdfs://nn/hr/pay`",
        "SELECT * FROM parquet.`/anywhere`",
        "EXPLAIN SELECT * FROM hr.pay",
        "DESCRIBE QUERY SELECT * FROM hr.pay",
        "DESCRIBE hr.pay",
        "DESCRIBE EXTENDED hr.pay salary",
        "BEGIN SELECT id FROM hr.pay; END",
        "SHOW CREATE TABLE hr.pay",
        "SHOW PARTITIONS hr.pay",
        "SHOW COLUMNS IN pay IN hr",
        "SHOW TABLE EXTENDED IN hr LIKE 'pay' PARTITION (d = 1)",
        "DESCRIBE DATABASE hr",
        "CACHE TABLE hr.pay",
        "CACHE TABLE c AS SELECT * FROM hr.pay",
        "REFRESH TABLE hr.pay",
        "ANALYZE TABLE hr.pay COMPUTE STATISTICS",
        "CREATE VIEW z AS SELECT * FROM hr.pay",
        "ALTER VIEW v AS SELECT * FROM hr.pay",
        "CREATE TEMPORARY VIEW z AS SELECT * FROM hr.pay",
        "CREATE TEMPORARY VIEW z USING parquet OPTIONS (path '/hr/pay')",
        "CREATE TEMPORARY VIEW z USING jdbc OPTIONS (url 'jdbc:hive2://server')",
        "CREATE TABLE z AS SELECT * FROM hr.pay",
        "CREATE TABLE z LIKE hr.pay",
        "CREATE TABLE z (a INT) USING parquet LOCATION '/hr/pay'",
        "CREATE EXTERNAL TABLE z (a INT) STORED AS ORC LOCATION '/hr/pay'",
        "CREATE TABLE z (a INT) USING parquet OPTIONS (path '/hr/pay')",
        "ALTER TABLE t SET LOCATION '/hr/pay'",
        "ALTER TABLE t ADD PARTITION (d = 1) LOCATION '/hr/pay'",
        "ALTER TABLE t EXCHANGE PARTITION (d = 1) WITH TABLE hr.pay",
        "CREATE DATABASE d LOCATION '/hr'",
        "ALTER DATABASE default SET LOCATION '/hr'",
        "LOAD DATA INPATH '/hr/pay' INTO TABLE t",
        "INSERT OVERWRITE DIRECTORY '/hr/pay' SELECT 1",
        "INSERT INTO t SELECT id FROM hr.pay",
        "INSERT INTO hr.pay SELECT 1, 2",
        "MERGE INTO t USING hr.pay p ON t.id = p.id WHEN MATCHED THEN DELETE",
        "ALTER TABLE hr.pay RENAME TO default.mine",
        "DROP TABLE hr.pay",
        "DROP DATABASE hr",
        "CREATE TABLE hr.n (a INT)",
        "CREATE VIEW hr.n AS SELECT 1",
        "ADD JAR '/tmp/x.jar'",
        "CREATE FUNCTION f AS 'x.Y'",
        "CREATE TEMPORARY FUNCTION f AS 'x.Y'",
        "SELECT TRANSFORM (id) USING 'cat /hr/pay' AS (a) FROM t",
        "SELECT reflect('java.nio.file.Files', 'x')",
        "SELECT JAVA_METHOD('a', 'b')",
        "SELECT IDENTIFIER('re' || 'flect')('a', 'b')",
        "SELECT * FROM hr.pay.files",
        "SELECT * FROM global_temp.others",
        "CALL any_procedure()",
        "not a statement",
    ],
)
def test_statements_that_read_a_denied_table_are_denied(sql: str) -> None:
    assert denied(sql, DENY) is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT * FROM t",
        "WITH pay AS (SELECT 1) SELECT * FROM pay",
        "CREATE TABLE z AS SELECT * FROM t",
        "INSERT INTO t SELECT 1",
        "DESCRIBE t",
        "SHOW TABLES",
        "SHOW DATABASES",
        "SHOW FUNCTIONS",
        "DROP TABLE t",
        "ALTER TABLE t RENAME TO u",
        "SET a.b = c",
        "SELECT 'hr.pay' -- hr.pay",
    ],
)
def test_other_statements_are_not_denied(sql: str) -> None:
    assert denied(sql, DENY) is None


def test_names_are_those_of_the_session_database() -> None:
    assert denied("SELECT * FROM pay", DENY, database="hr") is not None
    assert denied("SELECT * FROM pay", DENY) is None  # default.pay, which does not exist
    assert denied("WITH pay AS (SELECT 1) SELECT * FROM pay", DENY, database="hr") is None
    # A query of a WITH means the table where it does not see itself.
    assert denied("WITH pay AS (SELECT * FROM pay) SELECT * FROM pay", DENY, database="hr")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t SELECT 1",
        "INSERT OVERWRITE t SELECT 1",
        "UPDATE t SET id = 1",
        "DELETE FROM t",
        "TRUNCATE TABLE t",
        "MERGE INTO t USING v ON t.id = v.id WHEN MATCHED THEN DELETE",
        "CREATE TABLE z (a INT)",
        "CREATE TABLE z AS SELECT 1",
        "CREATE OR REPLACE VIEW v AS SELECT 1",
        "CREATE VIEW z AS SELECT 1",
        "DROP VIEW v",
        "DROP TABLE t",
        "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
        "COMMENT ON TABLE t IS 'x'",
        "MSCK REPAIR TABLE t",
        "CREATE DATABASE d",
        "DROP DATABASE hr",
        "CREATE FUNCTION f AS 'x.Y'",
    ],
)
def test_a_user_who_may_only_read_is_denied_writes(sql: str) -> None:
    assert denied(sql, allow(code=["*"], paths=["*"]), READ_ONLY) is not None
    assert denied("SELECT * FROM v", READ_ONLY) is None


@pytest.mark.parametrize(
    ("sql", "right"),
    [
        ("INSERT INTO t SELECT 1", "insert"),
        ("DELETE FROM t", "delete"),
        ("TRUNCATE TABLE t", "delete"),
        ("UPDATE t SET id = 1", "update"),
        ("DROP TABLE t", "drop"),
        ("CREATE TABLE z (a INT)", "create"),
        ("ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')", "alter"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "alter"),
        ("DROP VIEW v", "drop"),
    ],
)
def test_each_kind_of_write_needs_its_right(sql: str, right: str) -> None:
    others = {"insert", "update", "delete", "drop", "create", "alter"} - {right}
    assert denied(sql, deny(databases=["*"], rights=[right])) is not None
    assert denied(sql, deny(databases=["*"], rights=sorted(others))) is None


def test_a_script_needs_the_rights_of_each_of_its_statements() -> None:
    script = "BEGIN INSERT INTO t SELECT 1; DELETE FROM t; END"
    for right in ("insert", "delete"):
        assert denied(script, deny(databases=["*"], rights=[right])) is not None
    others = ["update", "drop", "create", "alter"]
    assert denied(script, deny(databases=["*"], rights=others)) is None
    assert denied("BEGIN SELECT 1; SELECT * FROM hr.pay; END", DENY) is not None


COLUMN = deny(tables=["hr.pay"], columns=["salary"])
MASK = {"effect": "mask", "tables": ["hr.pay"], "columns": ["salary"], "mask": "null"}
FILTER = {"effect": "filter", "tables": ["hr.pay"], "expression": "id > 1"}


@pytest.mark.parametrize("rule", [COLUMN, MASK, FILTER])
@pytest.mark.parametrize(
    "sql",
    [
        "DESCRIBE EXTENDED hr.pay salary",
        "SHOW PARTITIONS hr.pay",
        "ANALYZE TABLE hr.pay COMPUTE STATISTICS",
        "ALTER TABLE hr.pay RENAME COLUMN salary TO x",
        "ALTER TABLE hr.pay RENAME TO default.mine",
        "UPDATE hr.pay SET id = 1",
        "DELETE FROM hr.pay WHERE id = 1",
        "MERGE INTO hr.pay USING t ON t.id = pay.id WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING hr.pay p ON t.id = p.id WHEN MATCHED THEN DELETE",
        "DELETE FROM t WHERE id IN (SELECT id FROM hr.pay)",
        "CACHE TABLE hr.pay",
        "CACHE TABLE c AS SELECT * FROM hr.pay",
        "DECLARE VARIABLE x = (SELECT max(id) FROM hr.pay)",
        "SELECT id, input_file_name() FROM hr.pay",
        "SELECT * FROM hudi_table_changes('hr.pay', 'latest_state', '0')",
        "DESCRIBE QUERY SELECT * FROM hr.pay",
    ],
)
def test_statements_that_need_a_whole_table_are_denied_if_a_part_is_shown(
    sql: str, rule: dict[str, Any]
) -> None:
    denial = denied(sql, rule)
    assert denial is not None
    assert denial.what.startswith("all of hr.pay") or "function" in denial.what


@pytest.mark.parametrize("rule", [COLUMN, MASK, FILTER])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM hr.pay",
        "SELECT salary FROM v",
        "EXPLAIN SELECT * FROM hr.pay",
        "INSERT INTO t SELECT id FROM hr.pay",
        "CREATE TABLE z AS SELECT * FROM hr.pay",
        "CREATE VIEW z AS SELECT * FROM hr.pay",
        "CREATE TEMPORARY VIEW z AS SELECT * FROM hr.pay",
        "DESCRIBE hr.pay",
        "DESCRIBE hr.pay salary",
        "INSERT INTO hr.pay SELECT 1, 2",
    ],
)
def test_queries_may_read_a_part(sql: str, rule: dict[str, Any]) -> None:
    assert denied(sql, rule) is None


def test_a_part_of_a_view_is_denied() -> None:
    found = denied("SELECT * FROM v", FILTER | {"tables": ["default.v"]})
    assert found is not None
    assert "whose tables the rule should name" in found.what


def test_the_refusal_names_rule_and_object() -> None:
    access = access_of({"name": "pay", "effect": "deny", "databases": ["hr"], "because": "Ask HR."})
    statement = analyze("SELECT * FROM hr.pay", NAMESPACE, _Catalog())
    assert isinstance(statement, Known)
    denial = denial_of(access, statement, "")
    assert denial is not None
    found = refusal_of(access, denial)
    assert (found.code, found.sqlstate, found.rule) == ("CW107", "42501", "access")
    assert found.because == "ann may not read hr.pay: the rule 'pay' denies it. Ask HR."


def test_the_explanation_names_the_rules_that_show_a_part() -> None:
    access = access_of(FILTER)
    denial = table_denial(access, TableRef("hr", "pay"), Right.SELECT)
    assert denial is not None
    assert refusal_of(access, denial).because == (
        "ann may not read all of hr.pay, which this needs: the rule 'r0' shows only a part of it."
    )


def test_unknown_statements_are_denied_to_restricted_users() -> None:
    access = access_of(deny(settings=["a"]))
    denial = denial_of(access, Unknown("odd", writing=False), "odd")
    assert denial is not None
    assert refusal_of(access, denial).because == (
        "ann may not use the statement: it is not understood (odd), so that what it reads is not"
        " known."
    )


def test_a_denied_cluster_runs_nothing() -> None:
    access = access_of(deny(clusters=["C1"]))
    runs = RunIn("C1", "D11", "x")  # type: ignore[arg-type]
    assert isinstance(check_cluster(access, runs), Refuse)
    assert check_cluster(access, RunIn("C2", "D11", "x")) != runs  # type: ignore[arg-type]
