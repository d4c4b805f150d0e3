"""Jobs that the jar's input format for Hudi tables refuses, and some that it lists.
tests/pipeline/hudi/test_listing.py compares it with `list_status`."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.hudi.errors import BadRange, DamagedTimeline, UnsupportedTable
from pipeline.spark.jar import guard_jar_or_none
from tests.guard.jar_listing import JarListing
from tests.pipeline.hudi.conftest import FakeTable

DAY = "2016/05/01"
READ_OPTIMIZED = {"hoodie.query.as.ro.table": "true"}


@pytest.fixture(scope="module")
def listing() -> Iterator[JarListing]:
    path = guard_jar_or_none()
    if path is None:
        pytest.skip("no causeway-guard.jar; `make guard` builds it")
    running = JarListing(path)
    yield running
    running.close()


@pytest.fixture
def new_table(tmp_path: Path) -> Callable[..., FakeTable]:
    return lambda **how: FakeTable(tmp_path / "trips", **how)


def after(start: str, most: str = "-1", **more: str) -> dict[str, str]:
    """The settings that read the changed rows of the table `trips` after an instant."""
    prefix = "hoodie.trips.consume"
    conf = {f"{prefix}.mode": "INCREMENTAL", f"{prefix}.start.timestamp": start}
    conf[f"{prefix}.max.commits"] = most
    return conf | {f"{prefix}.{key.replace('_', '.')}": value for key, value in more.items()}


@pytest.mark.slow
def test_the_end_of_a_range_is_inclusive(
    listing: JarListing, new_table: Callable[..., FakeTable]
) -> None:
    table = new_table()
    for instant in ("100", "200", "300"):
        table.commit(instant, [(DAY, f"f{instant}")])
    files = listing([table.partition(DAY)], after("100", end_timestamp="200"))
    assert [f.name[:4] for f in files] == ["f200"]


def test_a_folder_above_partitions_has_their_changes(
    listing: JarListing, new_table: Callable[..., FakeTable]
) -> None:
    table = new_table()
    table.commit("100", [(DAY, "a"), ("2017/01/01", "b")])
    for path, found in ((table.path, "ab"), (f"{table.path}/2016", "a"), (f"{table.path}/20", "")):
        assert "".join(sorted(f.name[0] for f in listing([path], after("0")))) == found


@pytest.mark.parametrize("version", [6, 9])
def test_archived_commits_of_the_range_are_refused(
    listing: JarListing, new_table: Callable[..., FakeTable], version: int
) -> None:
    table = new_table(version=version)
    for instant in ("100", "200", "300"):
        table.commit(instant, [(DAY, instant)])
    table.archive("100")
    paths = [table.partition(DAY)]
    with pytest.raises(BadRange, match="archived"):
        listing(paths, after("099"))
    assert len(listing(paths, after("200"))) == 1
    assert len(listing(paths, {})) == 3


def test_a_cleaned_file_of_the_range_is_refused_and_a_replaced_one_is_not_needed(
    listing: JarListing, new_table: Callable[..., FakeTable]
) -> None:
    table = new_table()
    table.commit("100", [(DAY, "a")])
    table.commit("200", [(DAY, "a")])
    table.clean("300", [f"{DAY}/a_1-0-1_100.parquet"])
    paths = [table.partition(DAY)]
    with pytest.raises(BadRange, match=r"a_1-0-1_100\.parquet of the range was deleted"):
        listing(paths, after("0", "1"))
    assert [f.name for f in listing(paths, after("0"))] == ["a_1-0-1_200.parquet"]
    table.commit("400", [(DAY, "b")], action="replacecommit", replaces={DAY: ["a"]})
    table.clean("500", [f"{DAY}/a_1-0-1_200.parquet"])
    assert [f.name[0] for f in listing(paths, after("0"))] == ["b"]


@pytest.mark.parametrize("version", [6, 9])
def test_logs_are_never_left_out_silently(
    listing: JarListing, new_table: Callable[..., FakeTable], version: int
) -> None:
    table = new_table(version=version, kind="MERGE_ON_READ")
    table.commit("100", [(DAY, "a"), ("other", "b")], action="deltacommit")
    written = table.base / DAY / ".a_200.log.1_0-1-0"
    table.commit("200", [(DAY, "a")], action="deltacommit", logs=True)
    if version == 6:  # a log has the instant of its base file
        written.rename(written.with_name(".a_100.log.1_0-1-0"))
    paths, other = [table.partition(DAY)], [table.partition("other")]
    for conf in ({}, after("0"), after("100") | READ_OPTIMIZED):
        with pytest.raises(UnsupportedTable, match="log"):
            listing(paths, conf)
    assert len(listing(paths, READ_OPTIMIZED)) == 1
    assert len(listing(paths, after("0", "1"))) == 1
    assert len(listing(other, {})) == len(listing(other, after("0"))) == 1
    table.commit("300", [(DAY, "a")], compacted=True, operation="COMPACT")
    assert [f.name for f in listing(paths, {})] == ["a_1-0-1_300.parquet"]
    assert [f.name for f in listing(paths, after("200"))] == ["a_1-0-1_300.parquet"]


def test_a_write_and_a_replacement_at_the_same_time_are_refused(
    listing: JarListing, new_table: Callable[..., FakeTable]
) -> None:
    table = new_table(version=9)
    table.commit("100", [(DAY, "a"), ("other", "b")])
    table.commit("200", [(DAY, "a")], completion="250")
    table.commit(
        "150", [(DAY, "c")], completion="300", action="replacecommit", replaces={DAY: ["a"]}
    )
    paths = [table.partition(DAY)]
    for start in ("0", "100", "160"):
        with pytest.raises(UnsupportedTable, match="200 and 150"):
            listing(paths, after(start))
    assert len(listing([table.partition("other")], after("0"))) == 1


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ({"hoodie.table.version": "10"}, "version 10"),
        ({"hoodie.timeline.layout.version": "3"}, "layout 3"),
        ({"hoodie.bootstrap.base.path": "/old"}, "bootstrapped from /old"),
    ],
)
def test_a_table_that_is_not_supported_is_refused(
    listing: JarListing, new_table: Callable[..., FakeTable], setting: dict[str, str], text: str
) -> None:
    table = new_table(**setting)
    table.commit("100", [(DAY, "a")])
    properties = table.base / ".hoodie" / "hoodie.properties"
    ((key, value),) = setting.items()
    properties.write_text(f"{properties.read_text()}\n{key}={value}\n")
    for conf in ({}, after("0")):
        with pytest.raises(UnsupportedTable, match=text):
            listing([table.partition(DAY)], conf)


def test_changes_of_rows_without_commit_times_are_refused(
    listing: JarListing, new_table: Callable[..., FakeTable]
) -> None:
    table = new_table(**{"hoodie.populate.meta.fields": "false"})
    table.commit("100", [(DAY, "a")])
    assert len(listing([table.partition(DAY)], {})) == 1
    with pytest.raises(UnsupportedTable, match="meta columns"):
        listing([table.partition(DAY)], after("0"))


def test_a_damaged_commit_is_refused(
    listing: JarListing, new_table: Callable[..., FakeTable]
) -> None:
    table = new_table()
    for content in ("", "{", "[1]", '{"partitionToWriteStats": {"p": [{"path": "p/a"}]}}'):
        table.commit("100", [(DAY, "a")])
        (table.timeline / "100.commit").write_text(content)
        with pytest.raises(DamagedTimeline, match=r"100\.commit"):
            listing([table.partition(DAY)], after("0"))


def test_ambiguous_settings_are_refused(
    listing: JarListing, new_table: Callable[..., FakeTable]
) -> None:
    table = new_table()
    table.commit("100", [(DAY, "a")])
    paths = [table.partition(DAY)]
    for conf in (after("yesterday"), after("0", "0"), after("0", "-2"), after("0", "1e3")):
        with pytest.raises(BadRange, match="is no"):
            listing(paths, conf)
    with pytest.raises(BadRange, match=r"hoodie\.Trips\.consume\.mode may mean"):
        listing(paths, {"hoodie.Trips.consume.mode": "INCREMENTAL"})
    assert len(listing(paths, {"hoodie.trip.consume.mode": "INCREMENTAL"})) == 1


def test_patterns_and_files_of_a_table_are_refused(
    listing: JarListing, new_table: Callable[..., FakeTable]
) -> None:
    table = new_table()
    table.commit("100", [(DAY, "a")])
    for path in (f"{table.path}/2016/*", f"{table.path}/{DAY}/a_1-0-1_100.parquet"):
        with pytest.raises(BadRange, match="folders"):
            listing([path], {})


def test_other_base_files_than_parquet_are_refused(
    listing: JarListing, new_table: Callable[..., FakeTable]
) -> None:
    table = new_table()
    table.commit("100", [(DAY, "a")])
    (file,) = (table.base / DAY).glob("a_*")
    file.rename(file.with_suffix(".orc"))
    with pytest.raises(UnsupportedTable, match="parquet"):
        listing([table.partition(DAY)], {})


def test_a_job_opens_each_table_once_and_lists_other_paths_too(
    listing: JarListing, new_table: Callable[..., FakeTable], tmp_path: Path
) -> None:
    table, second = new_table(version=9), FakeTable(tmp_path / "trips_v2", version=6)
    for each in (table, second):
        each.commit("100", [(f"p{n}", f"f{n}") for n in range(20)])
        each.commit("200", [("p7", "f7")])
    plain = tmp_path / "plain"
    plain.mkdir()
    for name in ("a.parquet", "_SUCCESS"):
        (plain / name).touch()
    paths = [f"{base}/p{n}" for n in range(20) for base in (table.path, second.path)]
    files = listing([*paths, str(plain)], after("100"))
    found = sorted(Path(f.path).relative_to(tmp_path).parts[0] for f in files)
    assert found == ["plain", "trips", *["trips_v2"] * 20]
    assert listing.opened.count(str(table.base / ".hoodie" / "hoodie.properties")) == 1
    assert listing.listed.count(str(table.timeline)) == 1
    assert listing.listed.count(str(second.timeline)) == 1
    shutil.rmtree(second.base / "p3")
    assert len(listing([*paths, str(plain)], after("100"))) == len(files) - 1
