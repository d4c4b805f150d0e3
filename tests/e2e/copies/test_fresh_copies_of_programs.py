"""Programs in a Spark of their own end the copies of what they write (D10, D15): DataFrame writers,
streams, RDDs, calls of a file system, executors in processes of their own.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep

import pytest

from cli.stack.stack import Stack
from tests.e2e.conftest import C1, C2, Sql, Tables
from tests.e2e.support.copies import Copies
from tests.e2e.support.spark_job import SparkJob

pytestmark = pytest.mark.e2e

CLUSTER = "local-cluster[1,1,512]"  # a worker whose executor is a process of its own
UNCHECKED = {"spark.driver.extraJavaOptions": "-Dcauseway=unchecked"}  # a driver without the agent
SLOW = (
    "SELECT cast(java_method('java.lang.Math', 'abs', 1) AS int) AS a FROM range(0, {steps}, 1, 1)"
    " WHERE java_method('java.lang.Thread', 'sleep', 100L) IS NULL"
)


@pytest.fixture(autouse=True)
def _guarded(stack: Stack) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: Spark often writes without a word to the metastore")


@pytest.fixture(scope="module")
def job(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkJob]:
    running = SparkJob(stack, C1, tmp_path_factory.mktemp("job"))
    yield running
    running.close()


def test_dataframe_writers_and_streams_end_the_copies_of_what_they_write(
    copied: Callable[[], str], tables: Tables, copies: Copies, job: SparkJob
) -> None:
    def folder(table: str) -> str:
        return tables.location(table).as_uri()

    row = {"rows": [[2]], "columns": ["a"]}
    writers: dict[str, Callable[[str], object]] = {
        "append": lambda t: job("save", path=folder(t), mode="append", **row),
        "overwrite": lambda t: job("save", path=folder(t), mode="overwrite", **row),
        "insertInto": lambda t: job("insert_into", table=t, **row),
        "saveAsTable": lambda t: job("save_as_table", table=t, **row),
        "stream to path": lambda t: job("stream", path=folder(t), rows=[2, 3]),
        "stream to table": lambda t: job("stream", table=t, rows=[2, 3]),
    }
    fresh = {}
    for name, write in writers.items():
        table = copied()
        write(table)
        fresh[name] = copies.fresh(table)
    assert not any(fresh.values()), fresh


def test_writers_without_a_plan_end_the_copies_of_what_they_write(
    copied: Callable[[], str],
    tables: Tables,
    copies: Copies,
    job: SparkJob,
    tmp_path: Path,
    sql: Sql,
) -> None:
    """RDDs and programs that call a file system."""
    writers: dict[str, Callable[[Path], object]] = {
        "saveAsTextFile": lambda t: job("save_as_text", path=f"{t.as_uri()}/text"),
        "saveAsNewAPIHadoopFile": lambda t: job("save_as_hadoop", path=f"{t.as_uri()}/text"),
        "create": lambda t: (job("create", path=f"{t.as_uri()}/new"), job("close")),
        "createFileContext": lambda t: job("create_in_context", path=f"{t.as_uri()}/new"),
        "rename into": lambda t: job("rename", path=_file(tmp_path).as_uri(), to=t.as_uri()),
        "rename out of": lambda t: job(
            "rename", path=_data(t).as_uri(), to=f"{tmp_path.as_uri()}/{t.name}"
        ),
        "delete": lambda t: job("delete", path=_data(t).as_uri()),
        "delete all": lambda t: job("delete", path=t.as_uri()),
        "rename all": lambda t: job(
            "rename", path=t.as_uri(), to=t.with_name(f"{t.name}_old").as_uri()
        ),
    }
    written, fresh = {}, {}
    for name, write in writers.items():
        table = written[name] = copied()
        write(tables.location(table))
        fresh[name] = copies.fresh(table)
    assert not any(fresh.values()), fresh
    with pytest.raises(Exception, match="CW105"):
        sql(f"USE CLUSTER {C2}", f"SELECT a FROM {written['saveAsTextFile']}")
    left = {name: copies.marks(t) for name, t in written.items() if not copies.await_unmarked(t)}
    assert left == {}
    assert not any(copies.fresh(table) for table in written.values())


def test_a_file_that_is_open_keeps_the_mark_of_its_folder(
    copied: Callable[[], str], tables: Tables, copies: Copies, job: SparkJob
) -> None:
    table, other = copied(), copied()
    folder = tables.location(table)
    job("create", path=f"{folder.as_uri()}/new")
    sleep(8)  # longer than an unused lease lasts
    copies.publish(table, folder)
    assert copies.marks(table)
    assert not copies.fresh(table)
    assert copies.fresh(other)
    job("close")
    assert copies.await_unmarked(table)
    assert not copies.fresh(table)


def _data(folder: Path) -> Path:
    return next(path for path in folder.iterdir() if path.name.startswith("part"))


def _file(folder: Path) -> Path:
    path = folder / "new_file"
    path.write_text("1")
    return path


def test_a_copy_that_follows_a_command_at_once_stays_fresh(
    db: str, sql: Sql, tables: Tables, copies: Copies, tmp_path: Path, job: SparkJob
) -> None:
    """The agent reports no file that a command has reported: its lease would end a new copy."""
    (tmp_path / "rows").write_text("1")
    spark, hive, days, frame = (f"{db}.{name}" for name in ("spark", "hive", "days", "frame"))
    commands = [
        (spark, f"CREATE TABLE {spark} USING parquet AS SELECT 1 AS a"),
        (hive, f"CREATE TABLE {hive} STORED AS textfile AS SELECT 1 AS a"),
        (hive, f"INSERT INTO {hive} SELECT 2"),
        (hive, f"INSERT OVERWRITE TABLE {hive} SELECT 2"),
        (hive, f"LOAD DATA LOCAL INPATH '{tmp_path}/rows' INTO TABLE {hive}"),
        (spark, f"INSERT OVERWRITE TABLE {spark} SELECT 2"),
        (spark, f"TRUNCATE TABLE {spark}"),
    ]
    for table, text in commands:
        sql(text, cluster=C1)
        assert copies.marks(table) == [], text
        tables.copy(table, C2)
        sleep(0.1)
        assert copies.fresh(table), text
    sql(f"CREATE TABLE {days} (a int, ds string) USING parquet PARTITIONED BY (ds)", cluster=C1)
    for text in (
        f"INSERT INTO {days} PARTITION (ds = 'a') VALUES (1)",
        f"INSERT OVERWRITE {days} PARTITION (ds = 'a') VALUES (1)",
        f"INSERT INTO {days} VALUES (1, 'a')",
    ):
        sql(text, cluster=C1)
        tables.copy(days, C2, "ds=a")
        assert copies.fresh(days, "ds=a"), text
    job("save_as_table", table=frame, rows=[[2]], columns=["a"])
    assert copies.await_unmarked(frame)
    tables.copy(frame, C2)
    sleep(7)  # longer than an unused lease lasts
    assert copies.fresh(frame)
    assert copies.fresh(spark)
    assert copies.fresh(hive)
    assert copies.fresh(days, "ds=a")


def test_create_table_as_ends_its_write_before_its_result(
    db: str, copies: Copies, job: SparkJob
) -> None:
    """Spark's listener receives the end of the inner command after the client has the result."""
    job("slow_listeners", seconds=2)
    job("sql", text=f"CREATE TABLE {db}.made STORED AS textfile AS SELECT 1 AS a")
    assert copies.marks(f"{db}.made") == []
    job("slow_listeners", seconds=0)


def test_executors_do_not_write_the_storage_of_another_cluster(
    stack: Stack, tmp_path: Path
) -> None:
    """The driver has no agent here, so the executor's agent refuses."""
    folder = stack.layout.warehouse(C2) / "from_an_executor"
    job = SparkJob(stack, C1, tmp_path / "job", CLUSTER, UNCHECKED)
    try:
        with pytest.raises(RuntimeError, match="CW350"):
            job("save_as_text", path=folder.as_uri())
    finally:
        job.close()
    assert not list(folder.rglob("part*"))


def test_executors_end_the_copies_of_what_they_write(
    copied: Callable[[], str], tables: Tables, copies: Copies, stack: Stack, tmp_path: Path
) -> None:
    """The driver has no agent here: the executor reports its files to the view."""
    text, inserted = copied(), copied()
    job = SparkJob(stack, C1, tmp_path / "job", CLUSTER, UNCHECKED)
    try:
        job("save_as_text", path=f"{tables.location(text).as_uri()}/text")
        assert not copies.fresh(text)
        assert copies.marks(text)
        job("sql", text=f"INSERT INTO {inserted} VALUES (2)")
        assert not copies.marks(inserted)  # the driver replies that the command covers its tasks
        assert not copies.fresh(inserted)
        assert copies.await_unmarked(text)
        assert not copies.fresh(text)
    finally:
        job.close()


def test_executors_without_the_plugin_end_the_copies_of_what_a_command_writes(
    copied: Callable[[], str], copies: Copies, stack: Stack, tmp_path: Path
) -> None:
    """They cannot call the driver, so they report the files of its commands too."""
    table = copied()
    job = SparkJob(stack, C1, tmp_path / "job", CLUSTER, UNCHECKED | {"spark.plugins": ""})
    try:
        job("sql", text=f"INSERT INTO {table} VALUES (2)")
        assert not copies.fresh(table)
        assert copies.marks(table), "the executor's, for some seconds"
        assert copies.await_unmarked(table)
        assert not copies.fresh(table)
    finally:
        job.close()


@pytest.mark.parametrize("how", ["table", "path"])
def test_a_copy_that_is_published_during_a_direct_write_is_not_read(
    copied: Callable[[], str], tables: Tables, copies: Copies, job: SparkJob, how: str
) -> None:
    """The copy may lack files of the writer."""
    table = copied()
    target = {"table": f"INTO {table}", "path": "OVERWRITE DIRECTORY '{}' USING parquet"}[how]
    text = f"INSERT {target.format(tables.location(table).as_uri())} {SLOW.format(steps=30)}"
    writer = threading.Thread(target=lambda: job("sql", text=text))
    writer.start()
    while not copies.marks(table):
        sleep(0.05)
    while not (tables.location(table) / "_temporary").exists():
        sleep(0.05)  # OVERWRITE deletes the folder after the mark, and makes it again
    with pytest.raises(AssertionError):
        tables.copy(table, C2)  # the command refuses it
    copies.publish(table, tables.location(table))
    assert writer.is_alive()
    assert not copies.fresh(table)
    writer.join()
    assert copies.await_unmarked(table)
    assert not copies.fresh(table)


@pytest.mark.parametrize("how", ["table", "path"])
def test_a_server_that_is_killed_in_a_direct_write_leaves_its_mark(
    db: str, sql: Sql, tables: Tables, copies: Copies, stack: Stack, tmp_path: Path, how: str
) -> None:
    """The table gets its first copy while it is written."""
    table = f"{db}.t"
    create = f"CREATE TABLE {table} (a int) USING parquet"
    sql(create, f"INSERT INTO {table} VALUES (1)", cluster=C1)
    target = {"table": f"INTO {table}", "path": "OVERWRITE DIRECTORY '{}' USING parquet"}[how]
    text = f"INSERT {target.format(tables.location(table).as_uri())} {SLOW.format(steps=600)}"
    dying = SparkJob(stack, C1, tmp_path / "job")
    killed = False
    try:
        dying("sql", text="SELECT 1")
        dying.begin("sql", text=text)
        sleep(4)
        copies.publish(table, tables.location(table))
        assert not copies.fresh(table)
        dying.kill()
        killed = True
        assert not copies.fresh(table)
        assert all(C1 in by for by in copies.marks(table))
        with pytest.raises(Exception, match="CW105"):
            sql(f"USE CLUSTER {C2}", f"SELECT * FROM {table}")
    finally:
        if not killed:
            dying.kill()
    tables.assign(table, "--end-writes")
    assert not copies.marks(table)
    assert not copies.fresh(table)
    copies.publish(table, tables.location(table))
    assert copies.fresh(table)


def test_writes_that_end_leave_no_mark(
    copied: Callable[[], str], tables: Tables, copies: Copies, job: SparkJob, sql: Sql
) -> None:
    """Writes of all kinds, explained, failed and successful ones."""
    row = {"rows": [[2]], "columns": ["a"]}

    def direct(text: str) -> Callable[[str], object]:
        return lambda table: sql(text.format(table), cluster=C1)

    def failing(text: str) -> Callable[[str], object]:
        def run(table: str) -> None:
            with pytest.raises(Exception, match="no_such"):
                sql(text.format(table), cluster=C1)

        return run

    def folder(table: str) -> str:
        return tables.location(table).as_uri()

    writers: dict[str, Callable[[str], object]] = {
        "explained": direct("EXPLAIN INSERT INTO {} VALUES (1)"),
        "inserted": direct("INSERT INTO {} VALUES (1)"),
        "with a CTE": direct("INSERT INTO {} WITH c AS (SELECT 1 AS a) SELECT a FROM c"),
        "failing": failing("INSERT INTO {} SELECT cast(raise_error('no_such') AS int)"),
        "not analysed": failing("INSERT INTO {} SELECT no_such"),
        "through the proxy": lambda table: sql(f"INSERT INTO {table} VALUES (1)"),
        "created": direct("CREATE TABLE {0}_2 USING parquet AS SELECT * FROM {0}"),
        "append": lambda table: job("save", path=folder(table), mode="append", **row),
        "insertInto": lambda table: job("insert_into", table=table, **row),
        "saveAsTable": lambda table: job("save_as_table", table=table, **row),
        "stream to path": lambda table: job("stream", path=folder(table), rows=[2, 3]),
        "stream to table": lambda table: job("stream", table=table, rows=[2, 3]),
    }
    written = {}
    for name, write in writers.items():
        written[name] = copied()
        write(written[name])
    left = {name: copies.marks(t) for name, t in written.items() if not copies.await_unmarked(t)}
    assert left == {}
