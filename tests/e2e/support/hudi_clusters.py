"""A stack whose clusters read and write Hudi tables, and such tables."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pyhive import hive

from cli.server.up import with_hudi
from cli.stack.plan import StackSpec
from cli.stack.stack import Stack, free_ports
from conf.names import TableRef
from conf.placement import Copy
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.placement.placement_store import PlacementStore
from pipeline.hudi.errors import StorageFault
from pipeline.hudi.plan import plan
from pipeline.hudi.read import changed_rows
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import HudiTable, open_for_changes
from pipeline.spark.jar import guard_jar
from tests.e2e.conftest import C1, C2, rows, run_sql
from tests.e2e.support.hudi_spark import BUNDLES
from tests.e2e.support.interpreted import INTERPRETED
from tests.e2e.support.spark_job import SparkJob

# Switches off what costs Hudi's writers more time than their commits. Tables with `METADATA` have
# the metadata table.
BRIEF = """\
hoodie.metadata.enable false
hoodie.embed.timeline.server false
hoodie.write.markers.type DIRECT
hoodie.upsert.shuffle.parallelism 1
hoodie.insert.shuffle.parallelism 1
hoodie.bulkinsert.shuffle.parallelism 1
hoodie.delete.shuffle.parallelism 1
"""
METADATA = "'hoodie.metadata.enable' = 'true'"
COMMITS = (
    "INSERT INTO {0} VALUES (1, 'a', 1, 'x'), (2, 'a', 1, 'x'), (3, 'a', 1, 'y'), (4, 'a', 1, 'y')",
    "UPDATE {0} SET v = 'b', ts = 2 WHERE id < 4",
    "MERGE INTO {0} t USING (SELECT 1 id, 'c' v, 3L ts, 'x' p UNION ALL SELECT 5, 'c', 3L, 'z') s"
    " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "INSERT INTO {0} VALUES (6, 'd', 4, 'x')",
)
DIRECT = {  # statements of each kind that write a table of `make_copied`
    "INSERT": "INSERT INTO {0} VALUES (3, 'c', 1)",
    "UPDATE": "UPDATE {0} SET v = 'new' WHERE id = 1",
    "DELETE": "DELETE FROM {0} WHERE id = 1",
    "MERGE": "MERGE INTO {0} t USING (SELECT 2 id, 'new' v, 2L ts) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "OVERWRITE": "INSERT OVERWRITE {0} VALUES (4, 'd', 1)",
    "TRUNCATE": "TRUNCATE TABLE {0}",
}
KEYED = "TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts')"


@contextmanager
def running_hudi_stack(folder: Path) -> Iterator[Stack]:
    """Two clusters with Hudi, the proxy and the console. Skips the test without Hudi's bundle."""
    proxy, console = free_ports(2)
    spec = StackSpec((C1, C2), proxy, console, guard=guard_jar(), spark=INTERPRETED)
    try:
        spec = with_hudi(spec, BUNDLES.parent)
    except StorageFault as fault:
        pytest.skip(f"no Hudi bundle: {fault}")
    (folder / "hudi-defaults.conf").write_text(BRIEF)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HUDI_CONF_DIR", str(folder))
        with Stack(spec, folder / "stack") as running:
            yield running


def make_with_commits(stack: Stack, kind: str, version: str) -> HudiTable:
    """Makes the table `inc.<kind>` with COMMITS, and opens it as pulls do."""
    run_sql(
        stack,
        "CREATE DATABASE IF NOT EXISTS inc",
        f"CREATE TABLE inc.{kind} (id INT, v STRING, ts BIGINT, p STRING) USING hudi"
        f" PARTITIONED BY (p) TBLPROPERTIES (type = '{kind}', primaryKey = 'id',"
        f" preCombineField = 'ts', 'hoodie.write.table.version' = '{version}',"
        " 'hoodie.write.auto.upgrade' = 'false')",
        *(each.format(f"inc.{kind}") for each in COMMITS),
    )
    table = open_table(stack, kind)
    assert table.version == int(version)
    return table


def open_table(stack: Stack, kind: str) -> HudiTable:
    with HmsClient((stack.ports.metastore,)) as client:
        location = client.get_table(TableRef("inc", kind)).location
    return open_for_changes(unquote(urlsplit(location).path), LocalStorage())


def pulled_rows(table: HudiTable, since: str, until: str | None) -> list[tuple[Any, ...]]:
    """Commit time, key and value of each row that a pull of the range reads."""
    changed = changed_rows(plan(table, since, until))
    columns = changed.select(["_hoodie_commit_time", "id", "v"]).to_pylist()
    return sorted(tuple(row.values()) for row in columns)


def consume_settings(name: str, **values: str) -> list[str]:
    """The SET statements of Hudi's settings `hoodie.<name>.consume.*`."""
    keys = {key: key.replace("_", ".") for key in values}
    return [f"SET hoodie.{name}.consume.{keys[key]}={values[key]}" for key in values]


def sync_to_hive(stack: Stack, job: SparkJob, name: str, as_source: bool) -> list[int]:
    """Writes a merge-on-read table twice and registers it by HiveSync. Returns the keys of the
    second commit."""
    options = {
        "hoodie.table.name": name,
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class":
            "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.mode": "hms",
        "hoodie.datasource.hive_sync.database": "inc",
        "hoodie.datasource.hive_sync.table": name,
        "hoodie.datasource.hive_sync.sync_as_datasource": str(as_source).lower(),
        "hoodie.datasource.hive_sync.partition_extractor_class":
            "org.apache.hudi.hive.NonPartitionedExtractor",
    }  # fmt: skip
    path = (stack.layout.warehouse(C1) / "synced" / name).as_uri()
    job("save_hudi", path=path, options=options, row=[1, "a", 1])
    job("save_hudi", path=path, options=options, row=[2, "b", 1])
    return [2]


def make_copied(stack: Stack, name: str, partitioned: str = "") -> tuple[Path, Callable[[], bool]]:
    """Makes a Hudi table `past.<name>` in c1 with a fresh copy in c2. Returns its folder, and a
    function that returns whether the copy is fresh."""
    columns = "id INT, v STRING, ts BIGINT" + (", ds STRING" if partitioned else "")
    row = "'a', 1" + (", 'x'" if partitioned else "")
    run_sql(
        stack,
        "CREATE DATABASE IF NOT EXISTS past",
        f"CREATE TABLE past.{name} ({columns}) USING hudi {partitioned} {KEYED}",
        f"INSERT INTO past.{name} VALUES (1, {row}), (2, {row})",
        cluster=C1,
    )
    ref = TableRef("past", name)
    with HmsClient((stack.ports.metastore,)) as client, ViewSync(
        stack.ports.views.values(), 20.0
    ) as sync:  # fmt: skip
        source = Path(unquote(urlsplit(client.get_table(ref).location).path))
        target = stack.layout.warehouse(C2) / "copies" / name
        shutil.copytree(source, target)
        facts = PlacementStore(client, C1, sync)
        facts.change_table(ref, lambda old: old.with_copy(Copy(C2, target.as_uri(), old.version)))

    def fresh() -> bool:
        with HmsClient((stack.ports.metastore,)) as client:
            return C2 in PlacementStore(client, C1).table(ref)[1].replicas().fresh

    assert fresh()
    return source, fresh


def check_hive_reader(stack: Stack, table: HudiTable) -> None:
    """Spark's reader of Hive tables has the rows of a pull by the jar's input format."""
    columns = "_hoodie_commit_time STRING, id INT, v STRING, ts BIGINT"
    made = (
        f"CREATE EXTERNAL TABLE inc.files ({columns}) PARTITIONED BY (p STRING)"
        " ROW FORMAT SERDE 'causeway.hudi.HudiSerDe'"
        " STORED AS INPUTFORMAT 'causeway.hudi.HudiParquetInputFormat'"
        " OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat'"
        f" LOCATION '{table.base}'"
    )
    keys = [table.timeline.key(each) for each in table.timeline.commits]
    select = "SELECT _hoodie_commit_time, id, v FROM inc.files"
    with closing(hive.connect(stack.ports.hs2[C1].host, stack.ports.hs2[C1].port)) as connection:
        cursor = connection.cursor()
        rows(cursor, made, "MSCK REPAIR TABLE inc.files")
        assert sorted(rows(cursor, select)) == pulled_rows(table, "0", None)
        rows(cursor, *consume_settings("cow", mode="INCREMENTAL", max_commits="-1"))
        with pytest.raises(hive.OperationalError, match=r"CW805.*start\.timestamp is not set"):
            cursor.execute(select)
        for number, start in enumerate(keys):
            ended = keys[-1] if number else keys[1]
            settings = consume_settings("cow", start_timestamp=start, end_timestamp=ended)
            changed = pulled_rows(table, start, ended)
            assert sorted(rows(cursor, *settings, select)) == changed, (start, ended)
            assert rows(cursor, "SELECT count(*) FROM inc.files") == [(len(changed),)]
    assert run_sql(stack, "SELECT count(*) FROM inc.files") == [(6,)]
    with pytest.raises(hive.OperationalError, match=r"CW227.*cow for Hudi"):
        run_sql(stack, *consume_settings("cow", mode="INCREMENTAL", start_timestamp="0"), select)
