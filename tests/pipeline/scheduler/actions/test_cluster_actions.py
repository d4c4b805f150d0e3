"""Real replication and retention under the lifecycle, over metastores and files in memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from conf.names import ClusterName, TableRef, parse_partition_name
from conf.placement import read_partition_placement, read_placement
from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.changes.notifying_client import EVERYTHING, Notify
from metastore.client.types import Partition, Table
from metastore.errors import MetastoreDown
from metastore.placement.placement_store import PlacementStore
from pipeline.copy.copy_job import CopyLimits
from pipeline.copy.files import CopyOptions, FileListing
from pipeline.copy.link_files import Links
from pipeline.copy.runs.staging import is_run
from pipeline.errors import ActionFailed, SparkFailed
from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.entity_set import EntitySet
from pipeline.processes.commands import Programs
from pipeline.scheduler.actions import cluster_actions, tables
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.actions.work import Task
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.entity_service import read_catalog, schedules_of
from pipeline.scheduler.instances.instance import Action, Instance
from pipeline.scheduler.instances.states import State
from pipeline.scheduler.server import Limits, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.copy.fakes import Effects, FakeFiles, FakeMetastore
from tests.pipeline.falcon.documents import CLUSTER, FEED, PROCESS
from tests.pipeline.scheduler.worlds import FEED_KEY, START, schedule, submit

SOURCE, TARGET = TableRef("src", "clicks"), TableRef("tgt", "clicks")
DAILY = "ds=${YEAR}-${MONTH}-${DAY}-${HOUR};region=us"
HOUR = timedelta(hours=1)
NOON = START + 30 * HOUR


class Site:
    """Two clusters, by their registries, over one file system; a store with the feed."""

    def __init__(
        self,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
        shared: bool = False,
        keys: Sequence[tuple[str, str]] = (("ds", "string"), ("region", "string")),
        uri: str = DAILY,
        options: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.effects = Effects()
        self.files = FakeFiles(self.effects)
        c1, c2 = FakeMetastore(self.effects), FakeMetastore(self.effects)
        self.by_registry = {"thrift://c1:1": c1, "thrift://c2:1": c1 if shared else c2}
        self.source, self.target = c1, c1 if shared else c2
        self.owner = "ann"
        table = Table.make(
            SOURCE, (("a", "int"),), location="file:///src", partition_keys=keys, owner="ann"
        )
        c1.add_table(table)
        self.files.made.add("file:///src")
        monkeypatch.setattr(tables, "metastore", self.metastore)
        monkeypatch.setattr(cluster_actions.tables, "metastore", self.metastore)
        monkeypatch.setattr(cluster_actions, "is_local", lambda uri: False)
        self.actions = ClusterActions(
            lambda: self.files, Programs("spark-submit"), limits=CopyLimits(wait=1, poll=0.01)
        )
        self.store = Store(str(path / "l.db"))
        for name in ("c1", "c2"):
            text = CLUSTER.replace("{name}", name).replace("localhost:9083", f"{name}:1")
            if shared:
                text = text.replace("c2:1", "c1:1")
            submit(
                self.store,
                text.replace('write" endpoint="file:///', f'write" endpoint="file:///{name}'),
            )
        feed = FEED.replace("catalog:tgt:clicks", "catalog:src:clicks") if shared else FEED
        properties = "".join(f'<property name="{n}" value="{v}"/>' for n, v in options)
        feed = feed.replace("<properties>", f"<properties>{properties}")
        submit(self.store, feed.replace(DAILY, uri))

    @contextmanager
    def metastore(
        self,
        cluster: Cluster,
        user: str,
        timeout: float = 1,
        notify: Notify | None = None,
        *_: object,
    ) -> Iterator[FakeMetastore]:
        assert user == self.owner
        assert notify in (None, self.actions.notify)  # none where nothing is changed
        yield self.by_registry[cluster.endpoint("registry") or ""]

    def add(self, hours: int, region: str = "us", **content: str) -> None:
        ds = f"{START + hours * HOUR:%Y-%m-%d-%H}"
        self.add_partition(f"ds={ds}/region={region}", **content)

    def add_partition(self, name: str, **content: str) -> None:
        location = f"file:///src/{name}"
        values = [value for _, value in parse_partition_name(name)]
        made = Partition.make(self.source.tables[SOURCE], values, location, {})
        self.source.parts[SOURCE][name] = made
        self.files.made.add(location)
        for file, body in content.items():
            self.files.write(f"{location}/{file}", body.encode())

    def run(self, hours: int) -> None:
        clock = SetClock(START + hours * HOUR)
        with SchedulerServer(self.store, self.actions, clock, "one", Limits()) as service:
            service.until_idle(60)

    def states(self, action: Action = Action.REPLICATE) -> list[State]:
        found = self.store.instances(FEED_KEY)
        return [each.state for each in found if each.key.schedule.action is action]

    def replicas(self) -> dict[str, dict[str, bytes]]:
        parts = self.target.parts.get(TARGET, {})
        return {name: self.files.read(part.location) for name, part in parts.items()}


@pytest.mark.parametrize("fails", [False, True])
def test_after_a_program_the_views_hear_that_anything_may_have_changed(
    monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    notified: list[TableRef] = []

    def run(*_: object) -> str:
        assert notified == []
        if fails:
            raise ActionFailed("status 1")
        return "done"

    monkeypatch.setattr(cluster_actions, "process_run", lambda task: task)
    monkeypatch.setattr(cluster_actions, "run_process", run)
    monkeypatch.setattr(cluster_actions, "output_paths", lambda task: ())
    actions = ClusterActions(lambda: FakeFiles(Effects()), Programs(""), notify=notified.append)
    with suppress(ActionFailed):
        actions.process(cast(Any, None), cast(Any, None))
    assert notified == [EVERYTHING]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path, monkeypatch)
    schedule(made.store, FEED_KEY)
    return made


def test_each_hour_is_copied_when_it_exists(site: Site) -> None:
    site.add(0, a="zero")
    site.add(0, region="in", a="of another feed")
    site.add(2, a="two")
    site.run(2)
    assert site.states() == [State.SUCCEEDED, State.WAITING, State.SUCCEEDED]
    assert site.replicas() == {
        "ds=2013-09-24-06/region=us": {"a": b"zero"},
        "ds=2013-09-24-08/region=us": {"a": b"two"},
    }
    site.add(1, a="one")
    site.run(2)
    assert site.states() == [State.SUCCEEDED] * 3
    assert len(site.replicas()) == 3


def test_late_data_is_copied_again(site: Site) -> None:
    site.add(0, a="zero")
    site.run(0)
    site.files.write("file:///src/ds=2013-09-24-06/region=us/b", b"late")
    site.run(1)
    assert site.replicas()["ds=2013-09-24-06/region=us"] == {"a": b"zero", "b": b"late"}
    first = site.store.instances(FEED_KEY, START, START + HOUR)
    (replication,) = [each for each in first if each.key.schedule.source]
    assert (replication.state, replication.run, replication.late) == (State.SUCCEEDED, 1, "clicks")


@pytest.mark.slow
def test_what_is_old_goes_at_the_source_and_stays_at_the_target(site: Site) -> None:
    """FA-V4: days(2) at c1, days(30) at c2; FA-V5: region=in is not the feed's."""
    for hours in (0, 1, 49):
        site.add(hours, a=str(hours))
    site.add(0, region="in", a="stays")
    site.run(1)
    site.run(49)
    site.run(72)
    left = set(site.source.parts[SOURCE])
    assert left == {"ds=2013-09-24-06/region=in", "ds=2013-09-26-07/region=us"}
    assert not site.files.exists("file:///src/ds=2013-09-24-06/region=us")
    assert site.files.exists("file:///src/ds=2013-09-24-06/region=in")
    assert len(site.replicas()) == 3


def test_a_free_key_selects_all_partitions_of_the_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch, uri=DAILY.replace("=us", "=${region}"))
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    site.add(0, region="in", a="other")
    site.add(1, a="one")
    site.run(1)
    both = {
        "ds=2013-09-24-06/region=us": {"a": b"zero"},
        "ds=2013-09-24-06/region=in": {"a": b"other"},
    }
    assert site.states() == [State.SUCCEEDED] * 2
    assert site.replicas() == both | {"ds=2013-09-24-07/region=us": {"a": b"one"}}
    site.add(0, region="uk", a="late")
    site.run(2)
    assert site.replicas()["ds=2013-09-24-06/region=uk"] == {"a": b"late"}
    site.run(100)
    assert site.source.parts[SOURCE] == {}
    assert len(site.replicas()) == 4


@pytest.mark.slow
def test_what_is_not_copied_yet_is_not_evicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    monkeypatch.setattr(tables, "look", lambda needs, *_: dict.fromkeys(needs))
    site.run(72)
    assert "ds=2013-09-24-06/region=us" in site.source.parts[SOURCE]
    logged = [each for each in site.store.log(FEED_KEY) if each.what == "log"]
    (log,) = [each for each in logged if "1 still needed" in each.message]
    assert log.instance.schedule.cluster == "c1"


def test_the_log_of_an_eviction_names_every_partition_in_few_entries(site: Site) -> None:
    for hours in range(45):
        site.add(hours, a=str(hours))
    site.run(44)
    names = sorted(site.source.parts[SOURCE])
    site.run(100)
    assert site.source.parts[SOURCE] == {}
    messages = [each.message for each in site.store.log(FEED_KEY)]
    entries = [each for each in messages if each.startswith("event=evict")]
    assert len(entries) == 3
    lines = "\n".join(entries).splitlines()
    assert [line.split("object=")[1].split(" ")[0] for line in lines] == names


def test_one_metastore_means_secondary_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch, shared=True)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    site.run(0)
    assert State.SUCCEEDED in site.states()
    ((name, part),) = site.source.parts[SOURCE].items()
    whole = read_placement(site.source.tables[SOURCE].parameters, ClusterName("c1"))
    placement = read_partition_placement(part.parameters, whole, name)
    copy = placement.copy_in(ClusterName("c2"))
    assert copy is not None
    assert placement.is_fresh(copy)
    assert copy.location.startswith("file:///c2/")
    assert site.files.read(copy.location) == {"a": b"zero"}
    site.run(3)  # a copy of its own making is not late data
    assert {e.run for e in site.store.instances(FEED_KEY) if e.key.schedule.source} == {0}


@pytest.mark.parametrize("shared", [False, True])
def test_copies_keep_to_the_bandwidth_of_their_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    site = Site(tmp_path, monkeypatch, shared)
    site.actions.links = Links({("c1", "c2"): 5_000, ("c2", "c1"): 7})
    bandwidths: list[int] = []
    copy_files = site.files.copy_files

    def noting(copies: Any, options: CopyOptions, progress: Any) -> Any:
        bandwidths.append(options.bandwidth)
        return copy_files(copies, options, progress)

    monkeypatch.setattr(site.files, "copy_files", noting)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    site.run(0)
    assert State.SUCCEEDED in site.states()
    assert bandwidths == [5_000]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    "name", ["year=2013/month=9/day=24/hour=6", "year=2013/month=09/day=24/hour=06"]
)
@pytest.mark.parametrize("kind", ["int", "string"])
def test_dates_in_keys_that_are_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool, kind: str, name: str
) -> None:
    """Spark names the partition of September `month=9` where the key is a number."""
    if kind == "string":
        name = "year=2013/month=09/day=24/hour=06"
    keys = [(key, kind) for key in ("year", "month", "day", "hour")]
    uri = "year=${YEAR};month=${MONTH};day=${DAY};hour=${HOUR}"
    site = Site(tmp_path, monkeypatch, shared, keys, uri)
    schedule(site.store, FEED_KEY)
    site.add_partition(name, a="zero")
    site.run(0)
    assert site.states() == [State.SUCCEEDED]
    if not shared:
        target = "year=2013/month=9/day=24/hour=6" if kind == "int" else name
        assert site.replicas() == {target: {"a": b"zero"}}
    site.run(72)
    assert not site.source.parts[SOURCE] or shared


def test_processes_that_write_one_partition_run_one_after_the_other(site: Site) -> None:
    submit(site.store, PROCESS)
    submit(site.store, PROCESS.replace('name="summary"', 'name="other"'))
    catalog = read_catalog(site.store)
    places = []
    for name in ("summary", "other"):
        key = EntityKey(Kind.PROCESS, name)
        (its,) = schedules_of(catalog, key)
        for hours in (0, 1):
            instance = Instance(its.instance(NOON + hours * HOUR), State.READY, NOON)
            task = Task(
                catalog.entities[key], its, instance, "ann", catalog.entity_set, instance.nominal
            )
            places.append(site.actions.alone_in(task))
    assert places[:2] == places[2:]
    assert not places[0] & places[1]
    assert places[0] == {"thrift://c1:1 src.clicks ds=2013-09-25-12/region=us"}


def test_a_key_that_is_a_number_cannot_have_other_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch, keys=[("ds", "int"), ("region", "string")])
    catalog = [document.read(each.document) for each in site.store.entities()]
    entity_set = EntitySet({each.name: each for each in catalog if isinstance(each, Cluster)}, {})
    problems = [str(p) for e in catalog for p in tables.against(e, entity_set, "ann")]
    assert problems == [
        "19: table: ds of src.clicks on c1 is int: it cannot have ${YEAR}-${MONTH}-${DAY}-${HOUR}"
    ]


def test_a_copy_that_fails_with_sparks_jvm_keeps_its_attempts(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add(0, a="zero")
    ends = [0]
    site.actions.spark_ends = lambda patience: ends[0]
    copy_files = site.files.copy_files

    def dying(*_: Any) -> Any:
        ends[0] += 1
        monkeypatch.setattr(site.files, "copy_files", copy_files)
        raise SparkFailed("Answer from Java side is empty")

    monkeypatch.setattr(site.files, "copy_files", dying)
    site.run(0)
    (one,) = [each for each in site.store.instances(FEED_KEY) if each.key.schedule.source]
    assert (one.state, one.attempt, one.recoveries) == (State.SUCCEEDED, 1, 1)
    assert len(site.replicas()) == 1


@pytest.mark.parametrize("shared", [False, True])
def test_a_partition_that_is_dropped_during_its_copy_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    site = Site(tmp_path, monkeypatch, shared)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    copy_files = site.files.copy_files

    def dropping(*args: Any) -> Any:
        done = copy_files(*args)
        site.source.parts[SOURCE].clear()
        return done

    monkeypatch.setattr(site.files, "copy_files", dropping)
    site.run(0)
    monkeypatch.setattr(site.files, "copy_files", copy_files)
    assert site.states() == [State.WAITING]
    (one,) = [each for each in site.store.instances(FEED_KEY) if each.key.schedule.source]
    assert "was dropped during the copy" in one.detail
    site.add(0, a="again")
    site.run(0)
    assert site.states() == [State.SUCCEEDED]
    if not shared:
        assert site.replicas() == {"ds=2013-09-24-06/region=us": {"a": b"again"}}


@pytest.mark.parametrize("shared", [False, True])
def test_one_run_copies_the_partitions_that_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    """One of them fails alone; the others are published."""
    site = Site(tmp_path, monkeypatch, shared, options=(("partitionsPerRun", "50"),))
    schedule(site.store, FEED_KEY)
    for hours in range(6):
        site.add(hours, a=str(hours))
    site.files.broken.add("file:///src/ds=2013-09-24-09/region=us/a")
    site.run(5)
    copied = [e for e in site.store.instances(FEED_KEY) if e.key.schedule.source]
    states = [each.state for each in copied]
    assert states == [*[State.SUCCEEDED] * 3, State.READY, *[State.SUCCEEDED] * 2]
    assert "broken" in copied[3].detail
    root = (
        "file:///c2/causeway-copies/src.db/clicks" if shared else "file:///tgt.db/clicks/_causeway"
    )
    assert len([run for run in site.files.children(root) if is_run(run)]) == 1
    if not shared:
        assert len(site.replicas()) == 5


@pytest.mark.parametrize("shared", [False, True])
def test_retention_deletes_replaced_versions_where_no_further_copy_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    site = Site(tmp_path, monkeypatch, shared)
    site.actions.limits = replace(site.actions.limits, grace=0.0)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    site.run(0)
    name = "ds=2013-09-24-06/region=us"
    facts = PlacementStore(cast(Any, site.source), ClusterName("c1"))
    facts.open_write(SOURCE, "w", [name], 0, "late data")
    site.files.write(f"file:///src/{name}/b", b"late")
    facts.close_write(SOURCE, "w", [name])
    site.run(1)

    def versions() -> int:
        return sum(
            "/c2/" in path or "/tgt" in path for path in site.files.content if path[-2:] == "/a"
        )

    assert versions() == 2
    site.run(30)  # of an eviction a day
    assert versions() == 1


def test_a_copy_does_not_look_at_those_before_it(site: Site) -> None:
    """The number of notes that it reads stays, however many partitions were copied."""
    read: list[str] = []
    reads, lists = site.files.read_markers, site.files.children

    def read_markers(locations: Sequence[str]) -> list[str | None]:
        read.extend(locations)
        return reads(locations)

    def children(location: str) -> tuple[str, ...]:
        found = lists(location)
        read.extend(found)
        return found

    counts = []
    for hours in range(8):
        site.add(hours, a=str(hours))
        site.run(hours)
        site.files.read_markers, site.files.children = read_markers, children  # type: ignore[method-assign]
        counts.append(len(read))
        read.clear()
    assert len(site.replicas()) == 8
    assert len(set(counts[2:])) == 1


def test_a_failed_registration_fails_the_instance_and_leaves_nothing(site: Site) -> None:
    """FA-R6."""
    site.add(0, a="zero")
    site.target.refusals = 10**6
    for minutes in (0, 10, 30, 70):
        clock = SetClock(START + timedelta(minutes=minutes))
        with SchedulerServer(site.store, site.actions, clock, "one", Limits()) as service:
            service.until_idle(60)
    first = site.store.instances(FEED_KEY, START, START + HOUR)
    (replication,) = [each for each in first if each.key.schedule.source]
    assert (replication.state, replication.attempt) == (State.FAILED, 4)
    assert site.replicas() == {}
    assert not [path for path in site.files.content if path.endswith("/a") and "tgt" in path]


@pytest.mark.parametrize("exists", [False, True])
def test_what_a_copy_left_while_the_metastore_was_down_is_deleted_later(
    site: Site, exists: bool
) -> None:
    """FA-R6: nothing could be deleted at once, because the metastore says what is in use."""
    site.actions.limits = replace(site.actions.limits, grace=0.0)
    if exists:
        site.add(0, a="zero")
        site.run(0)
    first = int(exists)
    site.add(first, a="one")

    def down(*_: object, **__: object) -> Any:
        raise MetastoreDown("no answer")

    kept = {
        name: getattr(site.target, name)
        for name in ("get_table", "create_table", "add_partitions", "get_partition_names")
    }

    def break_target(_: str) -> None:
        for name in kept:
            setattr(site.target, name, down)

    def left() -> list[str]:
        return [path for path in site.files.content if "/tgt" in path and path.endswith("/a")]

    for minutes in (0, 10, 30, 70):
        site.files.during = break_target
        clock = SetClock(START + timedelta(hours=first, minutes=minutes))
        with SchedulerServer(site.store, site.actions, clock, "one", Limits()) as service:
            service.until_idle(60)
        for name, method in kept.items():
            setattr(site.target, name, method)
    site.files.during = lambda _: None
    assert site.states()[first] is State.FAILED
    assert len(left()) == first + 1
    site.run(26)  # evictions are daily
    site.run(52)
    assert len(left()) == first
    assert site.replicas() == ({"ds=2013-09-24-06/region=us": {"a": b"zero"}} if exists else {})


def test_another_users_table_is_refused(site: Site) -> None:
    """FA-S1, FA-S2."""
    catalog = {each.key: document.read(each.document) for each in site.store.entities()}
    feed = catalog[FEED_KEY]
    assert isinstance(feed, Feed)
    entity_set = EntitySet(
        {each.name: each for each in catalog.values() if isinstance(each, Cluster)}, {}
    )
    assert list(tables.against(feed, entity_set, "ann")) == []
    site.owner = "bob"
    (problem,) = tables.against(feed, entity_set, "bob")
    assert "src.clicks on c1 is owned by ann, the submitter is bob" in problem.reason
    site.owner = "ann"
    site.source.tables[SOURCE].set_text(3, "hive")
    site.add(0, a="zero")
    site.run(0)
    (one,) = [each for each in site.store.instances(FEED_KEY) if each.key.schedule.source]
    assert "CW729" in one.detail
    assert site.replicas() == {}


def test_a_feed_that_replicates_an_iceberg_table_is_refused(site: Site) -> None:
    """D16: at submit, and when an instance runs."""
    table = site.source.tables[SOURCE]
    table.parameters = {
        **table.parameters,
        "table_type": "ICEBERG",
        "metadata_location": "s3://b/t/metadata/1.json",
    }
    catalog = {each.key: document.read(each.document) for each in site.store.entities()}
    entity_set = EntitySet(
        {each.name: each for each in catalog.values() if isinstance(each, Cluster)}, {}
    )
    problems = list(tables.against(catalog[FEED_KEY], entity_set, "ann"))
    assert any("its metadata names the files of the primary" in each.reason for each in problems)
    site.add(0, a="zero")
    site.run(0)
    (one,) = [each for each in site.store.instances(FEED_KEY) if each.key.schedule.source]
    assert "src.clicks is a table of Iceberg" in one.detail
    assert site.replicas() == {}


def test_a_source_table_must_exist(site: Site) -> None:
    """FA-G3: the error names the table and the cluster."""
    catalog = [document.read(each.document) for each in site.store.entities()]
    entity_set = EntitySet({each.name: each for each in catalog if isinstance(each, Cluster)}, {})
    del site.source.tables[SOURCE]
    problems = [p for e in catalog for p in tables.against(e, entity_set, "ann")]
    assert [str(p) for p in problems] == [
        "19: table: table src.clicks does not exist on cluster c1: create it first"
    ]


def test_a_metastore_that_is_down_stops_nothing_else(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise MetastoreDown("c1:1: connection refused")

    site.add(0, a="zero")
    monkeypatch.setattr(tables, "look", down)
    site.run(0)
    assert site.states() == [State.WAITING]
    monkeypatch.undo()


def test_local_directories_are_listed(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "x").write_text("1")
    (tmp_path / "d" / "e" / "y").write_text("22")
    found = tables.local_listing((tmp_path / "d").as_uri())
    assert isinstance(found, FileListing)
    assert [(each.path, each.length) for each in found.files] == [("e/y", 2), ("x", 1)]
    assert tables.local_listing(str(tmp_path / "none")) is None


def test_each_metastore_has_its_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[MetastoreLogin] = []

    class Client(tables.NotifyingClient):
        def __init__(self, *arguments: Any) -> None:
            made.append(arguments[4])
            super().__init__(*arguments)

    monkeypatch.setattr(tables, "NotifyingClient", Client)
    login = MetastoreLogin(True, "hive/_HOST@R", "causeway@R")
    one, other = Endpoint("one", 9083), Endpoint("other", 9083)
    for endpoint in (one, other):
        monkeypatch.setattr(tables, "registry_of", lambda cluster, found=endpoint: found)
        catalogs = tables.HiveCatalogService({one: login})
        with catalogs.connect(cast(Cluster, None), "ann"):
            pass
    assert made == [login, MetastoreLogin()]
