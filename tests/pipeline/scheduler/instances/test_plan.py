"""The steps that `plan` decides for a situation."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.falcon.calendar import Calendar, Frequency
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.entities.process import Order, PolicyType
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.instance import Instance, InstanceAction, ScheduleKey
from pipeline.scheduler.instances.outcomes import RunVanished, after_check, after_run
from pipeline.scheduler.instances.plan import (
    BATCH,
    MAX_INPUT_CHECKS,
    CheckInputs,
    CreateInstances,
    Situation,
    StartRun,
    plan,
)
from pipeline.scheduler.instances.schedule import LateChecks, RetryPolicy
from pipeline.scheduler.instances.states import InstanceState
from tests.pipeline.scheduler.instances.schedules import HOUR, T0, instance, schedule


def creations(found: tuple[object, ...]) -> list[CreateInstances]:
    return [each for each in found if isinstance(each, CreateInstances)]


def changes(found: tuple[object, ...]) -> list[Change]:
    return [each for each in found if isinstance(each, Change)]


def runs(found: tuple[object, ...]) -> list[int]:
    """The hours of the claimed instances; each has its own run."""
    claimed = [each.claims for each in found if isinstance(each, StartRun)]
    return [int((change.after.nominal - T0) / HOUR) for (change,) in claimed]


@settings(deadline=None)
@given(st.lists(st.integers(0, 80), min_size=1, max_size=40))
def test_each_instance_is_created_once_at_any_times_of_rounds(hours: list[int]) -> None:
    """The start is an instance and the end is none: 768 in all, in order, none twice."""
    wanted = schedule()
    created: list[object] = []
    until, now = None, T0
    for step in [*hours, *([24] * 40)]:
        (*made,) = creations(plan(wanted, Situation(until), now))
        for create in made:
            assert create.nominals[-1] <= now
            created.extend(create.nominals)
            until = create.until
        now += step * HOUR
    assert created == [T0 + number * HOUR for number in range(768)]


def test_no_instance_is_created_before_its_time() -> None:
    assert plan(schedule(), Situation(), T0 - timedelta(minutes=1)) == ()
    (create,) = creations(plan(schedule(), Situation(), T0))
    assert create.nominals == (T0,)


def test_a_delay_makes_instances_due_later() -> None:
    delayed = schedule(opens=2 * HOUR)
    assert creations(plan(delayed, Situation(), T0 + HOUR)) == []
    assert creations(plan(delayed, Situation(), T0 + 2 * HOUR))[0].nominals == (T0,)


def test_many_due_instances_are_created_in_batches() -> None:
    minutely = schedule(calendar=Calendar(T0, Frequency.parse("minutes(1)")))
    (create,) = creations(plan(minutely, Situation(), T0 + 700 * HOUR))
    assert len(create.nominals) == BATCH
    (further,) = creations(plan(minutely, Situation(create.until), T0 + 700 * HOUR))
    assert further.nominals[0] == create.nominals[-1] + timedelta(minutes=1)


def test_last_only_skips_the_others() -> None:
    last = schedule(order=Order.LAST_ONLY)
    (create,) = creations(plan(last, Situation(), T0 + 5 * HOUR))
    assert (create.nominals, len(create.skipped)) == ((T0 + 5 * HOUR,), 5)
    two = Situation(
        T0 + 2 * HOUR, (instance(0, InstanceState.READY), instance(1, InstanceState.READY))
    )
    found = plan(last, two, T0 + HOUR)
    assert [each.after.state for each in changes(found)] == [InstanceState.SKIPPED]
    assert runs(found) == [1]


@pytest.mark.parametrize(
    ("order", "expected"), [(Order.FIFO, [0, 1]), (Order.LIFO, [3, 2]), (Order.LAST_ONLY, [3])]
)
def test_order_and_parallel(order: Order, expected: list[int]) -> None:
    situation = Situation(T0 + 4 * HOUR, tuple(instance(n, InstanceState.READY) for n in range(4)))
    assert runs(plan(schedule(order=order, parallel=2), situation, T0 + 3 * HOUR)) == expected


def test_a_run_takes_several_instances_and_counts_once() -> None:
    ready = tuple(instance(n, InstanceState.READY) for n in range(7))
    newest = schedule(order=Order.LIFO, parallel=2, together=3)
    found = plan(newest, Situation(T0 + 9 * HOUR, ready), T0 + 8 * HOUR)
    claimed = [each.claims for each in found if isinstance(each, StartRun)]
    hours = [[int((c.after.nominal - T0) / HOUR) for c in claims] for claims in claimed]
    assert hours == [[6, 5, 4], [3, 2, 1]]
    assert [c.after.leader for c in claimed[0]] == [T0 + 6 * HOUR] * 3
    running = tuple(c.after for c in claimed[0])
    again = plan(newest, Situation(T0 + 9 * HOUR, (*ready[:4], *running)), T0 + 8 * HOUR)
    assert len([each for each in again if isinstance(each, StartRun)]) == 1


@pytest.mark.slow
def test_data_that_never_existed_does_not_delay_other_instances() -> None:
    """Two years back in FIFO order: the first hours have no data, and the later ones have."""
    long_ago = schedule(end=T0 + timedelta(days=730), parallel=100)
    now = T0 + timedelta(days=729)
    situation, found = Situation(), ()
    opened: list[Instance] = []
    while (found := creations(plan(long_ago, situation, now))) and len(opened) < 20_000:
        opened += [instance(int((n - T0) / HOUR), InstanceState.WAITING) for n in found[0].nominals]
        situation = Situation(found[0].until, tuple(opened))
    assert len(opened) == 729 * 24 + 1
    looked, nominals = None, []
    while len(nominals) < len(opened):
        checks = [e for e in plan(long_ago, situation, now, looked) if isinstance(e, CheckInputs)]
        assert 0 < len(checks) <= MAX_INPUT_CHECKS
        nominals += [each.instance.nominal for each in checks]
        looked = nominals[-1]
    assert len(set(nominals)) == len(opened)


def test_running_instances_count_and_pauses_are_kept() -> None:
    situation = Situation(
        T0 + 4 * HOUR,
        (
            instance(0, InstanceState.RUNNING),
            instance(1, InstanceState.READY, not_before=T0 + 9 * HOUR),
            instance(2, InstanceState.READY),
            instance(3, InstanceState.READY),
        ),
    )
    assert runs(plan(schedule(parallel=2), situation, T0 + 3 * HOUR)) == [2]
    assert runs(plan(schedule(parallel=3), situation, T0 + 9 * HOUR)) == [1, 2]


def test_waiting_instances_are_checked_and_time_out() -> None:
    waits = Situation(T0 + HOUR, (instance(0, InstanceState.WAITING),))
    limited = schedule(timeout=2 * HOUR)
    (check,) = plan(limited, waits, T0 + HOUR - timedelta(minutes=1))
    assert isinstance(check, CheckInputs)
    (out,) = changes(plan(limited, replace(waits, created_until=T0 + 999 * HOUR), T0 + 2 * HOUR))
    assert (out.after.state, out.after.not_before) == (InstanceState.TIMEDOUT, None)


def test_a_time_out_may_be_retried() -> None:
    retries = RetryPolicy(PolicyType.PERIODIC, HOUR, 1, on_timeout=True)
    limited = schedule(timeout=2 * HOUR, retries=retries)
    waits = Situation(T0 + 999 * HOUR, (instance(0, InstanceState.WAITING),))
    (out,) = changes(plan(limited, waits, T0 + 2 * HOUR))
    assert out.after.not_before == T0 + 3 * HOUR
    ended = Situation(T0 + 999 * HOUR, (), (out.after,))
    assert plan(limited, ended, T0 + 2 * HOUR) == ()
    (again,) = changes(plan(limited, ended, T0 + 3 * HOUR))
    assert (again.after.state, again.after.attempt) == (InstanceState.WAITING, 1)
    waits = Situation(T0 + 999 * HOUR, (again.after,))
    (out,) = changes(plan(limited, waits, T0 + 5 * HOUR))
    assert out.after.not_before is None


def test_an_instance_waits_for_dropped_inputs_while_it_has_attempts() -> None:
    tried = schedule(retries=RetryPolicy(PolicyType.PERIODIC, HOUR, 2), timeout=3 * HOUR)
    running = instance(0, InstanceState.RUNNING, attempt=2, started=T0)
    waits = after_run(tried, running, RunVanished("dropped"), T0 + 9 * HOUR).after
    assert (waits.state, waits.attempt, waits.detail) == (InstanceState.WAITING, 2, "dropped")
    later = Situation(tried.end, (waits,))
    assert [type(step) for step in plan(tried, later, T0 + 11 * HOUR)] == [CheckInputs]
    (late,) = changes(plan(tried, later, T0 + 12 * HOUR))
    assert late.after.state is InstanceState.TIMEDOUT
    last = replace(running, attempt=3)
    assert after_run(tried, last, RunVanished("dropped"), T0).after.state is InstanceState.FAILED


LATE = LateChecks(PolicyType.PERIODIC, HOUR, lambda nominal: nominal + 3 * HOUR)


def test_late_data_runs_again_until_the_cutoff() -> None:
    late = schedule(late=LATE)
    ended = instance(0, InstanceState.SUCCEEDED, fingerprint='{"in": "v1"}')
    situation = Situation(T0 + 999 * HOUR, (), (ended,))
    assert plan(late, situation, T0 + HOUR - timedelta(minutes=1)) == ()
    (check,) = plan(late, situation, T0 + HOUR)
    assert isinstance(check, CheckInputs)
    same = after_check(late, check, {check.needs[0]: "v1"}, T0 + HOUR)
    assert same is not None
    assert (same.after.state, same.after.checks) == (InstanceState.SUCCEEDED, 1)
    changed = after_check(late, check, {check.needs[0]: "v2"}, T0 + HOUR)
    assert changed is not None
    assert (changed.after.state, changed.after.run, changed.after.late) == (
        InstanceState.READY,
        1,
        "in",
    )
    gone = after_check(late, check, {check.needs[0]: None}, T0 + HOUR)
    assert gone is not None
    assert gone.after.state is InstanceState.SUCCEEDED
    settled = Situation(T0 + 999 * HOUR, (), (replace(ended, checks=3),))
    (end,) = changes(plan(late, settled, T0 + 4 * HOUR))
    assert end.after.checks == -1


def test_each_limit_of_a_service_level_is_reported_once() -> None:
    agreed = schedule(
        low=HOUR,
        high=2 * HOUR,
        key=ScheduleKey(EntityKey(Kind.FEED, "f"), InstanceAction.WATCH, "c1"),
    )
    waiting = instance(0, InstanceState.WAITING)

    def alerts(one: Instance, hours: int) -> list[int]:
        found = plan(agreed, Situation(T0 + 999 * HOUR, (one,)), T0 + hours * HOUR)
        return [each.after.alerts for each in changes(found) if each.what == "SLA"]

    assert [alerts(waiting, hours) for hours in (0, 1, 2)] == [[], [1], [2]]
    assert alerts(replace(waiting, alerts=1), 1) == []
    assert alerts(replace(waiting, alerts=2), 9) == []


def test_an_alert_and_a_claim_in_one_round_keep_each_other() -> None:
    agreed = schedule(low=HOUR)
    ready = Situation(T0 + 999 * HOUR, (instance(0, InstanceState.READY),))
    found = plan(agreed, ready, T0 + HOUR)
    alert, run = found
    assert isinstance(alert, Change)
    assert isinstance(run, StartRun)
    assert all(each.after.alerts == 1 for each in (alert, *run.claims))
