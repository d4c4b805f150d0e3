"""Pulls and listings of real tables and random histories have Hudi's own results (HU-8, HU-9).

CAUSEWAY_HISTORIES is the number of histories in `make test` and in `make long` (3: both kinds of
tables, every version). If it is not set, a sample of the comparisons of each table runs, the same
one each time.
"""

import os
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipeline.copy.files import CopyOptions
from pipeline.hudi.errors import BadRange, OutOfStep
from pipeline.hudi.folders.local_folder import LocalFolder
from pipeline.hudi.listing import list_status
from pipeline.hudi.plan import plan
from pipeline.hudi.pull import PullMode, pull
from pipeline.hudi.read import changed_rows
from pipeline.hudi.replicas.replica_plan import plan_replication
from pipeline.hudi.replicas.replicate import run_replication
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import HudiTable, open_for_changes
from tests.e2e.support.hudi_spark import HudiSpark
from tests.pipeline.hudi.local_files import LocalFiles

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[3]
SHARED = Path(os.environ.get("CAUSEWAY_SHARED", ROOT.parent / "shared")) / "hudi"
ZIPS = sorted(SHARED.glob("*.zip"))
# Tables of version 6 that a newer version has, too, are read by `make long` alone.
_NEWER = {re.sub("_v[89]_", "_v6_", each.stem) for each in ZIPS if "_v6_" not in each.stem}
ARCHIVES = [
    pytest.param(each, id=each.stem, marks=[pytest.mark.long] if each.stem in _NEWER else [])
    for each in ZIPS
]
HISTORIES = int(os.environ.get("CAUSEWAY_HISTORIES", "3"))
QUESTIONS = 1000 if "CAUSEWAY_HISTORIES" in os.environ else 8
JAR_FORMAT = "causeway.hudi.HudiParquetInputFormat"
# Spark's own incremental query fails on the files of these two, so there is nothing to equal.
UNREADABLE_TO_SPARK = ("timebasedkeygen_epochmillis", "timebasedkeygen_unixtimestamp")


@pytest.fixture
def spark(hudi: HudiSpark) -> HudiSpark:
    return hudi


def unpacked(archive: Path, into: Path) -> HudiTable:
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(into, [n for n in packed.namelist() if not n.startswith("__MACOSX")])
    base = next(p.parent for p in into.glob("*/.hoodie"))
    return open_for_changes(str(base), LocalStorage())


def partition_paths(table: HudiTable) -> list[str]:
    return [table.partition_path(p) for p in table.partitions()] or [table.base]


def consuming(table: HudiTable, start: str, most: str) -> dict[str, str]:
    prefix = f"hoodie.{table.name}.consume"
    return {
        f"{prefix}.mode": "incremental",
        f"{prefix}.start.timestamp": start,
        f"{prefix}.max.commits": most,
    }


def as_text(table: HudiTable, since: str, until: str | None) -> list[list[str]]:
    """Keys and times of a pull's rows in the form of the oracle's rows."""
    columns = ["_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key"]
    rows = changed_rows(plan(table, since, until)).select(columns).to_pylist()
    return sorted([f"{name}={row[name]}" for name in columns] for row in rows)


def only_keys(rows: list[list[str]]) -> list[list[str]]:
    return sorted([cell for cell in row if cell.startswith("_hoodie_")] for row in rows)


def check_listing(spark: HudiSpark, table: HudiTable) -> int:
    paths = partition_paths(table)
    requests = [i.requested for i in table.timeline.commits]
    cases = [(paths, {}), (paths[:1], {}), ([table.base], {})]
    for start in ["000", *requests]:
        cases += [(paths, consuming(table, start, most)) for most in ("1", "2", "-1")]
    cases += [(paths, {f"hoodie.{table.name}.consume.commit": r}) for r in requests]
    random.Random(1).shuffle(cases)
    del cases[QUESTIONS:]
    for where, conf in cases:
        as_of = conf.get(f"hoodie.{table.name}.consume.commit", "9")
        if as_of < table.earliest_retained():
            with pytest.raises(BadRange):
                list_status(where, conf)
            with pytest.raises(RuntimeError, match="Cleaner cleaned up"):
                spark("list_status", paths=where, conf=conf)
            continue
        ours = sorted([f.path, f.length] for f in list_status(where, conf))
        assert ours == spark("list_status", paths=where, conf=conf), conf
        check_jar(spark, table, where, conf, ours)
    return len(cases)


def check_jar(
    spark: HudiSpark, table: HudiTable, paths: list[str], conf: dict[str, str], ours: list[Any]
) -> None:
    """The jar's input format lists the same files, or refuses for a true reason."""
    incremental = any(key.endswith(".mode") for key in conf)
    start = conf.get(f"hoodie.{table.name}.consume.start.timestamp", "")
    reasons = {
        "archived commits": incremental and start < table.timeline.start and bool(table.archived),
        "no meta columns": incremental and not table.has_commit_times,
        "is no base file in parquet": incremental and table.merge_on_read,
        "was deleted": incremental and bool(table.timeline.cleans),
    }
    asked = {"hoodie.query.as.ro.table": "true", **conf}
    refused = ""
    try:
        assert spark("list_status", paths=paths, conf=asked, form=JAR_FORMAT) == ours, conf
    except RuntimeError as error:
        refused = str(error)
    if refused:
        assert any(is_so and reason in refused for reason, is_so in reasons.items()), refused


def replaced_after(table: HudiTable, until: str | None) -> bool:
    """Whether a later commit replaced files: Spark then leaves out of a past range what was
    replaced after its end, and a puller that stopped there would never see it; we return it.
    """
    timeline = table.timeline
    later = (i for i in timeline.commits if until is not None and timeline.key(i) > until)
    return any(each.action == "replacecommit" for each in later)


def check_changes(spark: HudiSpark, table: HudiTable, most: int) -> int:
    """Compares both readers with Spark's incremental query for some ranges of the history."""
    keys = ["000", *(table.timeline.key(i) for i in table.timeline.commits)]
    ranges = [(keys[a], keys[b]) for a in range(len(keys)) for b in range(a + 1, len(keys))]
    ranges += [(k, None) for k in keys[:-1]]
    chosen = [("000", None), *random.Random(1).sample(ranges, min(most, len(ranges)))]
    for since, until in chosen:
        if plan(table, since, until).fallback:
            continue
        theirs = spark("incremental", base=table.base, since=since, until=until)
        ours = as_text(table, since, until)
        if replaced_after(table, until):
            assert all(row in ours for row in only_keys(theirs)), (since, until)
        else:
            assert ours == only_keys(theirs), (since, until)
        if since == "000":
            for by_tasks in (False, True):
                ours_too = spark(
                    "changed", base=table.base, since="0", until=until, by_tasks=by_tasks
                )
                assert ours_too == theirs, by_tasks
    return len(chosen)


def test_the_real_tables_are_there() -> None:
    if not SHARED.exists():
        pytest.skip(f"no {SHARED}")
    assert len(ZIPS) == 28


@pytest.mark.parametrize("archive", ARCHIVES)
def test_real_table(spark: HudiSpark, archive: Path, tmp_path: Path) -> None:
    table = unpacked(archive, tmp_path)
    assert check_listing(spark, table) >= 3
    readable = not archive.stem.endswith(UNREADABLE_TO_SPARK)
    if readable and table.has_commit_times and table.timeline.commits:
        assert check_changes(spark, table, most=2) >= 2


SCHEMA = "id int, p string, ts long, v string"
PLAIN = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    **{
        f"hoodie.{step}.shuffle.parallelism": "1"
        for step in ("upsert", "insert", "bulkinsert", "delete")
    },
}


def history(spark: HudiSpark, base: str, seed: int, after: Callable[[], None]) -> None:
    """Writes a random history by Hudi's own writer: few rows, many kinds of commits."""
    dice = random.Random(seed)
    merge_on_read, parted = seed % 2 == 1, dice.random() < 0.75
    options = PLAIN | {
        "hoodie.table.name": f"t{seed}",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ" if merge_on_read else "COPY_ON_WRITE",
        "hoodie.write.table.version": ("6", "8", "9")[seed % 3],
        "hoodie.datasource.write.partitionpath.field": "p" if parted else "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen."
        + ("SimpleKeyGenerator" if parted else "NonpartitionedKeyGenerator"),
        "hoodie.datasource.write.hive_style_partitioning": dice.choice(["true", "false"]),
        "hoodie.metadata.enable": dice.choice(["true", "false", "false"]),
        "hoodie.clean.commits.retained": dice.choice(["1", "10"]),
        "hoodie.parquet.small.file.limit": dice.choice(["0", "104857600"]),
    }
    if merge_on_read:
        options |= {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
    if dice.random() < 0.4:
        options |= {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "3"}
    if dice.random() < 0.4:
        options |= {"hoodie.keep.min.commits": "4", "hoodie.keep.max.commits": "5"}
        options |= {"hoodie.clean.commits.retained": "1"}
    for step in range(1, 8):
        operation = "upsert"
        if step > 1:
            operation = dice.choice(["upsert"] * 4 + ["insert", "delete", "insert_overwrite"])
        rows = [
            (i, f"p{i % 3}" if dice.random() < 0.9 else "p9", step, f"v{step}")
            for i in dice.sample(range(12), dice.randint(1, 5))
        ]
        spark(
            "write", base=base, rows=rows, schema=SCHEMA,
            options=options | {"hoodie.datasource.write.operation": operation},
        )  # fmt: skip
        if step % 2:
            after()


class Replica:
    """A replica of a table, made again when it cannot follow the table."""

    def __init__(self, base: str, folder: Path) -> None:
        self.base, self.folder, self.number = base, folder, 0

    @property
    def path(self) -> str:
        return str(self.folder / f"replica{self.number}")

    def follow(self) -> None:
        storage = LocalStorage()
        source = open_for_changes(self.base, storage)
        try:
            planned = plan_replication(source, self.path, storage)
        except OutOfStep:
            self.number += 1
            planned = plan_replication(source, self.path, storage)
        run_replication(planned, LocalFiles(), CopyOptions())

    def files(self) -> set[str]:
        return files_below(Path(self.path))


def files_below(base: Path) -> set[str]:
    """The names of data files, and of files of the timeline and its archive."""
    return {p.name for p in base.rglob("*") if p.is_file() and not p.name.endswith(".crc")}


@pytest.mark.parametrize(
    "seed", [3, *(pytest.param(4 + n, marks=pytest.mark.long) for n in range(HISTORIES - 1))]
)
def test_random_history(spark: HudiSpark, tmp_path: Path, seed: int) -> None:
    base = str(tmp_path / "table")
    replica = Replica(base, tmp_path)
    history(spark, base, seed, replica.follow)
    table = open_for_changes(base, LocalStorage())
    check_listing(spark, table)
    check_changes(spark, table, most=3)
    # Whatever the plan, falling back or not, its rows are those of the table as it is.
    snapshot = only_keys(spark("snapshot", base=base))
    assert only_keys(spark("snapshot", base=replica.path)) == snapshot
    replica.follow()
    assert replica.files() <= {"causeway.replica-of", *files_below(Path(base))}
    starts = ["0", *(table.timeline.key(i) for i in table.timeline.commits)]
    starts += sorted(table.archived.values())
    for since in starts:
        rows = plan(table, since).rows
        assert rows is not None
        wanted = [row for row in snapshot if row[0].partition("=")[2] in rows]
        assert as_text(table, since, None) == wanted, since


@pytest.mark.parametrize("version", ["6", pytest.param("8", marks=pytest.mark.long), "9"])
def test_an_archived_past_is_scanned_in_full(
    spark: HudiSpark, tmp_path: Path, version: str
) -> None:
    base = str(tmp_path / "table")
    options = PLAIN | {
        "hoodie.table.name": "old", "hoodie.write.table.version": version,
        "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1", "hoodie.parquet.small.file.limit": "0",
    }  # fmt: skip
    for step in range(1, 8):
        rows = [(step, "p", step, f"v{step}"), (step + 100, "q", step, f"v{step}")]
        spark("write", base=base, rows=rows, schema=SCHEMA, options=options)
    table = open_for_changes(base, LocalStorage())
    snapshot = only_keys(spark("snapshot", base=base))
    times = sorted({row[0].partition("=")[2] for row in snapshot})
    assert len(times) == 7
    active = {i.requested for i in table.timeline.commits}
    assert len(active) < 7
    starts = ["0", *times[:3]] if version == "6" else ["0", *sorted(table.archived.values())]
    for number, since in enumerate(starts):
        planned = plan(table, since)
        assert planned.fallback is None if number == 7 - len(active) else planned.fallback
        assert as_text(table, since, None) == [
            row for row in snapshot if row[0][-17:] in times[number:]
        ]


@pytest.mark.parametrize("restore", [False, True], ids=["rollback", "restore"])
@pytest.mark.parametrize("version", [pytest.param("6", marks=pytest.mark.long), "9"])
def test_what_hudi_undoes_is_noticed(
    spark: HudiSpark, tmp_path: Path, version: str, restore: bool
) -> None:
    """A completed commit that was pulled and then rolled back, or restored away."""
    base = str(tmp_path / "table")
    options = PLAIN | {"hoodie.table.name": "undone", "hoodie.write.table.version": version}
    for step in range(1, 4):
        rows = [(i, "p", step, f"v{step}") for i in range(step + 1)]
        spark("write", base=base, rows=rows, schema=SCHEMA, options=options)
    before = open_for_changes(base, LocalStorage())
    instants = [i.requested for i in before.timeline.commits]
    mirror = tmp_path / "mirror"
    pull(before, LocalFolder(mirror), PullMode.MERGE)
    spark("undo", base=base, options=options, to=instants[1], last=instants[2], restore=restore)
    after = open_for_changes(base, LocalStorage())
    assert [i.requested for i in after.timeline.commits] == instants[:2]
    seen = before.timeline.key(before.timeline.commits[-1])
    planned = plan(after, seen)
    assert planned.fallback == f"{instants[2]} was undone after {seen}"
    done = pull(after, LocalFolder(mirror), PullMode.MERGE)
    assert done.reloaded == f"{instants[2]} undone at the source"
    held = pq.read_table(mirror / "data.parquet").select(["id", "v"]).to_pylist()
    theirs = [
        {cell.split("=")[0]: cell.split("=", 1)[1] for cell in row}
        for row in spark("snapshot", base=base)
    ]
    assert sorted((str(r["id"]), r["v"]) for r in held) == sorted((r["id"], r["v"]) for r in theirs)
    spark("write", base=base, rows=[(9, "p", 9, "v9")], schema=SCHEMA, options=options)
    assert (
        pull(open_for_changes(base, LocalStorage()), LocalFolder(mirror), PullMode.MERGE).reloaded
        is None
    )
