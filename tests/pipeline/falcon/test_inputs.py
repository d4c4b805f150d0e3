"""Inputs that count the instances that exist: `latest` and `future` (FA-EL)."""

from pathlib import Path

from pipeline.falcon.calendar import format_time, parse_time
from pipeline.falcon.entities.identity import Kind
from pipeline.falcon.entities.process import Process
from pipeline.falcon.inputs import Need, fingerprint, inputs_of, missing, needs_read
from pipeline.processes.parameters import parameters_of
from pipeline.scheduler.actions.work import Task
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from tests.pipeline.falcon.documents import PROCESS, read_feed, read_process
from tests.pipeline.scheduler.fake_actions import (
    PROCESS_KEY,
    FakeActions,
    schedule,
    store_with_entities,
)

NOMINAL = parse_time("2013-09-25T05:30Z")
HERE = '"now(-1,0)" end="now(0,0)"'


def counting(start: str, end: str) -> str:
    return PROCESS.replace(HERE, f'"{start}" end="{end}"')


def needs_of(start: str, end: str) -> list[Need]:
    wanted = read_process(counting(start, end))
    return list(inputs_of(wanted, "c1", {"clicks": read_feed()}.get, NOMINAL))


def hours(needs: list[Need]) -> list[int]:
    return [need.time.hour for need in needs]


def seen(needs: list[Need], *there: int) -> dict[Need, str | None]:
    """The instances of that day's hours exist."""
    return {n: f"v{n.time.hour}" if n.time.hour in there else None for n in needs}


def test_latest_looks_back_from_the_instance_at_the_nominal_time() -> None:
    needs = needs_of("latest(-1)", "latest(0)")
    assert hours(needs)[:6] == [5, 4, 3, 2, 1, 0]
    assert format_time(needs[-1].time) == "2013-09-24T00:00Z"  # the feed's start
    old = read_process(counting("latest(0)", "latest(0)"))
    long_after = parse_time("2013-10-10T00:00Z")
    found = list(inputs_of(old, "c1", {"clicks": read_feed()}.get, long_after))
    assert len(found) == 48 + 1  # what its retention keeps


def test_gaps_are_not_counted() -> None:
    needs = needs_of("latest(-2)", "latest(-1)")
    there = seen(needs, 4, 2, 1, 0)
    taken = fingerprint(needs, there)
    assert taken is not None
    assert hours(needs_read(needs, taken)) == [1, 2]
    assert missing(needs, there) == ""


def test_an_input_with_too_few_instances_is_missing() -> None:
    needs = needs_of("latest(-2)", "latest(0)")
    there = {n: "v" if format_time(n.time) == "2013-09-25T04:00Z" else None for n in needs}
    assert fingerprint(needs, there) is None
    assert missing(needs, there) == "in: 1 of 3 instances of feed clicks on c1"
    assert needs_read(needs, "") == []


def test_a_newer_instance_changes_the_fingerprint() -> None:
    needs = needs_of("latest(0)", "latest(0)")
    same = {n: None if s is None else "v" for n, s in seen(needs, 3).items()}
    more = {n: None if s is None else "v" for n, s in seen(needs, 3, 4).items()}
    assert fingerprint(needs, same) != fingerprint(needs, more)


def test_future_looks_ahead_within_its_limit() -> None:
    needs = needs_of("future(0,3)", "future(1,3)")
    assert hours(needs) == [5, 6, 7]
    assert fingerprint(needs, seen(needs, 6, 8)) is None
    taken = fingerprint(needs, seen(needs, 6, 7))
    assert taken is not None
    assert hours(needs_read(needs, taken)) == [6, 7]


def test_an_optional_input_reads_the_existing_instances() -> None:
    needs = needs_of("latest(-1)", "latest(0)")
    optional = [
        Need(n.name, n.feed, n.cluster, n.storage, n.time, None, True, n.span) for n in needs
    ]
    taken = fingerprint(optional, seen(optional, 3))
    assert taken is not None
    assert {format_time(n.time) for n in needs_read(optional, taken)} >= {"2013-09-25T03:00Z"}


def test_a_process_waits_and_gets_the_found_inputs(tmp_path: Path) -> None:
    store = store_with_entities(tmp_path / "l.db", process=counting("latest(-1)", "latest(0)"))
    first = parse_time("2013-09-25T00:00Z")
    schedule(store, PROCESS_KEY, first)
    actions, tasks = FakeActions(), list[Task]()
    actions.fail = lambda task: tasks.append(task)
    there = {parse_time(f"2013-09-24T{hour}:00Z") for hour in ("03", "07")}
    every = [need.time for need in needs_of("latest(-1)", "latest(0)")]
    actions.absent = {time for time in every if time != min(there)}

    def settle() -> InstanceState:
        with SchedulerServer(
            store, actions, SetClock(first), "one", SchedulerOptions(lease=60)
        ) as service:
            service.until_idle(30)
        (one,) = store.instances(PROCESS_KEY)
        return one.state

    assert settle() is InstanceState.WAITING
    actions.absent -= there
    assert settle() is InstanceState.SUCCEEDED
    [task] = tasks
    assert isinstance(task.entity, Process)
    assert task.entity.key.kind is Kind.PROCESS
    nominal, seen_then = task.instance.nominal, task.instance.fingerprint
    found = parameters_of(task.entity, "c1", task.entity_set, nominal, "ann", print_=seen_then)
    assert found["in_filter"] == (
        "((ds='2013-09-24-03' AND region='us') OR (ds='2013-09-24-07' AND region='us'))"
    )
    before = parameters_of(task.entity, "c1", task.entity_set, nominal, "ann")
    assert "in_filter" not in before
    assert before["out_database"] == "src"
