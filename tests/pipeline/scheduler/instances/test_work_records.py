"""The records of ended instances for the history and telemetry."""

from datetime import datetime
from pathlib import Path

from conf.logs.log_fields import log_fields, trace_id
from database.history.work import InstanceRecord
from pipeline.errors import ActionFailed
from pipeline.lease import WorkLease
from pipeline.scheduler import entity_service
from pipeline.scheduler.actions.work import Result, Task, WorkSummary
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.states import InstanceEvent
from pipeline.scheduler.instances.work_records import record_of
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.falcon.documents import FEED
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


class Kept:
    """A store whose changes become records."""

    def __init__(self, folder: Path, feed: str = FEED) -> None:
        store_with_entities(folder / "l.db", feed=feed)
        self.records: list[InstanceRecord] = []
        self.store = Store(str(folder / "l.db"), self._changed)

    def _changed(self, change: Change, now: datetime) -> None:
        if record := record_of(change, now, "one"):
            self.records.append(record)

    def run(self, actions: FakeActions, at: datetime) -> None:
        with SchedulerServer(
            self.store, actions, SetClock(at), "one", SchedulerOptions()
        ) as server:
            server.until_idle(120)

    def of(self, action: str) -> list[InstanceRecord]:
        return [each for each in self.records if each.action == action]


def test_a_process_is_recorded_with_its_feeds(tmp_path: Path) -> None:
    kept, traces = Kept(tmp_path), list[tuple[str, str]]()

    class Actions(FakeActions):
        def process(self, task: Task, lease: WorkLease) -> str:
            traces.append((trace_id(), log_fields()["entity"]))
            return super().process(task, lease)

    schedule(kept.store, PROCESS_KEY, FIRST)
    kept.run(Actions(), FIRST)
    (record,) = kept.of("process")
    assert (record.kind, record.name, record.cluster) == ("process", "summary", "c1")
    assert (record.nominal, record.run, record.attempt) == (FIRST.timestamp(), 0, 1)
    assert (record.state, record.detail, record.error) == ("SUCCEEDED", "process done", "")
    assert record.started == record.ended == FIRST.timestamp()
    assert (record.server, record.bytes) == ("one", None)
    assert record.inputs
    assert record.outputs
    assert traces == [(record.id, "process/summary")]


def test_each_attempt_is_recorded_and_has_its_own_id(tmp_path: Path) -> None:
    kept, actions = Kept(tmp_path), FakeActions()
    actions.fail = lambda task: "no space" if task.instance.attempt == 1 else None
    schedule(kept.store, PROCESS_KEY, FIRST)
    kept.run(actions, FIRST)
    kept.run(actions, FIRST + 3 * HOUR)
    failed, done = (each for each in kept.of("process") if each.nominal == FIRST.timestamp())
    assert (failed.state, failed.attempt) == ("RETRIED", 1)
    assert "no space" in failed.error
    assert (done.state, done.attempt, done.error) == ("SUCCEEDED", 2, "")
    assert failed.id != done.id


def test_replicated_instances_have_their_bytes(tmp_path: Path) -> None:
    class Actions(FakeActions):
        def replicate(self, tasks: list[Task], lease: WorkLease) -> list[Result]:  # type: ignore[override]
            return [
                WorkSummary("copied", 7),
                *[ActionFailed("gone", final=True)] * (len(tasks) - 1),
            ]

    kept = Kept(tmp_path)
    schedule(kept.store, FEED_KEY)
    kept.run(Actions(), START)
    copied = kept.of("replicate")
    assert copied
    assert {each.source for each in copied} == {"c1"}
    assert {each.bytes for each in copied if each.state == "SUCCEEDED"} == {7}


def test_instances_that_an_operator_kills_are_recorded(tmp_path: Path) -> None:
    kept, actions = Kept(tmp_path), FakeActions()
    actions.absent = {START + number * HOUR for number in range(-30, 30)}
    schedule(kept.store, FEED_KEY)
    kept.run(actions, START)
    waiting = [
        each
        for each in kept.store.instances(FEED_KEY)
        if each.state.open and each.key.schedule.action.value == "replicate"
    ]
    assert waiting
    kept.records.clear()
    entity_service.change_instances(kept.store, waiting, InstanceEvent.KILL, START, "ann")
    assert [each.state for each in kept.records] == ["KILLED"] * len(waiting)
    assert kept.records[0].detail == "killed by ann"
    assert kept.records[0].started is None


def test_changes_that_end_nothing_have_no_record(tmp_path: Path) -> None:
    kept, actions = Kept(tmp_path), FakeActions()
    actions.absent = {START + number * HOUR for number in range(-30, 30)}
    schedule(kept.store, FEED_KEY)
    kept.run(actions, START)
    kept.records.clear()
    for event in (InstanceEvent.SUSPEND, InstanceEvent.RESUME):
        waiting = [each for each in kept.store.instances(FEED_KEY) if each.state.open]
        entity_service.change_instances(kept.store, waiting, event, START, "ann")
    assert kept.records == []
