"""Spark's own SQL test inputs have the same results through the proxy as on a Thrift Server.

Each file runs statement by statement in a fresh session and a fresh database, first on the Thrift
Server of c1, which makes rows of its results there, and then through the proxy, where it packs
them. The types and rows of each result are compared, in order if the statement orders them, or
the class and SQLSTATE of its error. The default run takes a sample of the files; `make
spark-inputs` takes all of them.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyhive import hive
from pyhive.exc import Error

from cli.stack.stack import Stack
from conf.names import ClusterName
from tests.e2e.conftest import C1, server
from tests.e2e.support.outcomes import Outcome, difference_of, timed
from tests.e2e.support.spark_inputs import InputFile, read_inputs

FOLDER = Path(__file__).parents[4] / "shared" / "sparksql" / "inputs"
# All files, or those whose names contain one of these words: CAUSEWAY_SPARK_INPUTS=all, =cte,limit.
CHOSEN = os.environ.get("CAUSEWAY_SPARK_INPUTS", "")
SAMPLE = (
    "cte-nested.sql",
    "current_database_catalog.sql",
    "describe-query.sql",
    "order-by-all.sql",
    "query_regex_column.sql",
    "show_columns.sql",
    "table-valued-functions.sql",
    "tablesample-negative.sql",
    "timezone.sql",
)
SHOWN = 300  # characters of an outcome in the list of differences
DATABASE = "spark_inputs"
DATA = "spark_inputs_data"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(not FOLDER.is_dir(), reason="../shared/sparksql is not here"),
]

# The suite's tables. Spark reads three of them from files that are not here: their columns, with
# numbers that repeat as those do.
_NUMBERS = (
    "CAST(id * 7919 % {n} AS INT) unique1, CAST(id AS INT) unique2, CAST(id % 2 AS INT) two,"
    " CAST(id % 4 AS INT) four, CAST(id % 10 AS INT) ten, CAST(id % 20 AS INT) twenty,"
    " CAST(id % 100 AS INT) hundred, CAST(id % 1000 AS INT) thousand,"
    " CAST(id % 2000 AS INT) twothousand, CAST(id % 5000 AS INT) fivethous,"
    " CAST(id % 10000 AS INT) tenthous, CAST(id % 10 * 2 + 1 AS INT) odd,"
    " CAST(id % 10 * 2 AS INT) even, concat(char(65 + id % 26), 'AAAA') stringu1,"
    " concat(char(65 + id * 3 % 26), 'BBBB') stringu2,"
    " element_at(array('AAAAxx', 'HHHHxx', 'OOOOxx', 'VVVVxx'), CAST(id % 4 + 1 AS INT)) string4"
    " FROM range({n})"
)
TABLES = {
    "testdata": "SELECT CAST(id AS INT) key, CAST(id AS STRING) value FROM range(1, 101)",
    "arraydata": "SELECT * FROM VALUES (array(1, 2, 3), array(array(1, 2, 3))),"
    " (array(2, 3, 4), array(array(2, 3, 4))) AS v(arraycol, nestedarraycol)",
    "mapdata": "SELECT * FROM VALUES (map(1, 'a1', 2, 'b1', 3, 'c1', 4, 'd1', 5, 'e1')),"
    " (map(1, 'a2', 2, 'b2', 3, 'c2', 4, 'd2')), (map(1, 'a3', 2, 'b3', 3, 'c3')),"
    " (map(1, 'a4', 2, 'b4')), (map(1, 'a5')) AS v(mapcol)",
    "aggtest": "SELECT * FROM VALUES (56, CAST(7.8 AS FLOAT)), (100, CAST(99.097 AS FLOAT)),"
    " (0, CAST(0.09561 AS FLOAT)), (42, CAST(324.78 AS FLOAT)) AS v(a, b)",
    "onek": f"SELECT {_NUMBERS.format(n=1000)}",
    "tenk1": f"SELECT {_NUMBERS.format(n=10000)}",
}
# Functions that the suite registers from its own classes: those that return their one argument.
_FUNCTIONS = ("udf", "vol")
_IDENTITY = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFCoalesce"


@dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    file: str
    statement: str
    direct: Outcome
    proxied: Outcome

    @property
    def common(self) -> set[str]:
        return set(self.direct.rows) & set(self.proxied.rows)

    def __str__(self) -> str:
        lines = [f"-- {self.kind}: {self.file}", self.statement[:2000]]
        for side, outcome in (("direct", self.direct), ("proxied", self.proxied)):
            rows = [row for row in outcome.rows if self.kind != "rows" or row not in self.common]
            shown = outcome.message or f"{outcome.columns} {rows}"
            lines.append(f"   {side}: {outcome.sqlstate} {outcome.error} {shown[:SHOWN]}")
        return "\n".join(lines)


def chosen_files() -> list[InputFile]:
    """The files of this run: all, those that the environment names, or the sample."""
    files = read_inputs(FOLDER)
    if CHOSEN == "all":
        return files
    words = tuple(word for word in CHOSEN.split(",") if word)
    if words:
        return [file for file in files if any(word in file.name for word in words)]
    return [file for file in files if file.name in SAMPLE]


def test_sparks_inputs_have_the_same_results_through_the_proxy(stack: Stack) -> None:
    files = chosen_files()
    total = 0
    differences: list[Difference] = []
    slower: list[tuple[float, str]] = []
    make_data(stack)
    for file in files:
        direct = run_file(stack, file, C1)
        proxied = run_file(stack, file, None)
        found = list(compared(file, direct, proxied))
        print(f"{file.name}: {len(file.statements)} statements, {len(found)} differ", flush=True)
        for difference in found:
            print(difference, flush=True)
        total += len(file.statements)
        differences += found
        slower += slowdowns(file, direct, proxied)
    print("Seconds that a statement took longer through the proxy:", *_slowest(slower), sep="\n")
    counts = Counter(difference.kind for difference in differences)
    print(f"{total} statements, {len(differences)} differ: {dict(counts)}")
    assert total
    assert not counts["rows"]
    assert not counts["columns"]
    assert len(differences) <= total // 1000


def make_data(stack: Stack) -> None:
    """The suite's tables, once, in a database that every file reads."""
    with closing(_connect(stack, C1)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATA}")
        for name, query in TABLES.items():
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {DATA}.{name} USING parquet AS {query}")


def run_file(stack: Stack, file: InputFile, cluster: ClusterName | None) -> list[Outcome]:
    """The outcome of each statement, in a database and a session that end with the file."""
    with closing(_connect(stack, C1)) as connection, closing(connection.cursor()) as cursor:
        before = _names(cursor)
        cursor.execute(f"CREATE DATABASE {DATABASE}")
    try:
        with closing(_connect(stack, cluster)) as connection:
            _prepare(connection, file)
            if cluster is not None:
                with closing(connection.cursor()) as cursor:
                    cursor.execute("SET spark.causeway.results.columnar=false")
            return [timed(connection, statement) for statement in file.statements]
    finally:
        with closing(_connect(stack, C1)) as connection, closing(connection.cursor()) as cursor:
            for name in sorted(_names(cursor) - before, reverse=True):
                with suppress(Error):
                    cursor.execute(f"DROP {name}")


def _names(cursor: hive.Cursor) -> set[str]:
    """The databases, and the tables and views of `default`, as DROP names them."""
    cursor.execute("SHOW DATABASES")
    found = {f"DATABASE `{row[0]}` CASCADE" for row in cursor.fetchall()}
    cursor.execute("SHOW TABLES IN default")
    tables = {row[1] for row in cursor.fetchall()}
    cursor.execute("SHOW VIEWS IN default")
    views = {row[1] for row in cursor.fetchall()}
    return (
        found
        | {f"VIEW default.`{name}`" for name in views}
        | {f"TABLE default.`{name}`" for name in tables - views}
    )


def _prepare(connection: hive.Connection, file: InputFile) -> None:
    text = "\n".join(file.statements).lower()
    with closing(connection.cursor()) as cursor:
        cursor.execute(f"USE {DATABASE}")
        for name in TABLES:
            if re.search(rf"\b{name}\b", text):
                cursor.execute(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM {DATA}.{name}")
        for name in _FUNCTIONS:
            if re.search(rf"\b{name}\s*\(", text):
                cursor.execute(f"CREATE TEMPORARY FUNCTION {name} AS '{_IDENTITY}'")
        for key, value in file.settings:
            cursor.execute(f"SET {key}={value}")


def compared(
    file: InputFile, direct: list[Outcome], proxied: list[Outcome]
) -> Iterator[Difference]:
    """The statements with different outcomes, each with the kind of its difference."""
    for statement, one, other in zip(file.statements, direct, proxied, strict=True):
        kind = difference_of(statement, one, other)
        if kind:
            yield Difference(kind, file.name, statement, one, other)


def slowdowns(
    file: InputFile, direct: list[Outcome], proxied: list[Outcome]
) -> Iterator[tuple[float, str]]:
    """For each statement the additional seconds through the proxy, and the statement's place."""
    for statement, one, other in zip(file.statements, direct, proxied, strict=True):
        yield other.seconds - one.seconds, f"{file.name}: {' '.join(statement.split())[:100]}"


def _slowest(slower: list[tuple[float, str]]) -> list[str]:
    median = sorted(seconds for seconds, _ in slower)[len(slower) // 2] if slower else 0
    shown = [f"{seconds:8.3f} {where}" for seconds, where in sorted(slower, reverse=True)[:10]]
    return [f"{median:8.3f} in the median", *shown]


def _connect(stack: Stack, cluster: ClusterName | None) -> hive.Connection:
    endpoint = server(stack, cluster)
    return hive.connect(endpoint.host, endpoint.port)
