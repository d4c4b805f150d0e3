"""Feeds of directories work as before, with no registry at all (FA-G2)."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from database.history.work import CopyRecord
from pipeline.copy.files import CopyOptions, FileListing
from pipeline.errors import ActionFailed
from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.process import Process
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.errors import BadDocument
from pipeline.falcon.rules import entity_rules
from pipeline.processes.commands import Programs
from pipeline.processes.parameters import parameters_of
from pipeline.replication.directories import PathCopy, replicate_path
from pipeline.scheduler.actions import tables
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.copy.fakes import Effects, FakeFiles
from tests.pipeline.falcon.documents import CLUSTER, FEED, PROCESS
from tests.pipeline.scheduler.fake_actions import FEED_KEY, HOUR, START, schedule, submit

PATHS = (
    FEED.replace(
        '<table uri="catalog:tgt:clicks#ds=${YEAR}-${MONTH}-${DAY}-${HOUR};region=us"/>',
        '<locations><location type="data" path="/copy/${YEAR}-${MONTH}-${DAY}/${HOUR}"/>'
        "</locations>",
    )
    .replace(
        '<table uri="catalog:src:clicks#ds=${YEAR}-${MONTH}-${DAY}-${HOUR};region=us"/>',
        '<locations><location type="data" path="/logs/${YEAR}-${MONTH}-${DAY}/${HOUR}/all"/>'
        "</locations>",
    )
    .replace("<frequency>", "<availabilityFlag>_SUCCESS</availabilityFlag><frequency>", 1)
)


CLUSTERS = {
    name: CLUSTER.replace("{name}", name)
    .replace("file:///", f"hdfs://{name}:8020")
    .replace('colo="west"', f'colo="{colo}"')
    .replace(
        '<interface type="registry" endpoint="thrift://localhost:9083" version="1"/>',
        '<interface type="workflow" endpoint="x" version="1"/>',
    )
    for name, colo in (("c1", "west"), ("c2", "south"), ("c3", "east"))
}
THIRD = """<cluster name="c3" type="source" partition="${cluster.colo}">
<validity start="2013-09-24T00:00Z" end="2013-10-26T00:00Z"/>
<retention limit="days(2)" action="delete"/></cluster>"""
SEVERAL = (
    PATHS.replace("<groups>", '<partitions><partition name="country"/></partitions><groups>')
    .replace("<availabilityFlag>_SUCCESS</availabilityFlag>", "")
    .replace('type="source"', 'type="source" partition="${cluster.colo}"')
    .replace("</cluster>", f"</cluster>{THIRD}", 1)
)


class Site:
    def __init__(self, path: Path, feed: str = PATHS) -> None:
        self.files = FakeFiles(Effects())
        self.records: list[CopyRecord] = []
        self.actions = ClusterActions(
            lambda: self.files, Programs("spark-submit"), record=self.records.append
        )
        self.store = Store(str(path / "l.db"))
        for text in CLUSTERS.values():
            submit(self.store, text)
        submit(self.store, feed)
        schedule(self.store, FEED_KEY)

    def add(self, hours: int, **content: str) -> None:
        for file, body in content.items():
            self.files.write(f"{self.source(hours)}/{file}", body.encode())

    def source(self, hours: int) -> str:
        return f"hdfs://c1:8020/logs/{START + hours * HOUR:%Y-%m-%d/%H}/all"

    def target(self, hours: int) -> dict[str, bytes]:
        return self.files.read(f"hdfs://c2:8020/copy/{START + hours * HOUR:%Y-%m-%d/%H}")

    def run(self, hours: int) -> None:
        clock = SetClock(START + hours * HOUR)
        with SchedulerServer(self.store, self.actions, clock, "one", SchedulerOptions()) as service:
            service.until_idle(60)

    def states(self) -> list[InstanceState]:
        found = self.store.instances(FEED_KEY)
        return [e.state for e in found if e.key.schedule.action is InstanceAction.REPLICATE]

    def details(self) -> list[str]:
        found = self.store.instances(FEED_KEY)
        return [e.detail for e in found if e.key.schedule.action is InstanceAction.REPLICATE]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_copy_of_a_directory_is_recorded(site: Site) -> None:
    site.add(0, a="zero", b="one", _SUCCESS="")
    site.run(1)
    (record,) = site.records
    source, target = site.source(0), f"hdfs://c2:8020/copy/{START:%Y-%m-%d/%H}"
    assert (record.table, record.target_table, record.location) == (source, target, target)
    assert (record.source, record.target, record.partitions) == ("c1", "c2", None)
    assert (record.files, record.bytes, record.sent) == (3, 7, 7)
    assert record.entity == "feed/clicks"
    assert record.trace == record.instance
    site.run(1)
    assert len(site.records) == 1


ON_S3 = {
    "the feed's path": (PATHS.replace("/copy/", "s3a://lake/copy/"), CLUSTERS["c2"]),
    "the cluster's": (PATHS, CLUSTERS["c2"].replace("hdfs://c2:8020", "S3A://lake")),
}


@pytest.mark.parametrize("whose", ON_S3)
def test_a_target_on_an_object_store_needs_a_flag(tmp_path: Path, whose: str) -> None:
    feed, cluster = ON_S3[whose]
    store = Store(str(tmp_path / "l.db"))
    for text in (CLUSTERS["c1"], cluster):
        submit(store, text)
    flag = "<availabilityFlag>_SUCCESS</availabilityFlag>"
    with pytest.raises(BadDocument, match="s3a does not rename a directory in one step"):
        submit(store, feed.replace(flag, ""))
    with pytest.raises(BadDocument, match="so it has one source, as a whole"):
        submit(store, PARTED.replace("/copy/", "s3a://lake/copy/"))
    table = (
        '<property name="catalog.table" value="catalog:d:t#ds=${YEAR}-${MONTH}-${DAY}-${HOUR}"/>'
    )
    with pytest.raises(BadDocument, match="queries do not wait for the flag of s3a://lake/copy"):
        submit(store, feed.replace("<properties>", f"<properties>{table}"))
    submit(store, feed)


def test_a_source_may_be_on_an_object_store(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "l.db"))
    for name in ("c1", "c2"):
        submit(store, CLUSTERS[name])
    submit(store, PATHS.replace("/logs/", "s3a://lake/logs/").replace("/copy/", "hdfs://nn/copy/"))


def test_nothing_is_sent_to_an_object_store_without_a_flag() -> None:
    files = FakeFiles(effects := Effects())
    files.write("hdfs://c1/a/file", b"content")
    before = effects.count
    copy = PathCopy("hdfs://c1/a", "s3a://lake/a", "s3a://lake/staging")
    with pytest.raises(ActionFailed, match="s3a://lake/a: s3a does not rename") as failed:
        replicate_path(files, copy, CopyOptions(), Mock())
    assert failed.value.final
    assert effects.count == before


def test_a_cluster_without_a_data_location_is_refused(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "l.db"))
    for name in ("c1", "c2"):
        submit(store, CLUSTERS[name])
    with pytest.raises(BadDocument, match="location data is missing"):
        submit(store, PATHS.replace('type="data" path="/copy/', 'type="stats" path="/copy/'))


def test_a_directory_is_copied_once_its_flag_is_there(site: Site) -> None:
    site.add(0, a="zero", _SUCCESS="")
    site.add(1, a="one")
    site.run(1)
    assert site.states() == [InstanceState.SUCCEEDED, InstanceState.WAITING]
    assert site.target(0) == {"a": b"zero", "_SUCCESS": b""}
    assert site.target(1) == {}
    site.add(1, _SUCCESS="")
    site.run(1)
    assert site.target(1) == {"a": b"one", "_SUCCESS": b""}
    assert not [path for path in site.files.content if "/causeway/" in path]


def test_late_files_replace_the_copy(site: Site) -> None:
    site.add(0, a="zero", _SUCCESS="")
    site.run(0)
    site.add(0, b="late")
    site.run(1)
    assert site.target(0) == {"a": b"zero", "b": b"late", "_SUCCESS": b""}


def test_a_source_that_changes_during_the_copy_is_copied_again(site: Site) -> None:
    site.add(0, a="zero", _SUCCESS="")

    def change(path: str) -> None:
        site.files.during = lambda _: None
        site.add(0, a="longer than before")

    site.files.during = change
    site.run(0)
    assert site.target(0)["a"] == b"longer than before"


def test_a_broken_file_fails_the_attempt_and_shows_nothing(site: Site) -> None:
    site.add(0, a="zero", b="more", _SUCCESS="")
    site.files.broken = {f"{site.source(0)}/b"}
    site.run(0)
    assert site.states() == [InstanceState.READY]
    assert site.target(0) == {}
    sent = list(site.files.sent)
    site.files.broken = set()
    clock = SetClock(START + timedelta(minutes=10))
    with SchedulerServer(site.store, site.actions, clock, "one", SchedulerOptions()) as service:
        service.until_idle(60)
    assert site.states() == [InstanceState.SUCCEEDED]
    again = [path for path in site.files.sent[len(sent) :] if path in sent]
    assert again == [], "what was carried by the first attempt is not sent again"


@pytest.mark.parametrize("left", [None, b"mor"])
def test_a_file_that_did_not_arrive_fails_the_attempt_and_shows_nothing(
    site: Site, left: bytes | None
) -> None:
    site.add(0, a="zero", b="more", _SUCCESS="")

    def harm(name: str) -> None:
        for path in [p for p in site.files.content if p.endswith("/new/b")]:
            del site.files.content[path]
            if left is not None:
                site.files.write(path, left)

    site.files.effects.before = harm
    site.run(0)
    assert site.states() == [InstanceState.READY]
    assert ("missing: b" if left is None else "differs: b") in site.details()[0]
    assert site.target(0) == {}


@pytest.mark.slow
def test_old_directories_go_by_their_names(site: Site) -> None:
    for hours in (0, 1, 49):
        site.add(hours, a=str(hours), _SUCCESS="")
    site.files.write("hdfs://c1:8020/logs/2013-09-24/06/other/x", b"not the feed's")
    site.files.write("hdfs://c1:8020/logs/not-a-date/06/all/x", b"no date")
    site.run(1)
    site.run(49)
    site.run(72)
    assert site.files.read(site.source(0)) == {}
    assert site.files.read(site.source(49)) != {}
    assert site.files.exists("hdfs://c1:8020/logs/2013-09-24/06/other/x")
    assert site.files.exists("hdfs://c1:8020/logs/not-a-date/06/all/x")
    assert site.target(0) != {}


def test_the_same_directory_at_both_ends_is_refused(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.add(0, a="zero", _SUCCESS="")
    same = PATHS.replace(
        "/copy/${YEAR}-${MONTH}-${DAY}/${HOUR}",
        "hdfs://c1:8020/logs/${YEAR}-${MONTH}-${DAY}/${HOUR}/all",
    )
    row = next(each for each in site.store.entities() if each.key == FEED_KEY)
    assert site.store.put(replace(row, document=same.encode(), version=row.version + 1))
    site.run(0)
    assert site.states() == [InstanceState.FAILED]
    assert site.files.read(site.source(0)) == {"a": b"zero", "_SUCCESS": b""}


LEVELS = '<partitions><partition name="country"/><partition name="kind"/></partitions>'
PARTED = PATHS.replace("<groups>", f"{LEVELS}<groups>").replace(
    'type="source"', 'type="source" partition="*/${cluster.colo}"'
)


def test_only_the_directories_of_the_part_are_copied(tmp_path: Path) -> None:
    site = Site(tmp_path, PARTED)
    site.add(0, **{"us/west/a": "1", "us/east/a": "2", "de/west/a": "3", "de/x": "4"}, _SUCCESS="")
    site.run(0)
    assert site.target(0) == {"us/west/a": b"1", "de/west/a": b"3", "_SUCCESS": b""}
    assert not [path for path in site.files.content if "/causeway/" in path]


def test_a_part_that_changed_is_replaced_and_one_that_is_gone_deleted(tmp_path: Path) -> None:
    site = Site(tmp_path, PARTED)
    site.add(0, **{"us/west/a": "1", "de/west/a": "3"}, _SUCCESS="")
    site.run(0)
    site.files.write("hdfs://c2:8020/copy/2013-09-24/06/de/other/b", b"of another feed")
    site.files.delete([f"{site.source(0)}/de/west"])
    site.add(0, **{"us/west/b": "5"})
    site.run(1)
    assert site.target(0) == {
        "us/west/a": b"1",
        "us/west/b": b"5",
        "de/other/b": b"of another feed",
        "_SUCCESS": b"",
    }


def test_several_sources_write_their_parts_of_one_target(tmp_path: Path) -> None:
    site = Site(tmp_path, SEVERAL)
    site.add(0, **{"west/a": "1", "east/a": "old"})
    site.files.write("hdfs://c3:8020/logs/2013-09-24/06/all/east/a", b"2")
    site.files.write("hdfs://c3:8020/logs/2013-09-24/06/all/west/a", b"old")
    site.run(0)
    assert site.states() == [InstanceState.SUCCEEDED, InstanceState.SUCCEEDED]
    assert site.target(0) == {"west/a": b"1", "east/a": b"2"}
    site.add(0, **{"west/a": "3"})
    site.run(1)
    assert site.target(0) == {"west/a": b"3", "east/a": b"2"}


def problems(feed: str, *changes: tuple[str, str]) -> list[str]:
    for old, new in changes:
        assert old in feed
        feed = feed.replace(old, new, 1)
    clusters = {name: document.read(text.encode()) for name, text in CLUSTERS.items()}
    entity_set = EntitySet({n: c for n, c in clusters.items() if isinstance(c, Cluster)})
    return [each.reason for each in entity_rules.among(document.read(feed.encode()), entity_set)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("*/${cluster.colo}", "*/*/x"), "has 3 levels, the feed has 2 partitions"),
        (("cluster.colo", "cluster.zone"), "no variable ${cluster.zone} on c1"),
        (("cluster.colo", "YEAR"), "no variable ${YEAR} on c1"),
        (("*/${cluster.colo}", "{a,b}"), "names, '*' and '?' only"),
        (("*/${cluster.colo}", "../x"), "names, '*' and '?' only"),
        (("/${HOUR}/all", "/${HOUR}/${REGION}"), "no variable ${REGION}"),
        (("/${HOUR}/all", "/${HOUR}/$DAY"), "$DAY is ${DAY}"),
    ],
)
def test_parts_that_cannot_be_named_are_refused(change: tuple[str, str], reason: str) -> None:
    assert problems(PARTED) == []
    assert any(reason in each for each in problems(PARTED, change)), problems(PARTED, change)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([(' partition="${cluster.colo}"', "")], "c1 needs a partition"),
        ([('"${cluster.colo}"', '"*/${cluster.colo}"')], "c1 and c3 may write the same"),
        ([('"${cluster.colo}"', '"*"')], "c1 and c3 may write the same"),
        ([('"${cluster.colo}"', '"east/x"')], "c1 and c3 may write the same"),
        (
            [("<frequency>", "<availabilityFlag>_SUCCESS</availabilityFlag><frequency>")],
            "c2 has several sources",
        ),
    ],
)
def test_sources_that_may_overwrite_each_other_are_refused(
    changes: list[tuple[str, str]], reason: str
) -> None:
    assert problems(SEVERAL) == []
    assert any(reason in each for each in problems(SEVERAL, *changes))


def test_a_table_has_no_parts() -> None:
    reasons = problems(FEED.replace('type="target"', 'type="target" partition="us"'))
    assert any("its URI names the partitions" in each for each in reasons)


def test_an_input_has_the_part_that_it_names() -> None:
    process = document.read(
        PROCESS.replace('end="now(0,0)"', 'end="now(0,0)" partition="*/${cluster.colo}"').encode()
    )
    feed = document.read(PARTED.encode())
    cluster = document.read(CLUSTERS["c1"].encode())
    assert isinstance(process, Process)
    assert isinstance(feed, Feed)
    assert isinstance(cluster, Cluster)
    entity_set = EntitySet({"c1": cluster}, {"clicks": feed})
    assert entity_rules.among(process, entity_set) == ()
    values = parameters_of(process, "c1", entity_set, START, "ann")
    assert values["in"] == ",".join(
        f"hdfs://c1:8020/logs/2013-09-24/{hour}/all/*/west" for hour in ("05", "06")
    )
    bare = replace(feed, partitions=None)
    [problem] = entity_rules.among(process, EntitySet({"c1": cluster}, {"clicks": bare}))
    assert "has 2 levels, feed clicks has 0" in problem.reason


def test_local_directories_need_no_spark(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "y").write_text("22")
    found = tables.local_listing((tmp_path / "d").as_uri())
    assert isinstance(found, FileListing)
    assert [(each.path, each.length) for each in found.files] == [("e/y", 2)]
