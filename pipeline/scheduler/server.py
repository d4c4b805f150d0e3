"""Executes the steps of `plan`: checks inputs, claims instances, starts runs, renews leases.

Several servers may share one store. An instance is run by the server that claimed it, while that
renews the lease. The loss of a lease stops the work before its next effect, and the fence refuses a
result that comes later.
"""

import threading
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from conf.errors import CausewayError
from database.errors import StoreUnavailable
from pipeline.falcon.entities.agreements import Notification
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.identity import EntityKey
from pipeline.falcon.entities.process import Order, Process
from pipeline.scheduler.actions.work import Actions, Task
from pipeline.scheduler.active_runs import ActiveRuns
from pipeline.scheduler.clock import Clock
from pipeline.scheduler.entity_service import CatalogReader, EntityCatalog, schedules_of
from pipeline.scheduler.instance_changes import Emit, InstanceChanges
from pipeline.scheduler.instance_lease import InstanceLease
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.outcomes import after_check, recover
from pipeline.scheduler.instances.plan import (
    MAX_INPUT_CHECKS,
    CheckInputs,
    CreateInstances,
    StartRun,
    plan,
)
from pipeline.scheduler.instances.schedule import Schedule
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.open_work import needed_by_open_work
from pipeline.scheduler.round_state import BlockedSchedules, ReadPositions, RunTurns
from pipeline.scheduler.run_worker import RunWorker
from pipeline.scheduler.store.store import Store


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """At most `workers` runs at a time; leases of `lease` seconds, renewed three times in it; a
    round at least every `poll` seconds. Only entities of `user` are run, because a server acts as
    one user (FA-S1); None: all entities.
    """

    workers: int = 4
    lease: float = 60.0
    poll: float = 10.0
    user: str | None = None


class SchedulerServer:
    """A lifecycle server. As a context manager, it waits for its runs at the end."""

    def __init__(
        self,
        store: Store,
        actions: Actions,
        clock: Clock,
        name: str,
        options: SchedulerOptions | None = None,
        emit: Emit = lambda _: None,
        alert_channels: Collection[str] = (),
        notifies: bool = False,
    ) -> None:
        """`alert_channels` are the channels of the `AlertSender`; `notifies`: whether it mails the
        notifications of feeds and processes.
        """
        self._store = store
        self._catalog = CatalogReader(store)
        self._actions = actions
        self._clock = clock
        self._name = name
        self._options = options or SchedulerOptions()
        self._emit = emit
        self._entities: Mapping[EntityKey, Entity] = {}  # of the last round
        wanted = self._notification if notifies else lambda _: None
        self._changes = InstanceChanges(store, clock, emit, alert_channels, wanted)
        self._blocked = BlockedSchedules()
        self._run_worker = RunWorker(
            *(store, actions, clock, name, self._options.lease, self._changes, emit),
            self._blocked.block,
        )
        self._round_ended = time.monotonic()
        self._workers = ThreadPoolExecutor(self._options.workers, thread_name_prefix="work")
        self._runs = ActiveRuns()
        self._positions = ReadPositions()
        self._turns = RunTurns()
        self._closed = threading.Event()
        self._wake = threading.Event()
        self._heartbeat = threading.Thread(target=self._renew_leases, name="heartbeat", daemon=True)
        self._heartbeat.start()

    def __enter__(self) -> "SchedulerServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, give_up: bool = False) -> None:
        """Waits for the runs; with `give_up` stops them and frees their instances."""
        if give_up:
            for lease in self._runs.leases():
                lease.lose("the server stops")
        self._workers.shutdown(wait=True, cancel_futures=True)
        self._closed.set()
        self._heartbeat.join()

    def serve(self, stop: threading.Event) -> None:
        """Runs rounds until `stop` is set, also while the store is unavailable."""
        while not stop.is_set():
            self._wake.clear()
            try:
                busy = self.tick()
            except StoreUnavailable as error:
                self._emit({"event": "store unavailable", "message": str(error)})
                busy = False
            if not busy:
                self._wake.wait(self._options.poll)

    def until_idle(self, patience: float = 86400.0, stop: threading.Event | None = None) -> None:
        """Runs rounds until nothing is left to do at the clock's present time, for at most
        `patience` seconds. Waits for other servers' runs, and takes over those of a dead server.
        """
        end = time.monotonic() + patience
        self._positions.read_ended_again()
        while time.monotonic() < end and not (stop and stop.is_set()):
            self._wake.clear()
            # Read before the round: an instance that ends during it may make others due.
            working = bool(self._runs.leases()) or self._claimed() or bool(self._blocked)
            if self.tick():
                self._positions.read_ended_again()
            elif self._positions.all_seen and not self._turns.left_ready:
                if not working:
                    return
                self._wake.wait(1.0)

    def _claimed(self) -> bool:
        """Whether any server runs an instance of the user."""
        owners = self._store.running_owners()
        return bool(owners) if self._options.user is None else self._options.user in owners

    def tick(self) -> bool:
        """Runs one round over all entities. Returns whether it changed anything."""
        now = self._clock.now()
        self._turns.begin_round()
        catalog = self._catalog.read()
        self._entities = catalog.entities
        done = [self._changes.write(recover(each, now)) for each in self._store.orphans()]
        for key, entity in catalog.running():
            if self._options.user not in (None, catalog.owner(key)):
                continue
            done.append(self._tick_entity(catalog, key, entity, now))
        self._round_ended = time.monotonic()
        return any(done)

    def _notification(self, key: EntityKey) -> Notification | None:
        entity = self._entities.get(key)
        return entity.notification if isinstance(entity, Feed | Process) else None

    def round_age(self) -> float:
        """Seconds since the last round ended."""
        return time.monotonic() - self._round_ended

    @property
    def ended(self) -> Mapping[tuple[InstanceAction, InstanceState], int]:
        """How many instances have ended here, by their action and state."""
        return self._changes.ended

    def runs(self) -> int:
        """How many runs are under way."""
        return len(self._runs.leases())

    def _tick_entity(
        self, catalog: EntityCatalog, key: EntityKey, entity: Entity, now: datetime
    ) -> bool:
        """Runs the entity's part of a round. An error is emitted and does not stop the others."""
        try:
            schedules = schedules_of(catalog, key)
            done = [self._tick_schedule(catalog, entity, each, now) for each in schedules]
        except StoreUnavailable:
            raise
        except (CausewayError, LookupError, ValueError, OSError) as error:
            self._emit({"event": "error", "entity": str(key), "message": str(error)})
            return False
        return any(done)

    def _tick_schedule(
        self, catalog: EntityCatalog, entity: Entity, schedule: Schedule, now: datetime
    ) -> bool:
        """Runs a schedule's part of a round. Checks of inputs come first: their changes invalidate,
        by the fence, steps that were planned before.
        """
        newest_first = schedule.order is not Order.FIFO
        read = self._positions.pop_ended(schedule.key)
        situation = self._store.situation(schedule.key, newest_first=newest_first, read=read)
        self._positions.put_ended(schedule.key, situation.read_until)
        steps = plan(schedule, situation, now, self._positions.pop_checked(schedule.key))
        checks = [step for step in steps if isinstance(step, CheckInputs)]
        done = self._check_inputs(catalog, schedule, checks, now) if checks else False
        waiting = [each.instance for each in checks if each.instance.state is InstanceState.WAITING]
        if len(waiting) == MAX_INPUT_CHECKS:
            self._positions.put_checked(schedule.key, waiting[-1].nominal)
        for step in steps:
            match step:
                case CreateInstances():
                    self._store.create(step, now)
                    done = True
                case Change():
                    done |= self._changes.write(step)
                case StartRun():
                    done |= self._start(catalog, entity, schedule, step)
                case CheckInputs():
                    pass
        return done

    def _check_inputs(
        self, catalog: EntityCatalog, schedule: Schedule, checks: list[CheckInputs], now: datetime
    ) -> bool:
        """Checks inputs and writes the changes. Returns whether an instance has got its inputs or
        late data.
        """
        needs = [need for check in checks for need in check.needs]
        owner = catalog.owner(schedule.key.entity)
        prints = self._actions.read_fingerprints(needs, catalog.entity_set, owner)
        changes = (after_check(schedule, check, prints, now) for check in checks)
        written = [change for change in changes if change and self._changes.write(change)]
        return any(change.what != "checked" for change in written)

    def _start(
        self, catalog: EntityCatalog, entity: Entity, schedule: Schedule, run: StartRun
    ) -> bool:
        """Claims the instances of a run, and starts it in a worker thread. An instance whose place
        is taken stays READY, and the run does without it. Returns whether a run was started.
        """
        if self._closed.is_set() or self._blocked.is_blocked(schedule.key):
            return False
        leases = self._runs.leases()
        if not self._turns.may_begin(run, leases) or len(leases) >= self._options.workers:
            return False
        tasks = [
            Task(
                entity=entity,
                schedule=schedule,
                instance=claim.after,
                owner=catalog.owner(schedule.key.entity),
                entity_set=catalog.entity_set,
                now=self._clock.now(),
                is_needed=needed_by_open_work(self._store, catalog, schedule),
            )
            for claim in run.claims
        ]
        places = {each.instance.key: self._actions.exclusive_places(each) for each in tasks}
        free = tuple(c for c in run.claims if not self._runs.are_taken(places[c.before.key]))
        if not free:
            return False
        claimed = self._store.claim(
            replace(run, claims=free), self._name, self._options.lease, self._clock.now(), places
        )
        if not claimed:
            self._turns.left_ready = True
            return False
        lease = InstanceLease(self._store, self._clock, claimed, self._options.lease)
        self._runs.add(lease, frozenset().union(*(places[each.key] for each in claimed)))
        chosen = [each for each in tasks if each.instance in claimed]
        future = self._workers.submit(self._run_worker.work, chosen, lease)
        future.add_done_callback(lambda future: self._on_run_ended(lease, future))
        return True

    def _on_run_ended(self, lease: InstanceLease, future: "Future[None]") -> None:
        """Frees the places and the lease of a run, and wakes the server for the next round."""
        keys = [each.key for each in lease.instances]
        if self._runs.places_of(lease):
            with suppress(StoreUnavailable):  # the places are then free when the lease ends
                self._store.release(keys, self._name)
        self._runs.remove(lease)
        if not future.cancelled() and (error := future.exception()):
            self._emit({"event": "error", "entity": str(keys[0]), "message": repr(error)})
        self._wake.set()

    def _renew_leases(self) -> None:
        while not self._closed.wait(self._options.lease / 3):
            for lease in self._runs.leases():
                lease.renew(self._name)
