"""Executes the steps of `plan`: checks inputs, claims instances, starts runs, renews leases.

Several services may share one store. An instance is run by the one that claimed it, for as
long as it renews its lease; the loss of a lease stops the work before it takes effect, and a
late report is refused by the fence.
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
from pipeline.scheduler.clock import Clock
from pipeline.scheduler.entity_service import CatalogReader, EntityCatalog, schedules_of
from pipeline.scheduler.instance_changes import Emit, InstanceChanges
from pipeline.scheduler.instance_lease import InstanceLease
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.instance import InstanceAction, InstanceKey, ScheduleKey
from pipeline.scheduler.instances.outcomes import after_look, recover
from pipeline.scheduler.instances.plan import (
    MAX_LOOKS,
    CheckInputs,
    CreateInstances,
    StartRun,
    plan,
    runs_alone,
)
from pipeline.scheduler.instances.schedule import Schedule
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.open_work import needed_by_open_work
from pipeline.scheduler.run_worker import RunWorker
from pipeline.scheduler.store.store import Store

_BLOCKED = 30.0  # seconds until the next try where another program works on the same data


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """`workers` instances at a time; a lease of `lease` seconds, renewed three times in it; a round
    at least every `poll` seconds. Only entities of `user` are run, because a server acts as one
    user (FA-S1); None: all entities.
    """

    workers: int = 4
    lease: float = 60.0
    poll: float = 10.0
    user: str | None = None


class SchedulerServer:
    """A server. As a context manager, it waits for running work at the end."""

    def __init__(
        self,
        store: Store,
        actions: Actions,
        clock: Clock,
        name: str,
        limits: SchedulerOptions | None = None,
        emit: Emit = lambda _: None,
        alert_channels: Collection[str] = (),
        notifies: bool = False,
    ) -> None:
        """`alert_channels` are the ways in which an `AlertSender` delivers alerts; `notifies`:
        whether it mails what feeds and processes want to be mailed.
        """
        self._store = store
        self._catalog = CatalogReader(store)
        self._actions = actions
        self._clock = clock
        self._name = name
        self._limits = limits or SchedulerOptions()
        self._emit = emit
        self._entities: Mapping[EntityKey, Entity] = {}  # of the last round
        wanted = self._notification if notifies else lambda _: None
        self._changes = InstanceChanges(store, clock, emit, alert_channels, wanted)
        self._run_worker = RunWorker(
            store, actions, clock, name, self._limits.lease, self._changes, emit, self._block
        )
        self._round = time.monotonic()
        self._workers = ThreadPoolExecutor(self._limits.workers, thread_name_prefix="work")
        self._leases: dict[InstanceKey, InstanceLease] = {}  # by the first instance of each run
        self._places: dict[InstanceKey, frozenset[str]] = {}
        self._looked: dict[ScheduleKey, datetime] = {}  # where there is more to look at
        self._ended_until: dict[ScheduleKey, datetime] = {}  # where more ended instances follow
        self._read_all: set[ScheduleKey] = set()  # whose last ended instances were read
        self._blocked: dict[ScheduleKey, float] = {}  # until which monotonic time
        self._alone = False  # this round left an instance that has to run alone
        self._others_wait = False  # the round before left one: nothing else begins
        self._turned_away = False  # the last round left an instance whose place another server has
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._woken = threading.Event()
        self._heart = threading.Thread(target=self._beat, name="heart", daemon=True)
        self._heart.start()

    def __enter__(self) -> "SchedulerServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, give_up: bool = False) -> None:
        """Waits for running work; with `give_up` stops it and frees its instances."""
        if give_up:
            for lease in self._held():
                lease.lose("the server stops")
        self._workers.shutdown(wait=True, cancel_futures=True)
        self._closed.set()
        self._heart.join()

    def serve(self, stop: threading.Event) -> None:
        """Runs rounds until `stop` is set; waits for a database that is down."""
        while not stop.is_set():
            self._woken.clear()
            try:
                busy = self.tick()
            except StoreUnavailable as error:
                self._emit({"event": "store unavailable", "message": str(error)})
                busy = False
            if not busy:
                self._woken.wait(self._limits.poll)

    def until_idle(self, patience: float = 86400.0, stop: threading.Event | None = None) -> None:
        """Runs rounds until nothing is left to do at the clock's present time. Waits for the work
        of other servers: if one dies, its work continues here.
        """
        end = time.monotonic() + patience
        self._read_ended_again()
        while time.monotonic() < end and not (stop and stop.is_set()):
            self._woken.clear()
            # Read before the round: an instance that ends during it may make others due.
            working = bool(self._held()) or self._claimed() or bool(self._blocked)
            if self.tick():
                self._read_ended_again()
            elif self._ended_until.keys() <= self._read_all and not (
                self._looked or self._turned_away
            ):
                if not working:
                    return
                self._woken.wait(1.0)

    def _read_ended_again(self) -> None:
        self._ended_until.clear()
        self._read_all.clear()

    def _claimed(self) -> bool:
        """Whether a server runs an instance of the user."""
        owners = self._store.running_owners()
        return bool(owners) if self._limits.user is None else self._limits.user in owners

    def tick(self) -> bool:
        """One round over all entities; True if anything was done."""
        now = self._clock.now()
        self._turned_away = False
        self._others_wait, self._alone = self._alone, False
        catalog = self._catalog.read()
        self._entities = catalog.entities
        done = [self._changes.write(recover(each, now)) for each in self._store.orphans()]
        for key, entity in catalog.running():
            if self._limits.user not in (None, catalog.owner(key)):
                continue
            done.append(self._tick_entity(catalog, key, entity, now))
        self._round = time.monotonic()
        return any(done)

    def _notification(self, key: EntityKey) -> Notification | None:
        entity = self._entities.get(key)
        return entity.notification if isinstance(entity, Feed | Process) else None

    def round_age(self) -> float:
        """Seconds since the last round ended."""
        return time.monotonic() - self._round

    @property
    def ended(self) -> Mapping[tuple[InstanceAction, InstanceState], int]:
        """How many instances have ended here, by their action and state."""
        return self._changes.ended

    def runs(self) -> int:
        """How many runs are under way."""
        return len(self._held())

    def _tick_entity(
        self, catalog: EntityCatalog, key: EntityKey, entity: Entity, now: datetime
    ) -> bool:
        """An entity that cannot be planned does not stop the others."""
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
        """Looks come first: their results may invalidate other steps, by the fence."""
        newest_first = schedule.order is not Order.FIFO
        read = self._ended_until.pop(schedule.key, None)
        situation = self._store.situation(schedule.key, newest_first=newest_first, read=read)
        if situation.read_until is None:
            self._read_all.add(schedule.key)
        else:  # the next round reads those that follow, so that each instance has its turn
            self._ended_until[schedule.key] = situation.read_until
        steps = plan(schedule, situation, now, self._looked.pop(schedule.key, None))
        looks = [step for step in steps if isinstance(step, CheckInputs)]
        done = self._look(catalog, schedule, looks, now) if looks else False
        waiting = [each.instance for each in looks if each.instance.state is InstanceState.WAITING]
        if len(waiting) == MAX_LOOKS:
            self._looked[schedule.key] = waiting[-1].nominal
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

    def _look(
        self, catalog: EntityCatalog, schedule: Schedule, looks: list[CheckInputs], now: datetime
    ) -> bool:
        needs = [need for look in looks for need in look.needs]
        owner = catalog.owner(schedule.key.entity)
        seen = self._actions.look(needs, catalog.entity_set, owner)
        changes = (after_look(schedule, look, seen, now) for look in looks)
        written = [change for change in changes if change and self._changes.write(change)]
        return any(change.what != "checked" for change in written)

    def _start(
        self, catalog: EntityCatalog, entity: Entity, schedule: Schedule, run: StartRun
    ) -> bool:
        """Claims what it can of a run, and works on it. An instance whose place is taken stays
        READY, and leaves the worker to others.
        """
        if self._closed.is_set() or self._is_blocked(schedule.key) or not self._may_begin(run):
            return False
        if len(self._held()) >= self._limits.workers:
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
        places = {each.instance.key: self._actions.alone_in(each) for each in tasks}
        free = tuple(c for c in run.claims if not self._are_taken(places[c.before.key]))
        if not free:
            return False
        claimed = self._store.claim(
            replace(run, claims=free), self._name, self._limits.lease, self._clock.now(), places
        )
        if not claimed:
            self._turned_away = True
            return False
        first = claimed[0].key
        lease = InstanceLease(self._store, self._clock, claimed, self._limits.lease)
        with self._lock:
            self._leases[first] = lease
            self._places[first] = frozenset().union(*(places[each.key] for each in claimed))
        chosen = [each for each in tasks if each.instance in claimed]
        future = self._workers.submit(self._run_worker.work, chosen, lease)
        future.add_done_callback(lambda future: self._ended(first, future))
        return True

    def _may_begin(self, run: StartRun) -> bool:
        """Whether no instance has to run alone here: this one, one that runs, or one that waits
        until nothing else runs.
        """
        held = self._held()
        if any(runs_alone(each.before) for each in run.claims):
            self._alone |= bool(held)
            return not held
        if any(runs_alone(each) for lease in held for each in lease.instances):
            return False
        self._turned_away |= self._others_wait
        return not self._others_wait

    def _block(self, key: ScheduleKey) -> None:
        self._blocked[key] = time.monotonic() + _BLOCKED

    def _is_blocked(self, key: ScheduleKey) -> bool:
        """Whether another program works on the schedule's data, so that a try would be in vain."""
        if time.monotonic() < self._blocked.get(key, 0.0):
            return True
        self._blocked.pop(key, None)
        return False

    def _are_taken(self, places: frozenset[str]) -> bool:
        with self._lock:
            return any(places & each for each in self._places.values())

    def _ended(self, key: InstanceKey, future: "Future[None]") -> None:
        if self._places[key]:
            keys = [each.key for each in self._leases[key].instances]
            with suppress(StoreUnavailable):  # then they are free when the lease has ended
                self._store.release(keys, self._name)
        with self._lock:
            del self._leases[key], self._places[key]
        if not future.cancelled() and (error := future.exception()):
            self._emit({"event": "error", "entity": str(key), "message": repr(error)})
        self._woken.set()

    def _held(self) -> list[InstanceLease]:
        with self._lock:
            return list(self._leases.values())

    def _beat(self) -> None:
        while not self._closed.wait(self._limits.lease / 3):
            for lease in self._held():
                lease.renew(self._name)
