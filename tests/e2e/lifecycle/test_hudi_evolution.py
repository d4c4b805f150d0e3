"""Pulls of tables that change meanwhile: columns, versions, payloads, table services (HU-9)."""

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.hudi.folders.local_folder import LocalFolder
from pipeline.hudi.plan import snapshot
from pipeline.hudi.pull import PullMode, PullResult, pull
from pipeline.hudi.read import changed_rows
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_for_changes
from tests.e2e.lifecycle.test_hudi_oracle import PLAIN, SCHEMA
from tests.e2e.support.hudi_spark import HudiSpark

pytestmark = pytest.mark.e2e

MERGE_ON_READ = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.compact.inline": "false",
}
Values = list[tuple[object, ...]]


@pytest.fixture
def spark(hudi: HudiSpark) -> HudiSpark:
    return hudi


class Source:
    """A table that Spark writes, with a mirror and a log of changes that pulls keep up to date."""

    def __init__(self, spark: HudiSpark, folder: Path, **options: str) -> None:
        self.spark, self.base = spark, str(folder / "table")
        self.options = PLAIN | {"hoodie.table.name": "t"} | options
        self.mirror, self.changes = folder / "mirror", folder / "changes"

    def write(self, rows: Values, schema: str = SCHEMA, **options: str) -> None:
        self.spark(
            "write", base=self.base, rows=rows, schema=schema, options=self.options | options
        )

    def pull(self, mode: PullMode = PullMode.MERGE) -> PullResult:
        table = open_for_changes(self.base, LocalStorage())
        target = self.mirror if mode is PullMode.MERGE else self.changes
        return pull(table, LocalFolder(target), mode)

    def check_mirror(self) -> None:
        """The mirror, and a read of the whole table, have the rows that Spark reads."""
        theirs = self.spark("snapshot", base=self.base)
        rows = changed_rows(snapshot(open_for_changes(self.base, LocalStorage())))
        assert cells(rows.to_pylist()) == theirs
        assert cells(pq.read_table(self.mirror / "data.parquet").to_pylist()) == theirs


def cells(rows: list[dict[str, object]]) -> list[list[str]]:
    skip = ("_hoodie_file_name", "_hoodie_commit_seqno")
    return sorted([f"{n}={row[n]}" for n in sorted(row) if n not in skip] for row in rows)


@pytest.mark.parametrize("version", [pytest.param("6", marks=pytest.mark.long), "9"])
def test_merge_on_read_with_a_new_column_and_a_wider_type(
    spark: HudiSpark, tmp_path: Path, version: str
) -> None:
    """The new values are in logs, on top of base files with the old columns."""
    source = Source(spark, tmp_path, **MERGE_ON_READ, **{"hoodie.write.table.version": version})
    source.write([(n, "p", 1, 1) for n in range(3)], "id int, p string, ts long, n int")
    source.pull()
    source.write([(0, "p", 2, 2**40, "new")], "id int, p string, ts long, n long, w string")
    assert source.pull().rows == 1
    source.check_mirror()
    for by_tasks in (False, True):
        assert spark(
            "changed", base=source.base, since="0", until=None, by_tasks=by_tasks
        ) == spark("snapshot", base=source.base)


def test_a_copy_on_write_int_that_became_long_is_read_by_tasks(
    spark: HudiSpark, tmp_path: Path
) -> None:
    """Spark itself cannot read the old files with the new type."""
    new_files = {"hoodie.parquet.small.file.limit": "0"}
    source = Source(spark, tmp_path, **new_files)
    source.write([(1, "p", 1, 1)], "id int, p string, ts long, n int")
    source.write([(2, "p", 2, 2**40)], "id int, p string, ts long, n long")
    found = spark("changed", base=source.base, since="0", until=None, by_tasks=True)
    assert found == spark("snapshot", base=source.base)


@pytest.mark.parametrize(
    "kind", [pytest.param("COPY_ON_WRITE", marks=pytest.mark.long), "MERGE_ON_READ"]
)
def test_an_upgrade_from_version_6_to_9_between_two_pulls(
    spark: HudiSpark, tmp_path: Path, kind: str
) -> None:
    more = MERGE_ON_READ if kind == "MERGE_ON_READ" else {}
    source = Source(spark, tmp_path, **more)
    for step in (1, 2):
        rows = [(n, "p", step, f"v{step}") for n in range(3 - step, 3)]
        source.write(rows, **{"hoodie.write.table.version": "6"})
    for mode in PullMode:
        source.pull(mode)
    source.write([(9, "p", 3, "v3")], **{"hoodie.write.table.version": "9"})
    for mode in PullMode:
        done = source.pull(mode)
        assert (done.rows, done.reloaded) == (1, None), mode
        assert source.pull(mode).rows == 0
    source.check_mirror()


@pytest.mark.parametrize(
    "payload", ["OverwriteNonDefaultsWithLatestAvroPayload", "AWSDmsAvroPayload"]
)
def test_payloads_of_version_6_merge_as_in_spark(
    spark: HudiSpark, tmp_path: Path, payload: str
) -> None:
    """Late rows, nulls and deletes, over several logs."""
    source = Source(
        spark, tmp_path, **MERGE_ON_READ,
        **{
            "hoodie.write.table.version": "6",
            "hoodie.datasource.write.payload.class": f"org.apache.hudi.common.model.{payload}",
        },
    )  # fmt: skip
    dice = random.Random(7)
    columns = f"{SCHEMA}, w string, Op string"
    for step in range(1, 5):
        rows = [
            (
                n, "p", dice.randint(1, 4) if step > 1 else 1,
                dice.choice([None, f"v{step}"]), dice.choice([None, f"w{step}"]),
                dice.choice("UUD") if step > 1 and payload.startswith("AWS") else "I",
            )
            for n in dice.sample(range(8), 8 if step == 1 else 4)
        ]  # fmt: skip
        source.write(rows, columns)
    source.pull()
    source.check_mirror()


def test_a_clustering_of_version_6_that_is_pending_and_then_completes(
    spark: HudiSpark, tmp_path: Path
) -> None:
    source = Source(
        spark, tmp_path,
        **{
            "hoodie.write.table.version": "6",
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.datasource.write.operation": "insert",
        },
    )  # fmt: skip

    def cluster(step: str) -> None:
        options = "hoodie.write.auto.upgrade=false,hoodie.write.table.version=6"
        options += ",hoodie.metadata.enable=false"
        spark(
            "sql",
            text=f"CALL run_clustering(path => '{source.base}', op => '{step}', "
            f"options => '{options}')",
        )

    source.write([(1, "p", 1, "a")])
    source.write([(2, "p", 2, "b")])
    cluster("schedule")
    assert list(Path(source.base, ".hoodie").glob("*.replacecommit.requested"))
    source.write([(3, "p", 3, "c")])
    done = source.pull()
    assert (done.rows, done.held_back_by) == (3, None)
    cluster("execute")
    assert list(Path(source.base, ".hoodie").glob("*.replacecommit"))
    source.write([(4, "p", 4, "d")])
    assert source.pull().rows == 1
    source.check_mirror()
