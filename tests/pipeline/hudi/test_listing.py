"""`list_status`, and the jar's input format, against the golden cases of HU-T; and the count of
their list calls (HU-1)."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.hudi.errors import BadRange, HollowCommit, IncrementalError, MissingPath
from pipeline.hudi.listing import list_status as listing_of_python
from pipeline.hudi.table.storage import CountingStorage, FileInfo
from pipeline.spark.jar import guard_jar_or_none
from tests.guard.jar_listing import JarListing

Listing = Callable[..., list[FileInfo]]


@pytest.fixture(scope="module")
def jar() -> Iterator[JarListing | None]:
    path = guard_jar_or_none()
    listing = JarListing(path) if path else None
    yield listing
    if listing:
        listing.close()


@pytest.fixture(params=["python", "jar"])
def list_status(request: pytest.FixtureRequest, jar: JarListing | None) -> Listing:
    """The quick tests run without Maven too: then those of the jar skip."""
    if request.param == "python":
        return listing_of_python
    return jar or pytest.skip("no causeway-guard.jar; `make guard` builds it")


IDS = [f"f{n}" for n in range(10)]
DAY = "2016/05/01"


def incremental(table, start="100", most=None, **more):
    prefix = f"hoodie.{table}.consume"
    conf = {f"{prefix}.mode": "incremental", f"{prefix}.start.timestamp": start, **more}
    return conf | ({f"{prefix}.max.commits": str(most)} if most is not None else {})


def by_commit(files):
    return Counter(f.name.rpartition("_")[2].partition(".")[0] for f in files)


@pytest.fixture
def updates(fake_table):
    """HU-T: 10 files @100, then 5, 4, 3, 2 and 1 of them rewritten @200 .. @600."""
    table = fake_table("raw_trips")
    for instant, count in {"100": 10, "200": 5, "300": 4, "400": 3, "500": 2, "600": 1}.items():
        table.commit(instant, [(DAY, i) for i in IDS[:count]])
    return table


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (None, {"200": 5}),
        (1, {"200": 5}),
        (3, {"400": 3, "300": 1, "200": 1}),
        (-1, {"600": 1, "500": 1, "400": 1, "300": 1, "200": 1}),
    ],
)
def test_golden_latest_files_within_the_commits(list_status, updates, most, expected):
    files = list_status([updates.partition(DAY)], incremental("raw_trips", most=most))
    assert by_commit(files) == expected


def test_golden_start_is_exclusive(list_status, fake_table):
    table = fake_table("raw_trips")
    table.commit("100", [(DAY, i) for i in IDS])
    paths = [table.partition(DAY)]
    assert list_status(paths, incremental("raw_trips", "100")) == []
    assert len(list_status(paths, incremental("raw_trips", "000"))) == 10


def test_golden_pending_compaction_holds_later_commits_back(list_status, fake_table):
    table = fake_table("raw_trips", kind="MERGE_ON_READ")
    table.commit("100", [(DAY, i) for i in IDS], action="deltacommit")
    table.commit("300", action="compaction", state="requested")
    table.commit("400", [(DAY, f"new{i}") for i in IDS], action="deltacommit")
    paths, conf = [table.partition(DAY)], incremental("raw_trips", "0", most=-1)
    assert by_commit(list_status(paths, conf)) == {"100": 10}
    free = conf | {"hoodie.raw_trips.ro.stop.at.compaction": "false"}
    assert len(list_status(paths, free)) == 20
    (table.timeline / "300.compaction.requested").unlink()
    assert len(list_status(paths, conf)) == 20


def test_golden_only_partitions_of_the_callers_paths(list_status, fake_table):
    table = fake_table("raw_trips")
    table.commit("100", [("2017/05/01", i) for i in IDS])
    asked = [table.partition(DAY)]
    assert list_status(asked, incremental("raw_trips", "0")) == []


def test_golden_paths_with_a_common_prefix_differ(list_status, fake_table):
    table = fake_table("raw_trips")
    table.commit("100", [("2016/05/1", "a"), ("2016/05/11", "b")])
    files = list_status([table.partition("2016/05/1")], incremental("raw_trips", "0"))
    assert [f.name[0] for f in files] == ["a"]


def test_tables_with_a_common_prefix_differ(list_status, fake_table):
    trips, second = fake_table("trips"), fake_table("trips_v2")
    for table in (trips, second):
        table.commit("100", [(DAY, "a")])
        table.commit("200", [(DAY, "a")])
    paths = [second.partition(DAY), trips.partition(DAY)]
    files = list_status(paths, incremental("trips", "100"))
    assert sorted((Path(f.path).parts[-5], f.name[-11:-8]) for f in files) == [
        ("trips", "200"),
        ("trips_v2", "200"),
    ]
    files = list_status(paths, incremental("trips", "200"))
    assert [Path(f.path).parts[-5] for f in files] == ["trips_v2"]


@pytest.mark.parametrize("version", [6, 9])
def test_one_list_call_for_each_touched_partition(fake_table, jar, version):
    table = fake_table("trips", version=version)
    table.commit("100", [(f"p{n}", f"f{n}") for n in range(1000)])
    table.commit("200", [(f"p{n}", f"f{n}") for n in (3, 500, 999)])
    paths = [f"{table.path}/p{n}" for n in range(1000)]
    storage = CountingStorage()
    conf, touched = incremental("trips", "100"), [f"{table.path}/p{n}" for n in (3, 500, 999)]
    files = listing_of_python(paths, conf, storage)
    assert len(files) == 3
    of_partitions = [path for path in storage.listed if ".hoodie" not in path]
    assert of_partitions == touched
    assert storage.lists == 4  # and once the timeline
    if jar is None:
        pytest.skip("no causeway-guard.jar; `make guard` builds it")
    assert [f.path for f in jar(paths, conf)] == [f.path for f in files]
    assert jar.listed == [str(table.timeline), *touched]
    assert len(jar.opened) == 2  # the properties and the commit


def test_running_and_rolled_back_commits_are_not_seen(list_status, fake_table):
    table = fake_table("trips")
    table.commit("100", [(DAY, "a")])
    table.commit("200", [(DAY, "a")], state="inflight")
    assert by_commit(list_status([table.path], {})) == {"100": 1}
    conf = incremental("trips", "000", most=-1)
    assert by_commit(list_status([table.partition(DAY)], conf)) == {"100": 1}
    pending = {"hoodie.trips.consume.pending.commits": "true"}
    assert by_commit(list_status([table.path], pending)) == {"200": 1}


def test_a_hollow_commit_fails_or_blocks_by_setting(list_status, fake_table):
    table = fake_table("trips")
    table.commit("100", [(DAY, "a")])
    table.commit("200", [(DAY, "b")], state="inflight")
    table.commit("300", [(DAY, "c")])
    paths, conf = [table.partition(DAY)], incremental("trips", "0", most=-1)
    with pytest.raises(HollowCommit, match="CW804"):
        list_status(paths, conf)
    policy = "hoodie.read.timeline.holes.resolution.policy"
    assert by_commit(list_status(paths, conf | {policy: "BLOCK"})) == {"100": 1}
    assert by_commit(list_status(paths, conf | {policy: "USE_TRANSITION_TIME"})) == {
        "100": 1,
        "300": 1,
    }


def test_replaced_groups_are_left_out_from_their_replacement_on(list_status, fake_table):
    table = fake_table("trips", version=9)
    table.commit("100", [(DAY, "a"), (DAY, "b")])
    table.commit(
        "200", [(DAY, "c")], action="replacecommit", replaces={DAY: ["a", "b"]},
        operation="INSERT_OVERWRITE",
    )  # fmt: skip
    assert [f.name[0] for f in list_status([table.path], {})] == ["c"]
    before = list_status([table.path], {"hoodie.trips.consume.commit": "100"})
    assert sorted(f.name[0] for f in before) == ["a", "b"]
    paths = [table.partition(DAY)]
    assert len(list_status(paths, incremental("trips", "0", most=1))) == 2
    every = list_status(paths, incremental("trips", "0", most=-1))
    assert [f.name[0] for f in every] == ["c"]


def test_a_past_state_that_was_cleaned_is_refused(list_status, fake_table):
    table = fake_table("trips")
    table.commit("100", [(DAY, "a")])
    table.commit("200", [(DAY, "a")])
    (table.timeline / "300.clean").write_text('{"earliestCommitToRetain": "200"}')
    with pytest.raises(BadRange, match="cleaned"):
        list_status([table.path], {"hoodie.trips.consume.commit": "100"})
    kept = list_status([table.path], {"hoodie.trips.consume.commit": "200"})
    assert by_commit(kept) == {"200": 1}


def test_names_with_a_database(list_status, fake_table):
    table = fake_table("trips")
    table.commit("100", [(DAY, "a")])
    table.commit("200", [(DAY, "b")])
    paths = [table.partition(DAY)]
    conf = incremental("db.trips", "100", **{"hoodie.incremental.use.database": "true"})
    assert by_commit(list_status(paths, conf)) == {"200": 1}
    other_name = incremental("db.trips", "100")
    if list_status is listing_of_python:
        assert len(list_status(paths, other_name)) == 2
    else:
        with pytest.raises(BadRange, match=r"hoodie\.trips\.consume\.mode"):
            list_status(paths, other_name)
        exact = other_name | {"hoodie.trips.consume.mode": "SNAPSHOT"}
        assert len(list_status(paths, exact)) == 2


def test_a_start_has_to_be_given(list_status, fake_table):
    table = fake_table("trips")
    table.commit("100", [(DAY, "a")])
    with pytest.raises(BadRange, match="start"):
        list_status([table.path], {"hoodie.trips.consume.mode": "INCREMENTAL"})
    with pytest.raises(BadRange, match="number"):
        list_status([table.path], incremental("trips", "0", most="many"))


def test_other_paths_are_listed_as_they_are(list_status, tmp_path):
    folder = tmp_path / "plain"
    (folder / "below").mkdir(parents=True)
    for name in ("a.txt", "_SUCCESS", ".hidden", "below/b.txt"):
        (folder / name).write_text("x")
    names = lambda files: sorted(f.name for f in files)  # noqa: E731
    assert names(list_status([str(folder)], {})) == ["a.txt", "below"]
    deep = {"mapreduce.input.fileinputformat.input.dir.recursive": "true"}
    assert names(list_status([str(folder)], deep)) == ["a.txt", "b.txt"]
    assert names(list_status([f"{tmp_path}/pl*/a.*"], {})) == ["a.txt"]
    assert names(list_status([f"{folder}/a.txt"], {})) == ["a.txt"]
    for missing in (f"{tmp_path}/none", f"{tmp_path}/none*"):
        with pytest.raises(MissingPath):
            list_status([missing], {})


def test_a_partition_that_does_not_exist_has_no_files(list_status, fake_table):
    """As in Hudi, also when the metadata of a commit still names it."""
    table = fake_table("raw_trips")
    table.commit("200", [("gone", "f0"), (DAY, "f1")])
    shutil.rmtree(table.base / "gone")
    paths = [f"{table.path}/gone", f"{table.path}/never", table.partition(DAY)]
    for conf in ({}, incremental("raw_trips")):
        assert by_commit(list_status(paths, conf)) == {"200": 1}


def test_a_table_with_the_backup_of_its_properties_alone_is_a_table(list_status, fake_table):
    """Hudi writes the backup, then the properties; between the two there is only the backup."""
    table = fake_table("raw_trips")
    table.commit("100", [(DAY, "f0")])
    table.commit("200", [(DAY, "f0")])
    properties = table.base / ".hoodie" / "hoodie.properties"
    properties.rename(properties.with_name("hoodie.properties.backup"))
    assert by_commit(list_status([table.partition(DAY)], {})) == {"200": 1}


def test_the_backup_is_read_while_the_properties_are_being_written(list_status, fake_table):
    """Without its properties the table would have no commit, and all versions would be listed."""
    table = fake_table("raw_trips", version=8)
    table.commit("100", [(DAY, "f0")])
    table.commit("200", [(DAY, "f0")])
    properties = table.base / ".hoodie" / "hoodie.properties"
    properties.rename(properties.with_name("hoodie.properties.backup"))
    properties.touch()
    assert by_commit(list_status([table.partition(DAY)], {})) == {"200": 1}


def test_properties_that_stay_incomplete_are_refused(list_status, fake_table):
    table = fake_table("raw_trips")
    table.commit("100", [(DAY, "f0")])
    (table.base / ".hoodie" / "hoodie.properties").write_text("")
    with pytest.raises(IncrementalError, match="is incomplete"):
        list_status([table.partition(DAY)], {})
