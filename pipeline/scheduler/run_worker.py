"""Does the work of a run: checks its inputs again, acts on the clusters, and records the end."""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from conf.errors import CausewayError
from conf.logs.log_fields import with_log_fields
from database.errors import StoreUnavailable
from pipeline.errors import ActionFailed, AnotherCopyRuns, InputsGone, LeaseLost, SparkLost
from pipeline.falcon.inputs import Fingerprints, fingerprint, missing
from pipeline.scheduler.actions.task_places import inputs_and_outputs
from pipeline.scheduler.actions.work import Actions, Result, Task, WorkSummary
from pipeline.scheduler.clock import Clock
from pipeline.scheduler.instance_changes import Emit, InstanceChanges
from pipeline.scheduler.instance_lease import InstanceLease
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.instance import Instance, InstanceAction, ScheduleKey
from pipeline.scheduler.instances.outcomes import (
    RunBlocked,
    RunFailed,
    RunInterrupted,
    RunOutcome,
    RunSucceeded,
    RunVanished,
    after_run,
    hand_back,
)
from pipeline.scheduler.instances.work_records import id_of
from pipeline.scheduler.store.store import Store


class RunWorker:
    """Does the runs of the server `name`, in the threads of its pool. `on_blocked` is called with
    the schedule if another program works on the same data.
    """

    def __init__(
        self,
        store: Store,
        actions: Actions,
        clock: Clock,
        name: str,
        lease_seconds: float,
        changes: InstanceChanges,
        emit: Emit,
        on_blocked: Callable[[ScheduleKey], None],
    ) -> None:
        self._store = store
        self._actions = actions
        self._clock = clock
        self._name = name
        self._lease_seconds = lease_seconds
        self._changes = changes
        self._emit = emit
        self._on_blocked = on_blocked

    def work(self, tasks: Sequence[Task], lease: InstanceLease) -> None:
        """Does the work of a run and records the end of its instances. Log lines and descriptions
        of Spark jobs have the id of the run's first instance."""
        first = tasks[0].instance
        entity = first.key.schedule.entity
        name = f"{entity.kind.value}/{entity.name}"
        with with_log_fields(instance=id_of(first), entity=name):
            self._work(tasks, lease)

    def _work(self, tasks: Sequence[Task], lease: InstanceLease) -> None:
        for task in tasks:
            self._changes.emit(task.instance, "started", "")
        try:
            ends = self._outcomes(tasks, lease)
        except LeaseLost as lost:
            self._hand_back(lease.instances, str(lost))
            return
        for outcome, running in ends:
            if isinstance(outcome, RunBlocked):
                self._on_blocked(running.key.schedule)
            if lease.lost and not isinstance(outcome, RunSucceeded):
                self._hand_back([running], outcome.reason)
                continue
            change = after_run(tasks[0].schedule, running, outcome, self._clock.now())
            inputs, outputs = inputs_and_outputs(replace(tasks[0], instance=running))
            self._record_end(lease, replace(change, inputs=inputs, outputs=outputs))

    def _outcomes(
        self, tasks: Sequence[Task], lease: InstanceLease
    ) -> list[tuple[RunOutcome, Instance]]:
        """The outcome of each task, with its instance, which has the fingerprint of its inputs.
        Raises LeaseLost.
        """
        ends: list[tuple[RunOutcome, Instance]] = []
        ready = list(tasks)
        try:
            checked = list(self._check_inputs(tasks))
            ready = [task for task, missing_inputs in checked if not missing_inputs]
            ends = [
                (RunVanished(f"no longer there: {missing_inputs}"), task.instance)
                for task, missing_inputs in checked
                if missing_inputs
            ]
            lease.check()
            results = self._act(ready, lease) if ready else []
            outcomes = [_outcome_of(each) for each in results]
        except LeaseLost:
            raise
        except CausewayError as error:
            outcomes = [_outcome_of(error)] * len(ready)
        except Exception as error:  # any error of a library fails the attempt, not the server
            lease.log(traceback.format_exc())
            outcomes = [RunFailed(f"{type(error).__name__}: {error}")] * len(ready)
        instances = (each.instance for each in ready)
        return [*ends, *zip(outcomes, instances, strict=True)]

    def _check_inputs(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, str]]:
        """Each task and "", with the new fingerprint of its inputs; or the task unchanged, and a
        description of the missing input. Raises LeaseLost.
        """
        needs = {task.instance.key: task.schedule.needs(task.instance.nominal) for task in tasks}
        wanted = [need for each in needs.values() for need in each]
        prints: Fingerprints = {}
        if wanted:
            prints = self._actions.read_fingerprints(wanted, tasks[0].entity_set, tasks[0].owner)
        for task in tasks:
            own = needs[task.instance.key]
            print_ = fingerprint(own, prints) if own else ""
            if print_ is None:
                yield task, str(missing(own, prints))
                continue
            running = replace(task.instance, fingerprint=print_) if own else task.instance
            if own and not self._store.record_fingerprint(running):
                raise LeaseLost("taken over before it began")
            yield replace(task, instance=running), ""

    def _act(self, tasks: Sequence[Task], lease: InstanceLease) -> list[Result]:
        """Does the work of the run's action; returns the results of its tasks in order."""
        match tasks[0].schedule.key.action:
            case InstanceAction.REPLICATE:
                return self._actions.replicate(tasks, lease)
            case InstanceAction.EVICT:
                return [self._actions.evict(each, lease) for each in tasks]
            case InstanceAction.PROCESS:
                return [self._actions.process(each, lease) for each in tasks]
            case InstanceAction.IMPORT | InstanceAction.EXPORT:
                return [self._actions.exchange(each, lease) for each in tasks]
            case InstanceAction.WATCH:
                return ["the data exists" for _ in tasks]

    def _record_end(self, lease: InstanceLease, change: Change) -> None:
        """Writes the change, and retries while the store is unavailable and the lease lasts. After
        that, another server runs the instance.

        A retry is safe, because the fence refuses the change if the claim is lost.
        """
        message = change.message or change.after.detail or change.what
        change = replace(change, message=message)
        while True:
            with suppress(StoreUnavailable):
                if not self._changes.write(change):
                    self._emit({"event": "too late", "entity": str(change.after.key)})
                return
            if lease.lost:
                return
            time.sleep(min(1.0, self._lease_seconds / 10))

    def _hand_back(self, instances: Sequence[Instance], why: str) -> None:
        """Returns the instances whose claim this server still has, so that another can run them."""
        for each in instances:
            self._changes.emit(each, "stopped", why)
            with suppress(StoreUnavailable):
                if self._store.renew(each, self._name, self._lease_seconds):
                    self._changes.write(hand_back(each, self._clock.now(), why))


def _outcome_of(result: Result) -> RunOutcome:
    match result:
        case str():
            return RunSucceeded(result)
        case WorkSummary():
            return RunSucceeded(result.text, result.bytes)
        case SparkLost():
            return RunInterrupted(str(result))
        case InputsGone():
            return RunVanished(str(result))
        case AnotherCopyRuns():
            return RunBlocked(str(result))
        case ActionFailed():
            return RunFailed(str(result), result.final)
        case _:
            return RunFailed(str(result))
