"""A program that writes a table by Spark with Iceberg, copies each state of it, and reads the copy
without the primary. It prints a line for each copy. Arguments: a folder, Iceberg's jar, and the
names of steps to leave out.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from conf.names import ClusterName, TableRef
from conf.placement import Copy
from metastore.client.types import Table
from pipeline.copy.copy_catalog import TABLE_ITSELF, ObjectCatalog
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.plan import plan_copy
from pipeline.copy.run import run_copy
from pipeline.copy.runs.staging import staging_of
from pipeline.copy.verify import verify_copies
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles
from tests.pipeline.copy.fakes import Effects, FakeMetastore

C1, C2, T = ClusterName("c1"), ClusterName("c2"), TableRef("d", "t")
EXPIRE = "CALL h.system.expire_snapshots(table => 'd.t', older_than => TIMESTAMP '2099-01-01', "
MERGE_ON_READ = "'write.{0}.mode' = 'merge-on-read'"
STEPS = {
    "inserted": (
        "INSERT INTO h.d.t VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y'), (4, 'd', 'y')",
    ),
    "deleted by position": ("DELETE FROM h.d.t WHERE id = 4",),
    "updated and merged": (
        "UPDATE h.d.t SET v = 'z' WHERE id = 2",
        "MERGE INTO h.d.t t USING (SELECT 1 id, 'new' v, 'x' p UNION ALL SELECT 9, 'n', 'q') s"
        " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    ),
    "evolved": (
        "ALTER TABLE h.d.t ADD COLUMN w INT",
        "ALTER TABLE h.d.t RENAME COLUMN v TO vv",
        "ALTER TABLE h.d.t ADD PARTITION FIELD bucket(2, id)",
        "INSERT INTO h.d.t VALUES (10, 'k', 'x', 5), (11, 'l', 'y z', 6)",
    ),
    "deleted by copy on write": (
        "ALTER TABLE h.d.t SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')",
        "DELETE FROM h.d.t WHERE id = 3",
    ),
    "with a branch and a tag": (
        "ALTER TABLE h.d.t CREATE BRANCH b",
        "ALTER TABLE h.d.t CREATE TAG g",
        "INSERT INTO h.d.t.branch_b VALUES (77, 'br', 'x', 1)",
    ),
    "compacted": (
        "CALL h.system.rewrite_position_delete_files('d.t')",
        "CALL h.system.rewrite_data_files(table => 'd.t', options => map('rewrite-all', 'true'))",
    ),
    "expired": (
        "ALTER TABLE h.d.t DROP BRANCH b",
        "ALTER TABLE h.d.t DROP TAG g",
        EXPIRE + "retain_last => 1)",
    ),
    "with statistics": ("CALL h.system.compute_table_stats('d.t')",),
}


class Lake:
    def __init__(self, folder: Path, jar: str) -> None:
        self.folder = folder
        self.spark = open_session("local[2]", _settings(folder, jar))
        self.files = SparkFiles(self.spark)
        modes = ", ".join(MERGE_ON_READ.format(each) for each in ("delete", "update", "merge"))
        self.spark.sql(
            "CREATE TABLE h.d.t (id INT, v STRING, p STRING) USING iceberg PARTITIONED BY (p)"
            f" TBLPROPERTIES ({modes})"
        )
        self.home = folder / "c1/d/t"
        self.metastore = FakeMetastore(Effects())
        self.metastore.add_table(Table.make(T, (), location=f"file://{self.home}"))
        self.objects = ObjectCatalog(self.metastore, C1)

    def newest(self) -> str:
        number = (self.home / "metadata/version-hint.text").read_text().strip()
        return f"file://{self.home}/metadata/v{number}.metadata.json"

    def copied(self) -> tuple[Copy, str]:
        """Copies the newest state. Returns the copy and the numbers of files sent and kept."""
        table = self.metastore.get_table(T)
        named = {"table_type": "ICEBERG", "metadata_location": self.newest()}
        table.parameters = {**table.parameters, **named}
        self.metastore.alter_table(T, table)
        state = self.objects.table(T)
        chosen = self.objects.objects(state, [TABLE_ITSELF])
        plan = plan_copy(state, chosen, C2, staging_of(f"file://{self.folder}/c2", T))
        context, limits = JobContext(self.files), CopyLimits(wait=1)
        report = run_copy(plan, self.objects, context, CopyOptions(), limits)
        assert report.published == [""], report.failed
        state = self.objects.table(T)
        chosen = self.objects.objects(state, [TABLE_ITSELF])
        options = CopyOptions()
        verified = verify_copies(self.files, self.objects, state, chosen, C2, options)
        assert (verified.findings, verified.compared) == ((), 1)
        return state.placement.copies[0], f"{report.files_sent} sent, {report.files_kept} kept"

    def snapshots(self) -> Sequence[int]:
        return [
            row[0] for row in self.spark.sql("SELECT snapshot_id FROM h.d.t.snapshots").collect()
        ]

    def rows(self, metadata: str, snapshot: int | None = None) -> list[tuple[object, ...]]:
        reader = self.spark.read.format("iceberg")
        if snapshot is not None:
            reader = reader.option("snapshot-id", snapshot)
        return sorted((tuple(row) for row in reader.load(metadata).collect()), key=str)

    @contextmanager
    def without_primary(self) -> Iterator[None]:
        (self.folder / "c1").rename(away := self.folder / "away")
        yield
        away.rename(self.folder / "c1")


def _settings(folder: Path, jar: str) -> dict[str, str]:
    return {
        "spark.driver.memory": "1g",
        "spark.driver.extraClassPath": jar,
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.h": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.h.type": "hadoop",
        "spark.sql.catalog.h.cache-enabled": "false",
        "spark.sql.catalog.h.warehouse": f"file://{folder}/c1",
    }


def main(folder: Path, jar: str, left_out: Sequence[str]) -> None:
    lake = Lake(folder, jar)
    for name, statements in STEPS.items():
        if name in left_out:
            continue
        for statement in statements:
            lake.spark.sql(statement)
        copy, sent = lake.copied()
        states = [None, *lake.snapshots()]
        expected = [lake.rows(lake.newest(), each) for each in states]
        with lake.without_primary():
            assert [lake.rows(copy.metadata, each) for each in states] == expected, name
        print(f"{name}: {sent}, {len(expected[0])} rows, {len(states) - 1} snapshots")
    SparkSession.builder.getOrCreate().stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
