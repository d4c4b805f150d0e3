"""Requests of users about entities, and their refusals."""

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.falcon.documents import document
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.errors import BadDocument, DocumentProblem
from pipeline.scheduler import entity_service
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.errors import CannotSchedule, InUse, NotYours, UnknownEntity, WrongState
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.falcon.documents import CLUSTER, FEED, PROCESS
from tests.pipeline.scheduler.fake_actions import (
    FEED_KEY,
    PROCESS_KEY,
    START,
    FakeActions,
    any_engine,
    no_problems,
    schedule,
    store_with_entities,
    submit,
)
from tests.pipeline.scheduler.instances.schedules import instance

C1 = EntityKey(Kind.CLUSTER, "c1")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_with_entities(tmp_path / "l.db")


def test_submitting_again_changes_nothing(store: Store) -> None:
    before = store.entities()
    assert "already" in submit(store, FEED)
    assert store.entities() == before
    with pytest.raises(WrongState, match="update it"):
        submit(store, FEED.replace("days(30)", "days(31)"))


def test_a_document_needs_what_it_refers_to(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "l.db"))
    with pytest.raises(BadDocument) as caught:
        submit(store, FEED)
    assert [each.reason for each in caught.value.problems] == [
        "no cluster c1 is known",
        "no cluster c2 is known",
    ]


def test_problems_in_the_metastores_refuse_a_document(tmp_path: Path) -> None:
    store = store_with_entities(tmp_path / "l.db")
    missing = DocumentProblem(19, "table", "table src.clicks is not on cluster c1")
    with pytest.raises(CannotSchedule, match=r"19: table: table src\.clicks is not on cluster c1"):
        entity_service.schedule(store, FEED_KEY, "ann", START, any_engine, lambda *_: [missing])


def test_other_users_are_refused(store: Store) -> None:
    schedule(store, FEED_KEY)
    for refused in (
        lambda: entity_service.delete(store, PROCESS_KEY, "bob"),
        lambda: entity_service.suspend(store, FEED_KEY, "bob"),
        lambda: entity_service.update(store, FEED_KEY, FEED.encode(), "bob", START, no_problems),
        lambda: schedule(store, PROCESS_KEY, user="bob"),
        lambda: submit(store, FEED, "bob"),
    ):
        with pytest.raises(NotYours, match="belongs to ann, not to bob"):
            refused()


def test_deletion_goes_from_process_to_feed_to_cluster(store: Store) -> None:
    with pytest.raises(InUse, match="process summary"):
        entity_service.delete(store, FEED_KEY, "ann")
    with pytest.raises(InUse, match="feed clicks, process summary"):
        entity_service.delete(store, C1, "ann")
    entity_service.delete(store, PROCESS_KEY, "ann")
    entity_service.delete(store, FEED_KEY, "ann")
    entity_service.delete(store, C1, "ann")
    with pytest.raises(UnknownEntity):
        entity_service.delete(store, C1, "ann")


def test_an_update_must_agree_with_dependents(store: Store) -> None:
    shorter = FEED.replace('end="2013-10-26T00:00Z"', 'end="2013-09-24T09:00Z"')
    with pytest.raises(BadDocument, match=r"process summary:10: input: .* outside the validity"):
        entity_service.update(store, FEED_KEY, shorter.encode(), "ann", START, no_problems)
    longer = FEED.replace('limit="days(30)"', 'limit="days(60)"')
    assert entity_service.update(store, FEED_KEY, longer.encode(), "ann", START, no_problems)
    stored = store.entity(FEED_KEY)
    assert stored is not None
    assert b"days(60)" in stored.document
    with pytest.raises(WrongState, match="is process summary, not feed clicks"):
        entity_service.update(store, FEED_KEY, PROCESS.encode(), "ann", START, no_problems)


def test_an_update_begins_no_earlier_than_the_instances(store: Store) -> None:
    later = FEED.replace("2013-09-24T06:00Z", "2013-09-24T08:00Z")
    entity_service.update(store, FEED_KEY, later.encode(), "ann", START, no_problems)
    entity_service.update(store, FEED_KEY, FEED.encode(), "ann", START, no_problems)
    entity_service.update(store, FEED_KEY, later.encode(), "ann", START, no_problems)
    schedule(store, FEED_KEY)
    clock = SetClock(START + timedelta(hours=3))
    with SchedulerServer(store, FakeActions(), clock, "one", SchedulerOptions()) as service:
        service.until_idle(30)
    with pytest.raises(WrongState, match="cannot begin at 2013-09-24T06:00Z"):
        entity_service.update(store, FEED_KEY, FEED.encode(), "ann", START, no_problems)
    entity_service.update(store, FEED_KEY, later.encode(), "ann", START, no_problems)


def test_an_update_kills_instances_of_schedules_that_it_no_longer_has(store: Store) -> None:
    entity_service.delete(store, PROCESS_KEY, "ann")
    schedule(store, FEED_KEY)
    clock = SetClock(START + timedelta(hours=1))
    actions = FakeActions()
    actions.absent = {START, clock.time}
    with SchedulerServer(store, actions, clock, "one", SchedulerOptions()) as service:
        service.until_idle(30)
    at = FEED.index('    <cluster name="c2"')
    end = FEED.index("</cluster>", at) + len("</cluster>\n")
    lone = FEED[:at] + FEED[end:]
    entity_service.update(store, FEED_KEY, lone.encode(), "ann", clock.time, no_problems)
    states = {(e.key.schedule.action, e.state) for e in store.instances(FEED_KEY)}
    assert (InstanceAction.REPLICATE, InstanceState.KILLED) in states
    assert (InstanceAction.REPLICATE, InstanceState.WAITING) not in states
    assert (InstanceAction.WATCH, InstanceState.WAITING) in states


def test_the_life_of_an_entity(store: Store) -> None:
    with pytest.raises(WrongState):
        entity_service.suspend(store, FEED_KEY, "ann")
    assert "762 instances" in schedule(store, FEED_KEY)
    with pytest.raises(WrongState, match="RUNNING already"):
        schedule(store, FEED_KEY)
    entity_service.suspend(store, FEED_KEY, "ann")
    entity_service.resume(store, FEED_KEY, "ann")
    with pytest.raises(WrongState):
        entity_service.resume(store, FEED_KEY, "ann")
    with pytest.raises(WrongState, match="a cluster is not scheduled"):
        schedule(store, C1)


def test_an_engine_that_cannot_run(store: Store) -> None:
    def engines(_: object) -> str:
        return "engine pig: no pig command is configured"

    with pytest.raises(CannotSchedule, match="13: workflow: engine pig"):
        entity_service.schedule(store, PROCESS_KEY, "ann", START, engines, no_problems)
    stored = store.entity(PROCESS_KEY)
    assert stored is not None
    assert stored.status == "SUBMITTED"


def test_dependencies_both_ways(store: Store) -> None:
    catalog = entity_service.read_catalog(store)
    assert entity_service.dependencies(catalog, PROCESS_KEY) == (C1, FEED_KEY)
    assert entity_service.dependents(catalog, FEED_KEY) == (PROCESS_KEY,)
    assert entity_service.dependencies(catalog, C1) == ()


def test_killing_and_rerunning(store: Store) -> None:
    from pipeline.scheduler.instances.plan import Situation, plan

    schedule(store, PROCESS_KEY)
    (found,) = entity_service.schedules_of(entity_service.read_catalog(store), PROCESS_KEY)
    (create,) = plan(found, Situation(), found.calendar.at(0))
    store.create(create, START)  # type: ignore[arg-type]
    done, refused = entity_service.change_instances(
        store, store.instances(PROCESS_KEY), InstanceEvent.KILL, START, "ann"
    )
    assert ([each.state for each in done], refused) == ([InstanceState.KILLED], [])
    done, refused = entity_service.change_instances(
        store, store.instances(PROCESS_KEY), InstanceEvent.KILL, START, "ann"
    )
    assert done == []
    assert "KILLED" in refused[0]
    (again,), _ = entity_service.change_instances(
        store, store.instances(PROCESS_KEY), InstanceEvent.RERUN, START, "ann"
    )
    assert (again.state, again.run) == (InstanceState.WAITING, 1)


def test_an_instance_that_succeeded_is_rerun_only_by_force(store: Store) -> None:
    assert not entity_service.rerunnable(instance(0, InstanceState.SUCCEEDED), force=False)
    assert entity_service.rerunnable(instance(0, InstanceState.SUCCEEDED), force=True)
    assert entity_service.rerunnable(instance(0, InstanceState.FAILED), force=False)
    assert not entity_service.rerunnable(instance(0, InstanceState.RUNNING), force=True)


def test_the_clusters_document_is_complete(store: Store) -> None:
    assert "already" in submit(store, CLUSTER.replace("{name}", "c1"))


def test_a_document_is_parsed_once_while_it_stays_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_with_entities(tmp_path / "l.db")
    parsed: list[bytes] = []
    read = document.read

    def counted(data: bytes) -> Entity:
        parsed.append(data)
        return read(data)

    monkeypatch.setattr(document, "read", counted)
    reader = entity_service.CatalogReader(store)
    first = reader.read()
    assert len(parsed) == len(first.entities) == 4
    assert reader.read() == first
    assert len(parsed) == 4


def test_an_entity_submitted_again_is_parsed_again(tmp_path: Path) -> None:
    store = store_with_entities(tmp_path / "l.db")
    reader = entity_service.CatalogReader(store)
    before = reader.read().entities[PROCESS_KEY]
    entity_service.delete(store, PROCESS_KEY, "ann")
    submit(store, PROCESS.replace("hours(6)", "hours(7)"))
    assert reader.read().entities[PROCESS_KEY] != before
