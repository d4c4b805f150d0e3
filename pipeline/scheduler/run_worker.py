"""The work of a run: looks at its inputs again, acts on the clusters, and records the end."""

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
from pipeline.scheduler.actions.task_places import tables_of
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
    """Works for the server `name` in the threads of its pool. `on_blocked` gets the schedule whose
    data another program works on.
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
        """Does the work of a run and records the end of its instances, in a worker's thread. Its
        log lines and the descriptions of its Spark jobs have the id of its first instance."""
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
            inputs, outputs = tables_of(replace(tasks[0], instance=running))
            self._record_end(lease, replace(change, inputs=inputs, outputs=outputs))

    def _outcomes(
        self, tasks: Sequence[Task], lease: InstanceLease
    ) -> list[tuple[RunOutcome, Instance]]:
        """The outcome of each task, and its instance with the fingerprint of its inputs."""
        ends: list[tuple[RunOutcome, Instance]] = []
        ready = list(tasks)
        try:
            looked = list(self._look_again(tasks))
            ready = [task for task, missing_inputs in looked if not missing_inputs]
            ends = [
                (RunVanished(f"no longer there: {missing_inputs}"), task.instance)
                for task, missing_inputs in looked
                if missing_inputs
            ]
            lease.check()
            results = self._act(ready, lease) if ready else []
            outcomes = [_outcome_of(each) for each in results]
        except LeaseLost:
            raise
        except CausewayError as error:
            outcomes = [_outcome_of(error)] * len(ready)
        except Exception as error:  # whatever a library raises fails the attempt, not the server
            lease.log(traceback.format_exc())
            outcomes = [RunFailed(f"{type(error).__name__}: {error}")] * len(ready)
        instances = (each.instance for each in ready)
        return [*ends, *zip(outcomes, instances, strict=True)]

    def _look_again(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, str]]:
        """Each task with the fingerprint of its inputs, or with the names of the missing ones."""
        needs = {task.instance.key: task.schedule.needs(task.instance.nominal) for task in tasks}
        wanted = [need for each in needs.values() for need in each]
        prints: Fingerprints = {}
        if wanted:
            prints = self._actions.look(wanted, tasks[0].entity_set, tasks[0].owner)
        for task in tasks:
            own = needs[task.instance.key]
            look = fingerprint(own, prints) if own else ""
            if look is None:
                yield task, str(missing(own, prints))
                continue
            running = replace(task.instance, fingerprint=look) if own else task.instance
            if own and not self._store.record(running):
                raise LeaseLost("taken over before it began")
            yield replace(task, instance=running), ""

    def _act(self, tasks: Sequence[Task], lease: InstanceLease) -> list[Result]:
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
        """Tries until the lease has certainly expired; then another server runs the instance.

        The fence refuses the change if the claim is lost, so trying is always safe.
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
        """Frees each claim at once if this server still has it (when it stops)."""
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
