"""Drift guards: every verb has a handler, every class of the parser's statements is classified."""

import pytest
from sqlglot import exp

from conf.names import TableRef
from dialect.analyze import FAILED, analyze
from dialect.grammar.statements import VERBS
from dialect.statement import Known, Namespace, Unknown
from tests.dialect.catalogs import TestCatalog, written

# Classes of query that `Builder.query` opens; of statement that their verb's grammar reads.
QUERIES = {
    "Select",
    "Subquery",
    "Union",
    "Intersect",
    "Except",
    "Values",
    "Table",
    "SetOperation",
}
BY_PARSER = {"Update", "Delete", "Merge"}
BY_WORDS = {"Insert", "Create", "Drop", "Alter", "Use", "Set", "Describe", "Show", "LoadData"} | {
    "Analyze",
    "TruncateTable",
    "Comment",
    "Grant",
    "Revoke",
    "Cache",
    "Uncache",
    "Refresh",
    "Command",
    "MultitableInserts",
    "AlterSession",
}
# Never reached from the grammar of Spark or Hive: refused as no query, or as an unknown verb.
FOREIGN = {"Copy", "Pragma", "Kill", "Attach", "Detach", "Transaction", "Commit", "Rollback"} | {
    "Export",
    "Summarize",
    "Declare",
    "Block",
    "UncacheTable",
    "Semicolon",
    "Query",
    "DML",
    "DDL",
    "UDTF",
    "Unnest",
    "Lateral",
    "TableFromRows",
    "DDLStatement",
    "ConditionalInsert",
    "Execute",
    "Return",
    "Fetch",
    "Directory",
    "DirectoryStage",
    "Put",
    "Get",
}


def test_every_statement_class_of_the_parser_is_classified() -> None:
    bases = (exp.Query, exp.DML, exp.DDL, exp.Command)
    found = {
        name
        for name, each in vars(exp).items()
        if isinstance(each, type) and issubclass(each, bases)
    }
    assert len(found) > 10
    assert found - QUERIES - BY_PARSER - BY_WORDS - FOREIGN == set()


def test_every_verb_of_the_engine_ends_with_a_result() -> None:
    verbs = [
        "SELECT",
        "WITH",
        "FROM",
        "VALUES",
        "TABLE",
        "MAP",
        "REDUCE",
        "INSERT",
        "UPDATE",
        "DELETE",
        "MERGE",
        "CREATE",
        "REPLACE",
        "DROP",
        "ALTER",
        "TRUNCATE",
        "LOAD",
        "EXPORT",
        "IMPORT",
        "MSCK",
        "REPAIR",
        "ANALYZE",
        "SHOW",
        "DESCRIBE",
        "DESC",
        "COMMENT",
        "GRANT",
        "REVOKE",
        "LOCK",
        "UNLOCK",
        "USE",
        "SET",
        "RESET",
        "ADD",
        "LIST",
        "CACHE",
        "UNCACHE",
        "CLEAR",
        "REFRESH",
    ]
    assert set(verbs) <= set(VERBS)


def test_a_verb_alone_ends_with_a_result() -> None:
    for verb in VERBS:
        answer = analyze(verb, Namespace("d"), TestCatalog())
        assert isinstance(answer, Known | Unknown), verb


def test_statements_of_other_engines_are_unknown() -> None:
    for sql in ("SUMMARIZE a", "COPY INTO a FROM 'x'", "PRAGMA x", "KILL 1", "BEGIN", "FETCH a"):
        assert isinstance(analyze(sql, Namespace("d"), TestCatalog()), Unknown), sql


@pytest.mark.parametrize("sql", ["MERGE INTO a", "MERGE INTO a b WHEN MATCHED THEN DELETE"])
def test_a_merge_without_its_parts_is_not_understood(sql: str) -> None:
    answer = analyze(sql, Namespace("d"), TestCatalog())
    assert isinstance(answer, Unknown)
    assert answer.writing
    assert answer.why != FAILED


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        (
            "WITH s AS (SELECT w FROM e.a) UPDATE b SET x = 1 WHERE x IN (SELECT w FROM s)",
            "update; reads d.b, e.a; insert d.b",
        ),
        (
            "WITH s AS (SELECT w FROM e.a), t(y) AS (SELECT * FROM s) DELETE FROM b"
            " WHERE EXISTS (SELECT * FROM t)",
            "delete; reads d.b, e.a; insert d.b",
        ),
        (
            "WITH s AS (SELECT w FROM e.a) MERGE INTO b USING s ON b.x = s.w"
            " WHEN MATCHED THEN DELETE",
            "merge; reads d.b, e.a; insert d.b",
        ),
        ("WITH update AS (SELECT w FROM e.a) SELECT * FROM update", "select; reads e.a"),
    ],
)
def test_with_may_precede_update_delete_and_merge(sql: str, answer: str) -> None:
    assert written(analyze(sql, Namespace("d"), TestCatalog())) == answer


def test_show_columns_reads_the_table_with_the_qualified_name() -> None:
    for sql in ("SHOW COLUMNS IN e.a FROM d", "SHOW COLUMNS IN a FROM e"):
        assert written(analyze(sql, Namespace("d"), TestCatalog())) == "metadata_read; reads e.a", (
            sql
        )


@pytest.mark.parametrize(
    "sql",
    [
        "WITH b AS (SELECT 1) UPDATE b SET x = 1",
        "WITH b AS (SELECT * FROM b) UPDATE b SET x = 1",
        "WITH b AS (SELECT * FROM b) DELETE FROM `B` c",
        "WITH b AS (SELECT * FROM b) MERGE INTO b USING e.a ON true WHEN MATCHED THEN DELETE",
        "WITH b AS (SELECT 1) DELETE FROM b",
        "WITH b AS (SELECT 1) MERGE INTO b USING e.a ON true WHEN MATCHED THEN DELETE",
    ],
)
def test_update_of_a_query_of_with_is_refused(sql: str) -> None:
    assert isinstance(analyze(sql, Namespace("d"), TestCatalog()), Unknown)


@pytest.mark.parametrize(
    ("sql", "sourceless"),
    [
        ("CREATE TABLE x.d.t (i INT)", True),
        ("DROP VIEW x.d.t", True),
        ("COMMENT ON TABLE x.d.t IS 'from'", True),
        ("CREATE VIEW x.d.t AS VALUES (1)", True),
        ("CREATE VIEW x.d.t AS SELECT 1", False),
        ("CREATE VIEW x.d.t AS TABLE json.`/x`", False),
        ("CACHE TABLE x.d.`a.b`", False),
        ("CREATE VIEW x.d.t AS TABLE IDENTIFIER('json.`/x`')", False),
        ("SELECT * FROM x.d.t", False),
    ],
)
def test_an_unknown_statement_is_sourceless_if_no_word_can_name_a_source(
    sql: str, sourceless: bool
) -> None:
    answer = analyze(sql, Namespace("d"), TestCatalog())
    assert isinstance(answer, Unknown)
    assert answer.sourceless is sourceless


def test_names_are_lower_case() -> None:
    answer = analyze("SELECT * FROM D.A", Namespace("X"), TestCatalog())
    assert isinstance(answer, Known)
    assert [read.table for read in answer.reads] == [TableRef("d", "a")]


def test_a_quoted_name_after_a_word_is_a_second_name() -> None:
    """Spark reads two names there: the column k of `a`."""
    assert written(analyze("DESC a`k`", Namespace("d"), TestCatalog())).endswith("reads d.a")
    assert "d.ak" not in written(analyze("TRUNCATE TABLE a`k`", Namespace("d"), TestCatalog()))


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("DESCRIBE EXTENDED TABLE x", "d.table"),
        ("DESCRIBE TABLE EXTENDED x", "d.x"),
        ("DESC DATABASE.`d 2`", "database.d 2"),
        ("DESC PRETTY a", "d.pretty"),
        ("DESC EXTENDED", "d.extended"),
        ("DESC FORMATTED a PARTITION (ds = 'x')", "d.a"),
        ("DESC TABLE.x", "table.x"),
    ],
)
def test_describe_names_the_table_that_spark_describes(sql: str, table: str) -> None:
    answer = analyze(sql, Namespace("d"), TestCatalog())
    assert isinstance(answer, Known)
    assert [str(each.table) for each in answer.reads] == [table]
