"""Operators list instances of all entities in pages, and rerun, kill, suspend and resume them."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conf.names import ClusterName, TableRef
from pipeline.falcon.documents import document
from pipeline.retention.plan import Evict, EvictCopy, RetentionPlan
from pipeline.scheduler.actions.work import Task
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.errors import BadRequest, NotYours, UnknownEntity
from pipeline.scheduler.operations import FAMILIES, Operations, entity_key
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.scheduler.fake_actions import (
    FEED_KEY,
    FIRST,
    HOUR,
    PROCESS_KEY,
    START,
    FakeActions,
    schedule,
    store_with_entities,
)


def planned(task: Task) -> RetentionPlan:
    """A plan with two old partitions, of which one is still needed."""
    days = [FIRST - timedelta(days=days) for days in (400, 300)]
    names = [f"ds={day:%Y%m%d}" for day in days]
    return RetentionPlan(
        TableRef("db", task.entity.key.name),
        days[1],
        "ds < '20121129'",
        (Evict(names[0], days[0]),),
        (EvictCopy(names[1], ClusterName("c2"), days[1]),),
        needed=(names[1],),
        kept=7,
    )


class Site:
    def __init__(self, url: str | Path, user: str = "ann") -> None:
        self.store = store_with_entities(url)
        schedule(self.store, FEED_KEY)
        schedule(self.store, PROCESS_KEY, FIRST)
        self.actions, self.clock = FakeActions(), SetClock(FIRST)
        self.server = SchedulerServer(
            self.store, self.actions, self.clock, "one", SchedulerOptions()
        )
        self.operations = Operations(self.store, self.server, self.clock, user, planned)

    def run(self) -> None:
        self.server.until_idle(60)

    def list(self, **query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.operations.instances(
            {name: [value] for name, value in query.items()}
        )["instances"]
        return found

    def change(self, action: str, **query: str) -> dict[str, Any]:
        parameters = {name: [value] for name, value in query.items()}
        return self.operations.change_instances(PROCESS_KEY, action, parameters)


@pytest.fixture
def site(tmp_path: Path) -> Any:
    made = Site(tmp_path / "l.db")
    yield made
    made.server.close()


def test_pages_have_every_instance_once(url: str) -> None:
    site = Site(url)
    site.run()
    seen, after = [], None
    while True:
        query = {"limit": ["7"]} | ({"after": [after]} if after else {})
        page = site.operations.instances(query)
        seen += page["instances"]
        if (after := page["next"]) is None:
            break
        assert len(page["instances"]) == 7
    keys = [tuple(each[name] for name in ("instance", "kind", "name", "action")) for each in seen]
    expected = [*site.store.instances(FEED_KEY), *site.store.instances(PROCESS_KEY)]
    assert len(seen) == len(expected) > 30
    assert [key[0] for key in keys] == sorted((key[0] for key in keys), reverse=True)
    assert {each["kind"] for each in seen} == {"feed", "process"}
    site.server.close()


def test_entities_have_their_documents_when_they_are_wanted(site: Site) -> None:
    assert all("document" not in each for each in site.operations.entities({}))
    found = site.operations.entities({"documents": ["true"]})
    feed = next(each for each in found if each["kind"] == "feed")
    assert document.read(feed["document"].encode()).key == FEED_KEY


def test_the_log_of_an_instance_says_why_it_failed(site: Site) -> None:
    site.actions.fail = lambda task: "no space left" if task.entity.key == PROCESS_KEY else None
    site.run()
    found = site.operations.log(PROCESS_KEY, {"start": ["2013-09-25T00:00Z"]})
    assert {each["instance"] for each in found} == {"2013-09-25T00:00Z"}
    assert any("no space left" in each["message"] for each in found)
    assert site.operations.log(PROCESS_KEY, {"start": ["2001-01-01T00:00Z"]}) == []
    with pytest.raises(BadRequest):
        site.operations.log(PROCESS_KEY, {"start": ["yesterday"]})


def test_the_plan_of_retention(site: Site) -> None:
    found = site.operations.retention(FEED_KEY)
    assert [each["cluster"] for each in found] == ["c1", "c2"]
    plan = found[0]["plan"]
    assert (plan["drop"], plan["drop_copies"], plan["kept"], plan["needed"]) == (1, 1, 7, 1)
    assert plan["first"] == ["drop the copy of ds=20121129 in c2", "drop ds=20120821"]
    other = Operations(site.store, site.server, site.clock, "bob", planned)
    assert other.retention(FEED_KEY) == []
    with pytest.raises(UnknownEntity):
        site.operations.retention(entity_key("feed", "none"))


def test_filters(site: Site) -> None:
    site.run()
    copies = site.list(action="replicate", state="SUCCEEDED", start="2013-09-24T10:00Z")
    assert len(copies) == 15
    assert site.list(name="clicks", action="replicate", end="2013-09-24T07:00Z", cluster="c2") != []
    assert site.list(cluster="c9") == []


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "many"},
        {"state": "DONE"},
        {"start": "yesterday"},
        {"after": "nowhere"},
        {"colour": "red"},
        {"action": "dance"},
    ],
)
def test_bad_parameters_are_refused(site: Site, query: dict[str, str]) -> None:
    with pytest.raises(BadRequest):
        site.list(**query)


@pytest.mark.slow
def test_a_suspended_instance_does_nothing_until_it_is_resumed(site: Site) -> None:
    site.actions.absent = {FIRST, FIRST - HOUR}
    site.run()
    (one,) = site.change("suspend", start="2013-09-25T00:00Z")["changed"]
    assert one["state"] == "SUSPENDED"
    site.actions.absent = set()
    site.clock.move(timedelta(days=2))
    site.run()
    before = site.actions.count("process")
    assert [each["state"] for each in site.list(name="summary", end="2013-09-25T00:01Z")] == [
        "SUSPENDED"
    ]
    assert site.change("resume", start="2013-09-25T00:00Z")["refused"] == []
    site.run()
    assert site.actions.count("process") == before + 1


def test_reruns_and_kills(site: Site) -> None:
    site.run()
    refused = site.change("rerun", start="2013-09-25T00:00Z")
    assert (refused["changed"], len(refused["refused"])) == ([], 1)
    (one,) = site.change("rerun", start="2013-09-25T00:00Z", force="true")["changed"]
    assert (one["state"], one["run"]) == ("WAITING", 1)
    (killed,) = site.change("kill", start="2013-09-25T00:00Z")["changed"]
    assert killed["state"] == "KILLED"
    with pytest.raises(BadRequest, match="start"):
        site.change("kill")
    with pytest.raises(UnknownEntity):
        site.change("kill", start="2012-01-01T00:00Z")
    with pytest.raises(UnknownEntity):
        entity_key("dance", "x")


def test_only_the_submitter_changes_instances(tmp_path: Path) -> None:
    site = Site(tmp_path / "l.db", user="bob")
    with pytest.raises(NotYours):
        site.change("kill", start="2013-09-25T00:00Z")
    site.server.close()


def test_entities_are_suspended_and_resumed(site: Site) -> None:
    site.operations.change_entity(FEED_KEY, "suspend")
    states = {each["name"]: each["status"] for each in site.operations.entities({})}
    assert states["clicks"] == "SUSPENDED"
    site.operations.change_entity(FEED_KEY, "resume")
    states = {each["name"]: each["status"] for each in site.operations.entities({})}
    assert states["clicks"] == "RUNNING"


def test_metrics_and_health(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.actions.fail = lambda task: "broken" if task.instance.nominal == START else None
    site.actions.absent = {START + HOUR}
    site.run()
    text = site.operations.metrics()
    assert {name for name in FAMILIES if name.removesuffix("_total") in text} == set(FAMILIES)
    labels = 'kind="feed",name="clicks",action="replicate",cluster="c2",source="c1"'
    samples = {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in text.splitlines()}

    def sample(name: str, also: str) -> float:
        wanted = set(f"{labels},{also}".split(","))
        for key, value in samples.items():
            found, _, rest = key.partition("{")
            if found == name and set(rest.rstrip("}").split(",")) == wanted:
                return float(value)
        raise AssertionError(f"{name} {also} is not in the metrics")

    assert sample("causeway_lifecycle_lag_seconds", 'table="tgt.clicks"') == 18 * 3600
    assert sample("causeway_lifecycle_instances", 'state="SUCCEEDED"') == 17
    assert site.operations.lag()[0]["open"] == 2
    assert site.operations.health() == {"status": "ok"}
    monkeypatch.setattr(site.server, "round_age", lambda: 10_000.0)
    assert site.operations.health() == {"status": "stalled"}


def test_a_store_that_is_down_is_not_healthy(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from database.errors import StoreUnavailable

    def down(self: Store) -> frozenset[str]:
        raise StoreUnavailable("down")

    monkeypatch.setattr(Store, "running_owners", down)
    assert site.operations.health()["status"] == "store unavailable"
