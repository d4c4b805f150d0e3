"""Tables with services, indexes and layouts of all kinds are pulled, listed and replicated while
they change, and compared with Hudi's own results (HU-8, HU-9).
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_for_changes
from tests.e2e.lifecycle.test_hudi_evolution import MERGE_ON_READ, Source, Values
from tests.e2e.lifecycle.test_hudi_oracle import Replica, check_listing, files_below
from tests.e2e.support.hudi_spark import HudiSpark

pytestmark = pytest.mark.e2e

rare = pytest.mark.skipif(
    "CAUSEWAY_HUDI_SCENARIOS" not in os.environ,
    reason="runs with CAUSEWAY_HUDI_SCENARIOS=all: many writes of Hudi's",
)
NEW_FILES = {"hoodie.parquet.small.file.limit": "0", "hoodie.datasource.write.operation": "insert"}


class Followed:
    """A table with a mirror and a replica that are updated after each step."""

    def __init__(self, spark: HudiSpark, folder: Path, **options: str) -> None:
        self.spark, self.source = spark, Source(spark, folder, **options)
        self.replica = Replica(self.source.base, folder)

    def write(self, rows: Values, **options: str) -> None:
        self.source.write(rows, **options)
        self.follow()

    def call(self, procedure: str, **arguments: str) -> None:
        given = {"path": self.source.base, **arguments}
        texts = ", ".join(f"{name} => '{value}'" for name, value in given.items())
        self.spark("sql", text=f"CALL {procedure}({texts})")
        self.follow()

    def follow(self) -> None:
        self.source.pull()
        self.replica.follow()

    def check(self) -> None:
        """Hudi reads and lists the replica like the table, and the mirror has its rows."""
        self.source.check_mirror()
        theirs = self.spark("snapshot", base=self.source.base)
        assert self.spark("snapshot", base=self.replica.path) == theirs
        check_listing(self.spark, open_for_changes(self.replica.path, LocalStorage()))

    def close(self) -> None:
        """Checks that the replica was never made again and has no file that the source lacks."""
        self.check()
        self.replica.follow()
        assert self.replica.number == 0
        assert self.replica.files() <= {"causeway.replica-of", *files_below(Path(self.source.base))}

    def has(self, pattern: str) -> bool:
        return any(Path(self.source.base, ".hoodie", "timeline").glob(pattern))


@pytest.fixture
def followed(hudi: HudiSpark, tmp_path: Path) -> Callable[..., Followed]:
    return lambda **options: Followed(hudi, tmp_path, **options)


def test_a_completed_clustering_is_followed_and_its_old_files_are_cleaned(
    followed: Callable[..., Followed],
) -> None:
    table = followed(**NEW_FILES, **{"hoodie.clean.commits.retained": "1"})
    table.write([(1, "p", 1, "a"), (2, "q", 1, "a")])
    table.write([(3, "p", 2, "b")])
    table.call("run_clustering")
    table.check()
    table.write([(4, "p", 3, "c")])
    table.write([(5, "q", 4, "d")])
    assert table.has("*.clean")
    table.close()


@rare
def test_a_record_level_index_does_not_change_what_is_read(
    followed: Callable[..., Followed],
) -> None:
    table = followed(
        **{
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.global.record.level.index.enable": "true",
            "hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX",
        }
    )
    table.write([(1, "p", 1, "a"), (2, "q", 1, "a")])
    table.write([(2, "q", 2, "b"), (3, "p", 2, "b")])
    partitions = Path(table.source.base, ".hoodie", "metadata")
    assert (partitions / "record_index").exists()
    table.close()


@rare
def test_a_log_compaction_merges_as_in_spark(followed: Callable[..., Followed]) -> None:
    table = followed(
        **MERGE_ON_READ,
        **{
            "hoodie.log.compaction.enable": "true",
            "hoodie.log.compaction.inline": "true",
            "hoodie.log.compaction.blocks.threshold": "2",
        },
    )
    table.write([(n, "p", 1, "a") for n in range(3)])
    for step in (2, 3, 4):
        table.write([(step - 2, "p", step, f"v{step}")])
    assert table.has("*.logcompaction.requested")
    table.close()


def test_partition_paths_with_escapes_and_local_time(followed: Callable[..., Followed]) -> None:
    table = followed(
        **MERGE_ON_READ,
        **{
            "hoodie.datasource.write.partitionpath.urlencode": "true",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.table.timeline.timezone": "LOCAL",
        },
    )
    table.write([(1, "a/b", 1, "a"), (2, "x y=é%", 1, "a"), (3, "2024-01-01 10:00", 1, "a")])
    table.write([(1, "a/b", 2, "b"), (2, "x y=é%", 2, "b")])
    assert any("%2F" in path.name for path in Path(table.source.base).iterdir())
    table.close()


def test_a_savepoint_keeps_its_files_from_the_cleaner(followed: Callable[..., Followed]) -> None:
    table = followed(
        **{
            "hoodie.clean.commits.retained": "1",
            "hoodie.keep.min.commits": "2",
            "hoodie.keep.max.commits": "3",
            "hoodie.archive.beyond.savepoint": "true",
        }
    )
    table.write([(1, "p", 1, "v1")])
    opened = open_for_changes(table.source.base, LocalStorage())
    saved = opened.timeline.commits[0].requested
    table.call("create_savepoint", commit_time=saved)
    for step in range(2, 7):
        table.write([(1, "p", step, f"v{step}"), (step, "p", step, f"v{step}")])
    old = f"*_{saved}.parquet"
    assert list(Path(table.replica.path, "p").glob(old))
    assert open_for_changes(table.replica.path, LocalStorage()).archived
    table.check()
    table.call("delete_savepoint", instant_time=saved)
    for step in range(7, 10):
        table.write([(1, "p", step, f"v{step}")])
    assert not list(Path(table.source.base, "p").glob(old))
    table.close()
    assert not list(Path(table.replica.path, "p").glob(old))
