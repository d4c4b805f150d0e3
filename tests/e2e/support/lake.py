"""Clusters with Iceberg or Delta in the place of the session catalog, and files of their tables."""

from contextlib import closing
from pathlib import Path

from pyhive import hive

from cli.main import main
from cli.stack.plan import GUARD
from cli.stack.stack import Stack
from conf.names import ClusterName, TableRef
from conf.placement import read_placement
from metastore.client.metastore_client import HmsClient
from tests.e2e.conftest import C1, C2, C3, rows, server

ARTIFACTS = (
    "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.1",
    "io.delta:delta-spark_2.12:3.3.2",
    "io.delta:delta-storage:3.3.2",
)
CATALOG = "spark.sql.catalog.spark_catalog"
DELTA = {
    CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.extensions": f"{GUARD},io.delta.sql.DeltaSparkSessionExtension",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.vacuum.parallelDelete.parallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
}
ICEBERG = {
    CATALOG: "org.apache.iceberg.spark.SparkSessionCatalog",
    f"{CATALOG}.type": "hive",
    f"{CATALOG}.cache-enabled": "false",
    "spark.sql.extensions": f"{GUARD},"
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.shuffle.partitions": "1",
}
C4 = ClusterName("c4")
OWN = {C1: ICEBERG, C2: DELTA, C3: DELTA, C4: ICEBERG}

Files = set[tuple[str, int, int]]
"""Paths, lengths and times of change."""


def files_of(folder: Path) -> Files:
    found = ((path, path.stat()) for path in folder.rglob("*") if path.is_file())
    return {(str(path.relative_to(folder)), s.st_size, s.st_mtime_ns) for path, s in found}


def size_of(files: Files) -> int:
    return sum(size for _, size, _ in files)


def copied(before: Files, after: Files) -> list[tuple[str]]:
    """The result of a COPY that sends only the new files."""
    new = after - before
    assert 0 < len(new) < len(after)
    return [(f"1 copied, 0 fresh, {size_of(new)} bytes in {len(new)} files",)]


def is_marked(lake: Stack, table: str) -> bool:
    with HmsClient((lake.ports.metastore,)) as client:
        parameters = client.get_table(TableRef.parse(table)).parameters
    return bool(read_placement(parameters, C1).open)


def assign_primary(lake: Stack, table: str, primary: ClusterName) -> None:
    endpoints = str(lake.layout.endpoints)
    assert main(["table", "assign", "--endpoints", endpoints, table, "--primary", primary]) == 0


def run_sql_in(lake: Stack, cluster: ClusterName, statement: str) -> None:
    """Runs a statement in the cluster's Thrift Server, without the proxy."""
    endpoint = server(lake, cluster)
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        rows(connection.cursor(), statement)


PYICEBERG = """\
import sys
import pyarrow
from pyiceberg.catalog.hive import HiveCatalog

catalog = HiveCatalog("c", uri=sys.argv[1])
table = catalog.load_table(sys.argv[2])
row = pyarrow.table({"id": pyarrow.array([9], pyarrow.int32()), "v": ["p"]})
try:
    table.append(row)
except Exception as error:
    print("refused", "CW350" in str(error))
else:
    print("appended", table.refresh().scan().to_arrow().num_rows)
"""

MERGE = (
    "MERGE INTO {0} t USING (SELECT 1 id, 'new' v, 'x' p UNION ALL SELECT 3, 'c', 'y') s"
    " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
WRITES = {
    "": (
        "INSERT INTO {0} SELECT * FROM {0}",
        "INSERT OVERWRITE {0} SELECT * FROM {0}",
        "UPDATE {0} SET v = 'z'",
        "DELETE FROM {0} WHERE id = 2",
        "DELETE FROM {0}",
        "MERGE INTO {0} t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "ALTER TABLE {0} ADD COLUMN other INT",
        "ALTER TABLE {0} SET TBLPROPERTIES ('a' = 'b')",
        "REPLACE TABLE {0} (id INT) USING {1}",
    ),
    "iceberg": (
        "TRUNCATE TABLE {0}",
        "ALTER TABLE {0} CREATE BRANCH b",
        "CALL spark_catalog.system.rewrite_data_files('{0}')",
        "CALL system.remove_orphan_files(table => '{0}')",
    ),
    "delta": (
        "OPTIMIZE {0}",
        "VACUUM {0}",
        "RESTORE TABLE {0} TO VERSION AS OF 0",
        "ALTER TABLE {0} ADD CONSTRAINT c CHECK (id > 0)",
    ),
}
