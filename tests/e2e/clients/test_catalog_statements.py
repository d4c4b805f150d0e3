"""The replies to SHOW and DESCRIBE by the proxy equal those of the Thrift Server, byte by byte.

Each statement runs in a session of either. The replies to GetResultSetMetadata and to four
FetchResults are compared. The proxy's metrics count the statements that it answers from memory: for
Spark 4, which describes tables in other words, only lists of names.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.request import urlopen

import pytest

from bench.proxy import RawClient, fetch
from cli.stack.stack import Stack
from conf.names import ClusterName, TableRef
from metastore.catalog.spark_columns import spark_fields
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from pipeline.spark.jar import SPARK_MAJOR
from proxy.protocol.cluster_calls import RemoteSession, open_session_call, operation_call
from proxy.protocol.replies import opened_session
from proxy.protocol.types import NEWEST_PROTOCOL, Orientation
from tests.e2e.conftest import C1, server
from thriftcodec.values import Struct

pytestmark = pytest.mark.e2e

_NAMES = re.compile("SHOW (DATABASES|SCHEMAS|NAMESPACES|TABLES|VIEWS)")
DB = f"shown_{os.getpid()}"
OTHER = f"{DB}b"
TABLES = (
    "all_types (a tinyint COMMENT 'one', b smallint, c int, d bigint, e float, f double,"
    " g decimal(12,3), i string, j varchar(20), k char(5), l boolean, m binary, n date,"
    " o timestamp, p array<int>, q map<string,array<double>>,"
    " r struct<x:int,Y:string,z:struct<k:varchar(3)>>) COMMENT 'all of them' STORED AS PARQUET",
    "more_types (A tinyint, h decimal(38,10), N date, s timestamp_ntz, v interval day to second,"
    " w interval year to month, r struct<`a b`:int COMMENT 'in',`1`:int, Z: array<struct<q:int>>>,"
    " vc varchar(7), c char(3), av array<varchar(4)>, f float NOT NULL COMMENT 'it\\'s \"q\"')"
    " USING parquet",
    "txt (a int COMMENT 'x', b string) PARTITIONED BY (ds string COMMENT 'day', hr int)",
    "parted (ds string, `weird name` int, Hr int) USING parquet PARTITIONED BY (ds, Hr)"
    " COMMENT 'two\nlines'",
    "csv (x int DEFAULT 5, y string) USING csv OPTIONS (header 'true', url 'jdbc:x', password 'p',"
    " sep ';') COMMENT 'ümläut ☃' TBLPROPERTIES ('a.b'='c', 'my.url'='http://x', 'secret'='s',"
    " 'zzz'='has token in it')",
    "bucketed (id bigint, name string) USING parquet PARTITIONED BY (name) CLUSTERED BY (id)"
    " INTO 2 BUCKETS LOCATION '{root}/a bucket'",
    "buckets (id bigint, name string) CLUSTERED BY (id) SORTED BY (name) INTO 3 BUCKETS"
    " STORED AS ORC",
    "delimited (a int, b string) ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"
    " COLLECTION ITEMS TERMINATED BY ':' LINES TERMINATED BY '\\n' STORED AS TEXTFILE",
    "serde (a string, b string) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'"
    " WITH SERDEPROPERTIES ('separatorChar'='\t','quoteChar'='\\'')",
    "avro (a int, b string) STORED AS AVRO",
    "orc (a int) STORED AS ORC TBLPROPERTIES ('orc.compress'='ZLIB','k'='it\\'s')",
    "json (a int, ts timestamp) USING json",
    "altered (x int)",
    "counted (x int) USING parquet",
    "`1_odd` (`a.b` int, `c``d` string, `ü` int, `Select` int, `x y` string COMMENT '')"
    " USING parquet",
    f"wide (s struct<{','.join(f'f{each}:int' for each in range(30))}>) USING parquet",
    "many ("
    + ",".join(f"col_{each} decimal(10,2) COMMENT 'no. {each}'" for each in range(90))
    + ")"
    " USING parquet",
    "defaults (a int, b string DEFAULT 'x', c date DEFAULT current_date()) USING parquet",
    "made USING parquet PARTITIONED BY (p) AS SELECT 1 AS a, 'x' AS p",
    "hive_made STORED AS ORC AS SELECT 1 AS a, 'x' AS Bb",
    "quoted (`a-b` int COMMENT 'it\\'s', `1a` string NOT NULL DEFAULT 'x\\'y' COMMENT 'c', p int)"
    " USING parquet PARTITIONED BY (p) CLUSTERED BY (`a-b`) INTO 2 BUCKETS"
    " COMMENT 'it\\'s \\\\ x' TBLPROPERTIES ('it\\'s'='x')",
    "ordered (id bigint, name string, p int) USING orc PARTITIONED BY (p)"
    " CLUSTERED BY (id, name) SORTED BY (name) INTO 4 BUCKETS",
    "secret (a int, s string, d date, t timestamp, f double, g decimal(10,2)) STORED AS PARQUET"
    " TBLPROPERTIES ('my.password'='x')",
)
MORE = (
    "CREATE EXTERNAL TABLE {db}.ext (a int, B string) PARTITIONED BY (p date) STORED AS PARQUET"
    " LOCATION '{root}/ext table'",
    "CREATE VIEW {db}.v1 COMMENT 'a view' AS SELECT a, b, ds FROM {db}.txt",
    "CREATE VIEW {db}.v2 (p COMMENT 'pp', Q) AS SELECT j, k FROM {db}.all_types",
    "CREATE VIEW {db}.v3 AS SELECT named_struct('a', 1, 'b c', 'x') s, interval 1 day i, null n",
    "CREATE VIEW {db}.v4 TBLPROPERTIES ('who'='me','apassword'='x')"
    " AS SELECT * FROM {db}.v2 WHERE p <> 'x'",
    "INSERT INTO {db}.txt PARTITION (ds='2024-01-01', hr=1) VALUES (1,'x')",
    "INSERT INTO {db}.txt PARTITION (ds='a b/c=d', hr=2) VALUES (1,'x')",
    "INSERT INTO {db}.parted PARTITION (ds='x', Hr=2) VALUES (1)",
    "INSERT INTO {db}.parted PARTITION (ds='x', Hr=10) VALUES (1)",
    "INSERT INTO {db}.parted PARTITION (ds, Hr) SELECT 1, CAST(NULL AS STRING), 3",
    "CREATE VIEW {db}.v5 (`a b` COMMENT 'it\\'s', c) COMMENT 'v\\'s' TBLPROPERTIES ('k'='it\\'s')"
    " AS SELECT a, -- one\n b FROM {db}.txt WHERE b <> 'x\\'y'",
    "CREATE DATABASE {other}c COMMENT 'a \\'c\\''"
    " WITH DBPROPERTIES ('b'='2','a'='1 x','secret'='s')",
    "INSERT INTO {db}.hive_made VALUES (1,'x')",
    "INSERT INTO {db}.txt PARTITION (ds='A_B', hr=-1) VALUES (1,'x')",
    "INSERT INTO {db}.txt PARTITION (ds='A.B', hr=1) VALUES (1,'x')",
    "INSERT INTO {db}.secret"
    " VALUES (1,'x',date'2024-01-01',timestamp'2024-01-01 01:02:03',1.5,1.5)",
    "ANALYZE TABLE {db}.secret COMPUTE STATISTICS FOR ALL COLUMNS",
    "ANALYZE TABLE {db}.txt COMPUTE STATISTICS",
    "ANALYZE TABLE {db}.counted COMPUTE STATISTICS FOR ALL COLUMNS",
    "ALTER TABLE {db}.altered ADD COLUMNS (Yy string COMMENT 'new')",
    "ALTER TABLE {db}.json SET TBLPROPERTIES ('comment'='by property')",
    "ALTER TABLE {db}.orc SET SERDEPROPERTIES ('x'='y')",
)
# For each table, and for how many of the 31 the proxy answers from memory: not DESCRIBE EXTENDED of
# the table of six storage properties, PARTITIONS only of those that have some, and not SHOW CREATE
# TABLE of another SerDe, of a bucket column that may be quoted and of Hive's secret property.
OF_A_TABLE = {
    "SHOW COLUMNS IN": 31,
    "desc table": 31,
    "DESCRIBE EXTENDED": 30,
    "DESC FORMATTED": 30,
    "SHOW TBLPROPERTIES": 31,
    "SHOW PARTITIONS": 7,
    "SHOW CREATE TABLE": 28,
}
# Tables of which some columns are asked of the cluster: views, other data sources, a name with a
# backtick, a struct of 30 fields, minima that Spark writes otherwise than it keeps them.
ASKED_COLUMNS = {"v1", "v2", "v3", "v4", "v5", "hudi", "1_odd", "wide", "secret"}
LISTS = (
    *("SHOW DATABASES", "SHOW SCHEMAS", "SHOW NAMESPACES", "SHOW DATABASES LIKE '{db}*'"),
    *("SHOW DATABASES '{DB}|def*'", "SHOW SCHEMAS LIKE 'nothing'", "SHOW TABLES"),
    *("SHOW TABLES IN {db}", "SHOW TABLES FROM {db} LIKE 'A*'", "SHOW TABLES IN {db} 'v*|csv'"),
    *("SHOW TABLES IN {db} LIKE 'all_types'", "SHOW TABLES IN {db} LIKE '_xt'"),
    *("SHOW TABLES IN {other}", "SHOW TABLES IN {DB} LIKE 'CSV'"),
    *("SHOW TABLES IN spark_catalog.{db} LIKE 'v1'", "SHOW VIEWS IN {db}", "SHOW VIEWS"),
    *("SHOW VIEWS IN {db} LIKE 'v1|V3'", "SHOW VIEWS IN {other}", "SHOW VIEWS FROM {db} 'x*'"),
    *("SHOW TABLE EXTENDED IN {db} LIKE 'a*|v*|t*'", "SHOW TABLE EXTENDED FROM {db} LIKE 'nope'"),
    *("SHOW TABLE EXTENDED IN {db} LIKE 'w*|m*|b*|p*|e*'", "SHOW COLUMNS IN csv IN {db}"),
    *("SHOW TBLPROPERTIES {db}.csv ('a.b')", "SHOW TBLPROPERTIES {db}.csv ('secret')"),
    *("SHOW CREATE TABLE spark_catalog.{db}.txt", "SHOW CREATE TABLE {db}.csv"),
    "SHOW PARTITIONS {db}.txt PARTITION (ds='2024-01-01')",
    *("SHOW PARTITIONS {db}.txt PARTITION (hr=1)", "SHOW PARTITIONS {db}.txt PARTITION (HR='-1')"),
    "SHOW PARTITIONS {db}.txt PARTITION (ds='A.B')",
    "SHOW PARTITIONS {db}.txt PARTITION (ds='a_b')",
    "SHOW PARTITIONS {db}.txt PARTITION (hr=1, ds='2024-01-01')",
    "SHOW PARTITIONS {db}.txt PARTITION (hr=7)",
    *(
        "SHOW PARTITIONS {db}.parted PARTITION (hr=2)",
        "SHOW PARTITIONS {db}.parted PARTITION (ds='x')",
    ),
    "DESCRIBE {db}.txt PARTITION (ds='2024-01-01', hr=1)",
    "DESCRIBE TABLE {db}.parted PARTITION (HR='10', ds='x')",
    *("DESCRIBE {db}.all_types A", "DESCRIBE EXTENDED {db}.counted X", "DESC {db}.hive_made BB"),
    *(
        "DESCRIBE DATABASE {DB}",
        "DESC SCHEMA EXTENDED {db}",
        "DESCRIBE NAMESPACE EXTENDED {other}c",
    ),
    *("DESCRIBE DATABASE EXTENDED spark_catalog.`{other}c`", "DESCRIBE DATABASE {other}"),
)
# What the cluster alone can answer, errors among it.
ASKED = (
    *(
        "SHOW TABLES IN {db} LIKE 'v.'",
        "SHOW TABLES IN {db} LIKE ' csv '",
        "SHOW DATABASES LIKE ''",
    ),
    *("SHOW TABLES IN global_temp", "SHOW TABLES IN nodb", "SHOW TABLE EXTENDED IN {db} LIKE '*'"),
    "SHOW TABLE EXTENDED IN {db} LIKE 'txt' PARTITION (ds='2024-01-01', hr=1)",
    *("DESCRIBE DATABASE nodb", "DESCRIBE {db}.txt PARTITION (ds='2024-01-01', hr=2)"),
    *("DESCRIBE DATABASE global_temp", "DESCRIBE {db}.txt PARTITION (ds='2024-01-01')"),
    *(
        "DESCRIBE {db}.txt PARTITION (ds='2024-01-01', hr=01)",
        "DESCRIBE {db}.v1 PARTITION (ds='x')",
    ),
    *("DESCRIBE EXTENDED {db}.txt PARTITION (ds='2024-01-01', hr=1)", "DESCRIBE {db}.txt nope"),
    *("DESCRIBE {db}.v1 a", "DESCRIBE {db}.all_types r.x", "DESCRIBE {db}.hudi x"),
    *("DESCRIBE {db}.wide s", "DESCRIBE EXTENDED {db}.secret t", "DESCRIBE EXTENDED {db}.secret f"),
    *(
        "SHOW PARTITIONS {db}.txt PARTITION (ds='a b/c=d')",
        "SHOW PARTITIONS {db}.csv PARTITION (x=1)",
    ),
    *(
        "SHOW PARTITIONS {db}.txt PARTITION (nope=1)",
        "SHOW PARTITIONS {db}.txt PARTITION (hr='01')",
    ),
    *("SHOW PARTITIONS {db}.txt PARTITION (hr='x')", "SHOW PARTITIONS {db}.txt PARTITION (ds='')"),
    *("SHOW PARTITIONS {db}.ext PARTITION (p='2024-01-01')", "SHOW CREATE TABLE {db}.nope"),
    *("SHOW CREATE TABLE {DB}.csv", "SHOW CREATE TABLE spark_catalog.{db}.TXT"),
    *("SHOW TBLPROPERTIES {db}.csv ('no such')", "SHOW TBLPROPERTIES {db}.csv (a.b)"),
    *("SHOW COLUMNS FROM {db}.csv FROM {other}", "SHOW COLUMNS IN {db}.nope", "DESC {db}.nope"),
    *("SHOW COLUMNS IN nope", "SHOW CREATE TABLE {db}.txt AS SERDE", "SHOW VIEWS IN nodb"),
    *("SHOW PARTITIONS {db}.csv", "SHOW PARTITIONS {db}.v1", "SHOW TABLES LIKE 'a\\_b'"),
)


@dataclass(frozen=True, slots=True)
class Client:
    """A session, directly or by the proxy."""

    client: RawClient
    session: RemoteSession

    def run(self, sql: str) -> None:
        operation = self.client.execute(self.session, sql)
        self.client.call(operation_call("CloseOperation", operation))

    def ask(self, sql: str) -> tuple[bytes, ...]:
        """All replies about a statement's result, or its error."""
        call = self.client.call
        try:
            operation = self.client.execute(self.session, sql)
        except RuntimeError as error:
            return (re.sub(r"#\d+", "#", str(error)).encode(),)  # numbers of attributes
        try:
            described = bytes(call(operation_call("GetResultSetMetadata", operation)))
            pages = ((Orientation.NEXT, 3), (Orientation.NEXT, 10_000), (Orientation.NEXT, 5))
            rows = [
                bytes(call(fetch(operation, *page))) for page in (*pages, (Orientation.FIRST, 9))
            ]
            return (described, *rows)
        finally:
            call(operation_call("CloseOperation", operation))


@contextmanager
def opened(stack: Stack, cluster: ClusterName | None, version: int) -> Iterator[Client]:
    with RawClient(server(stack, cluster)) as client:
        request = open_session_call(version, "ann", {})
        yield Client(client, opened_session(client.result("OpenSession", request)))


@contextmanager
def pair(stack: Stack, version: int = NEWEST_PROTOCOL) -> Iterator[tuple[Client, Client]]:
    """The same session directly and by the proxy."""
    with opened(stack, C1, version) as direct, opened(stack, None, version) as proxied:
        yield direct, proxied


def from_memory(stack: Stack) -> int:
    """The number of statements that the proxy has answered from memory."""
    with urlopen(f"http://{stack.ports.admin}/metrics") as reply:
        text = reply.read().decode()
    found = re.findall(r'^causeway_decisions_total\{[^}]*rule="memory"[^}]*\} (\d+)', text, re.M)
    return sum(map(int, found))


def compare(stack: Stack, direct: Client, proxied: Client, statements: list[str]) -> list[str]:
    """Compares all replies. Returns the statements that the proxy answered from memory."""
    remembered = []
    count = from_memory(stack)
    for sql in statements:
        expected, got = direct.ask(sql), proxied.ask(sql)
        assert got == expected, sql
        before, count = count, from_memory(stack)
        remembered += [sql] * (count - before)
    return remembered


def remembered_of(statements: list[str]) -> list[str]:
    """The statements that the proxy answers from memory."""
    return [each for each in statements if SPARK_MAJOR < 4 or _NAMES.match(each)]


def filled(statements: tuple[str, ...]) -> list[str]:
    return [each.format(db=DB, DB=DB.upper(), other=OTHER) for each in statements]


@pytest.fixture(scope="module")
def names(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The names of tables of all kinds, as they are in a statement."""
    root = tmp_path_factory.mktemp("shown").as_uri().replace("///", "/")
    with opened(stack, C1, NEWEST_PROTOCOL) as maker:
        for name in (DB, OTHER):
            maker.run(f"CREATE DATABASE {name}")
        for table in TABLES:
            maker.run(f"CREATE TABLE {DB}.{table.replace('{root}', root)}")
        for statement in MORE:
            for name, text in (("{root}", root), ("{db}", DB), ("{other}", OTHER)):
                statement = statement.replace(name, text)
            maker.run(statement)
        _of_other_programs(stack)
        with HmsClient((stack.ports.metastore,)) as client:
            found = client.get_all_tables(DB)
        yield [f"{DB}.`{name}`" for name in found]
        for name in (DB, OTHER, f"{OTHER}c"):
            maker.run(f"DROP DATABASE {name} CASCADE")


def _of_other_programs(stack: Stack) -> None:
    """A table without Spark's schema, and one of Hudi."""
    with HmsClient((stack.ports.metastore,)) as client:
        foreign = Table(Struct(client.get_table(TableRef(DB, "altered")).struct.fields))
        foreign.set_text(1, "foreign")
        foreign.parameters = {
            key: text for key, text in foreign.parameters.items() if not key.startswith("spark.")
        }
        client.create_table(foreign)
        hudi = Table(Struct(client.get_table(TableRef(DB, "counted")).struct.fields))
        hudi.set_text(1, "hudi")
        hudi.parameters = {**hudi.parameters, "spark.sql.sources.provider": "hudi"}
        client.create_table(hudi)


def test_descriptions_are_those_of_the_thrift_server(stack: Stack, names: list[str]) -> None:
    with pair(stack) as (direct, proxied):
        remembered = {
            form: len(compare(stack, direct, proxied, [f"{form} {name}" for name in names]))
            for form in OF_A_TABLE
        }
    assert remembered == (OF_A_TABLE if SPARK_MAJOR < 4 else dict.fromkeys(OF_A_TABLE, 0))


def test_columns_are_those_of_the_thrift_server(stack: Stack, names: list[str]) -> None:
    with HmsClient((stack.ports.metastore,)) as client:
        tables = list(client.get_tables(DB, [name.split("`")[1] for name in names]))
    columns = [
        (table.ref.name, field.name)
        for table in tables
        for field in (spark_fields(table) or ())[:20]
    ]
    assert len(columns) > 100
    forms = ("DESCRIBE", "DESCRIBE TABLE EXTENDED")  # in turn
    statements = [
        f"{forms[number % 2]} {DB}.`{table}` `{column.replace('`', '``')}`"
        for number, (table, column) in enumerate(columns)
    ]
    with pair(stack) as (direct, proxied):
        remembered = compare(stack, direct, proxied, statements)
    if SPARK_MAJOR >= 4:
        assert not remembered
        return
    assert len(remembered) > 75
    asked = set(statements) - set(remembered)
    assert {sql.split("`")[1] for sql in asked} == ASKED_COLUMNS


def test_lists_are_those_of_the_thrift_server(stack: Stack, names: list[str]) -> None:
    statements = filled(LISTS)
    with pair(stack) as (direct, proxied):
        assert compare(stack, direct, proxied, statements) == remembered_of(statements)


def test_the_cluster_answers_what_memory_cannot(stack: Stack, names: list[str]) -> None:
    with pair(stack) as (direct, proxied):
        assert compare(stack, direct, proxied, filled(ASKED)) == []


@pytest.mark.parametrize("version", [0, 5])
def test_replies_are_equal_in_older_versions_of_the_protocol(
    stack: Stack, names: list[str], version: int
) -> None:
    statements = [
        *filled(("SHOW DATABASES", "SHOW TABLES IN {db}", "SHOW VIEWS IN {db}")),
        *filled(("DESCRIBE {db}.txt", "SHOW PARTITIONS {db}.txt", "SHOW TBLPROPERTIES {db}.v4")),
    ]
    with pair(stack, version) as (direct, proxied):
        assert compare(stack, direct, proxied, statements) == remembered_of(statements)
