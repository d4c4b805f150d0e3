"""Statements in logs of other systems."""

import json

import pytest

from advice.sessions import in_context
from advice.statement_log import Format, Logged, Unread, format_of, read_log
from dialect.analyze import analyze
from tests.advice.samples import DATED

SPARK = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
THRIFT = "org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationStart"
MORNING = 1_769_839_200.0  # 2026-01-31T06:00:00Z


def read(text: str, unread: Unread | None = None) -> list[Logged]:
    lines = text.splitlines(keepends=True)
    form = format_of(lines[0])
    return list(read_log(lines, form, "file", Unread() if unread is None else unread))


def test_sql_files_are_split_at_semicolons_outside_of_texts_and_comments() -> None:
    found = read("-- one; two\nSELECT ';' ; /* ; */\n;SELECT 2 -- end;\n")
    assert [each.text for each in found] == ["-- one; two\nSELECT ';'", "SELECT 2 -- end;"]


def test_spark_event_logs() -> None:
    events = [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.9"},
        {"Event": THRIFT, "statement": "SELECT 1", "sessionId": "s", "startTime": 1769839200000},
        {"Event": SPARK, "description": "SELECT 1", "time": 1769839200100},
        {"Event": SPARK, "description": "SELECT 2", "time": 1769839200000},
        {"Event": SPARK, "description": "count at <console>:23", "time": 1769839200000},
        {"Event": SPARK, "description": "save at NativeMethodAccessorImpl.java:0", "time": 1},
    ]
    unread = Unread()
    found = read("\n".join(map(json.dumps, events)) + "\n{broken\n", unread)
    assert found == [Logged("SELECT 1", MORNING, "s"), Logged("SELECT 2", MORNING)]
    assert sorted(unread.counts.values()) == [1, 2]


def test_hive_server_logs_with_statements_of_several_lines() -> None:
    session = "12345678-1234-1234-1234-123456789abc"
    entry = (
        f"2026-01-31T06:00:00,123  INFO [{session} HiveServer2-Handler-Pool: Thread-5] ql.Driver:"
    )
    found = read(
        f"{entry} Compiling command(queryId=q1): SELECT *\nFROM t\n"
        f"{entry} Executing command(queryId=q1): SELECT *\nFROM t\n"
        f"{entry} Completed executing command(queryId=q1); Time taken: 0.1 seconds\n"
        f"{entry} Compiling command(queryId=q2): SELECT 2\n"
    )
    assert found == [
        Logged("SELECT *\nFROM t", MORNING, session),
        Logged("SELECT 2", MORNING, session),
    ]


def test_spark_thrift_server_logs() -> None:
    entry = "26/01/31 06:00:00 INFO SparkExecuteStatementOperation:"
    identity = "0c1a6b0e-7f2d-4a53-9f0a-0123456789ab"
    found = read(
        f"{entry} Submitting query 'SELECT 'a'\nFROM t' with {identity}\n"
        f"{entry} Running query with {identity}\n"
    )
    assert found == [Logged("SELECT 'a'\nFROM t", MORNING, "file")]


def test_lines_of_the_audit_log_and_shortened_texts() -> None:
    unread = Unread()
    found = read(
        '{"time": "2026-01-31T06:00:00.000Z", "text": "SELECT 1", "session": "s",'
        ' "database": "d"}\n'
        '{"text": "SELECT .. (40,000 characters) .. FROM t"}\n{"other": 1}\n',
        unread,
    )
    assert found == [Logged("SELECT 1", MORNING, "s", "d")]
    assert unread.counts.total() == 2


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ('{"Event":"SparkListenerLogStart"}', Format.SPARK),
        ('{"text": "SELECT 1"}', Format.JSON),
        ("26/01/31 06:00:00 INFO HiveThriftServer2: started", Format.THRIFT),
        ("SELECT 1;", Format.SQL),
    ],
)
def test_formats_are_recognised_by_the_first_line(line: str, form: Format) -> None:
    assert format_of(line) is form


def test_sessions_have_databases_variables_and_temporary_views() -> None:
    texts = [
        "USE shop",
        "CREATE TEMPORARY VIEW mine AS SELECT * FROM users",
        "SET hivevar:day=2026-04-10",
        "SELECT * FROM mine JOIN orders WHERE ds = '${day}'",
    ]
    log = [Logged(text, None, "a") for text in texts] + [Logged("SELECT 1", None, "b")]
    found = list(in_context(log, lambda sql, names: analyze(sql, names, DATED)))
    assert [names.database for _, names in found] == ["default", "shop", "shop", "shop", "default"]
    assert list(found[3][1].temp_views) == ["mine"]
    assert "2026-04-10" in found[3][1].variables.values()
    assert found[4][1] is found[0][1]
