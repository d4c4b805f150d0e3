"""Decisions about the results of checks and runs."""

from dataclasses import replace

from pipeline.falcon.entities.process import PolicyType
from pipeline.scheduler.instances.outcomes import (
    MAX_RECOVERIES,
    RunFailed,
    RunInterrupted,
    RunSucceeded,
    after_check,
    after_run,
    recover,
)
from pipeline.scheduler.instances.plan import CheckInputs
from pipeline.scheduler.instances.schedule import RetryPolicy
from pipeline.scheduler.instances.states import InstanceState
from tests.pipeline.scheduler.instances.schedules import HOUR, T0, instance, need, schedule


def test_a_check_finds_the_inputs_or_waits() -> None:
    waiting = instance(0, InstanceState.WAITING)
    check = CheckInputs(waiting, need(T0))
    assert after_check(schedule(), check, {check.needs[0]: None}, T0) is None
    found = after_check(schedule(), check, {check.needs[0]: "v1"}, T0)
    assert found is not None
    assert found.after.state is InstanceState.READY


def test_an_absent_optional_input_is_no_obstacle() -> None:
    (one,) = need(T0)
    check = CheckInputs(instance(0, InstanceState.WAITING), (replace(one, optional=True),))
    assert after_check(schedule(), check, {}, T0) is not None


def test_an_attempt_that_was_interrupted_does_not_count() -> None:
    tried = schedule(retries=RetryPolicy(PolicyType.FINAL))
    running = instance(0, InstanceState.RUNNING, attempt=1, started=T0)
    again = after_run(tried, running, RunInterrupted("Spark is gone"), T0).after
    assert (again.state, again.attempt, again.recoveries) == (InstanceState.READY, 0, 1)
    often = replace(running, recoveries=MAX_RECOVERIES)
    last = after_run(tried, often, RunInterrupted("Spark is gone"), T0).after
    assert (last.state, last.detail) == (InstanceState.FAILED, "Spark is gone, as each time before")


def test_ends_and_retries() -> None:
    running = instance(0, InstanceState.RUNNING, attempt=1)
    retrying = schedule(retries=RetryPolicy(PolicyType.EXP_BACKOFF, HOUR, 2))
    assert (
        after_run(retrying, running, RunSucceeded("ok"), T0).after.state is InstanceState.SUCCEEDED
    )
    first = after_run(retrying, running, RunFailed("no"), T0).after
    assert (first.state, first.not_before) == (InstanceState.READY, T0 + HOUR)
    second = after_run(retrying, replace(running, attempt=2), RunFailed("no"), T0).after
    assert second.not_before == T0 + 2 * HOUR
    third = after_run(retrying, replace(running, attempt=3), RunFailed("no"), T0).after
    assert (third.state, third.detail) == (InstanceState.FAILED, "no")
    final = after_run(retrying, running, RunFailed("never", final=True), T0).after
    assert final.state is InstanceState.FAILED


def test_the_death_of_a_server_is_no_attempt_up_to_a_limit() -> None:
    running = instance(0, InstanceState.RUNNING, attempt=1)
    for count in range(MAX_RECOVERIES):
        after = recover(running, T0).after
        assert (after.state, after.attempt, after.recoveries) == (InstanceState.READY, 0, count + 1)
        running = replace(after, state=InstanceState.RUNNING, attempt=1)
    assert recover(running, T0).after.state is InstanceState.FAILED
