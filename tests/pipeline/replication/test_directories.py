"""Feeds of directories work as before, with no registry at all (FA-G2)."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.copy.files import FileListing
from pipeline.falcon import document, rules
from pipeline.processes.commands import Programs
from pipeline.scheduler.actions import tables
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instance import Action
from pipeline.scheduler.server import Limits, SchedulerServer
from pipeline.scheduler.states import State
from pipeline.scheduler.store.store import Store
from tests.pipeline.copy.fakes import Effects, FakeFiles
from tests.pipeline.falcon.documents import CLUSTER, FEED
from tests.pipeline.scheduler.worlds import FEED_KEY, START, any_engine, schedule, submit

HOUR = timedelta(hours=1)
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


class Site:
    def __init__(self, path: Path) -> None:
        self.files = FakeFiles(Effects())
        self.actions = ClusterActions(lambda: self.files, Programs("spark-submit"))
        self.store = Store(str(path / "l.db"))
        for name in ("c1", "c2"):
            text = CLUSTER.replace("{name}", name).replace("file:///", f"hdfs://{name}:8020")
            bare = text.replace(
                '<interface type="registry" endpoint="thrift://localhost:9083" version="1"/>', ""
            )
            submit(self.store, bare)
        submit(self.store, PATHS)
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
        with SchedulerServer(self.store, self.actions, clock, "one", Limits()) as service:
            service.until_idle(60)

    def states(self) -> list[State]:
        found = self.store.instances(FEED_KEY)
        return [e.state for e in found if e.key.schedule.action is Action.REPLICATE]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_directory_is_copied_once_its_flag_is_there(site: Site) -> None:
    site.add(0, a="zero", _SUCCESS="")
    site.add(1, a="one")
    site.run(1)
    assert site.states() == [State.SUCCEEDED, State.WAITING]
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
    assert site.states() == [State.READY]
    assert site.target(0) == {}
    sent = list(site.files.sent)
    site.files.broken = set()
    clock = SetClock(START + timedelta(minutes=10))
    with SchedulerServer(site.store, site.actions, clock, "one", Limits()) as service:
        service.until_idle(60)
    assert site.states() == [State.SUCCEEDED]
    again = [path for path in site.files.sent[len(sent) :] if path in sent]
    assert again == [], "what was carried by the first attempt is not sent again"


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
    assert site.states() == [State.FAILED]
    assert site.files.read(site.source(0)) == {"a": b"zero", "_SUCCESS": b""}


def test_paths_that_are_not_run_are_named_when_scheduling() -> None:
    parted = PATHS.replace('type="target"', 'type="target" partition="*/US"')
    (problem,) = rules.unsupported(document.read(parted.encode()), any_engine)
    assert "partition expressions" in problem.reason


def test_local_directories_need_no_spark(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "y").write_text("22")
    found = tables.local_listing((tmp_path / "d").as_uri())
    assert isinstance(found, FileListing)
    assert [(each.path, each.length) for each in found.files] == [("e/y", 2)]
