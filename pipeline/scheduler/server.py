"""Executes the steps of `plan`: checks inputs, claims instances, works, renews leases.

Several services may share one store. An instance is run by the one that claimed it, for as
long as it renews its lease; the loss of a lease stops the work before it takes effect, and a
late report is refused by the fence.
"""

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from conf.errors import CausewayError
from database.errors import StoreUnavailable
from pipeline.errors import ActionFailed, AnotherCopyRuns, InputsGone, LeaseLost, SparkLost
from pipeline.falcon.calendar import format_time
from pipeline.falcon.inputs import Seen, fingerprint, missing
from pipeline.falcon.model import Entity, EntityKey, Order
from pipeline.scheduler.actions.work import Actions, Result, Task
from pipeline.scheduler.alerts import is_alert
from pipeline.scheduler.clock import Clock
from pipeline.scheduler.entity_service import CatalogReader, EntityCatalog, schedules_of
from pipeline.scheduler.instance import Action, Instance, InstanceKey, ScheduleKey
from pipeline.scheduler.instance_lease import InstanceLease
from pipeline.scheduler.plan import (
    MAX_LOOKS,
    Blocked,
    Change,
    Create,
    Failed,
    Interrupted,
    Look,
    Outcome,
    Run,
    Situation,
    Succeeded,
    Vanished,
    after_look,
    after_run,
    hand_back,
    plan,
    recover,
)
from pipeline.scheduler.schedule import Schedule
from pipeline.scheduler.states import State
from pipeline.scheduler.store.store import Store

Emit = Callable[[Mapping[str, object]], None]
_BLOCKED = 30.0  # seconds until the next try where another program works on the same data


@dataclass(frozen=True, slots=True)
class Limits:
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
        limits: Limits | None = None,
        emit: Emit = lambda _: None,
        alert_channels: Collection[str] = (),
    ) -> None:
        """`alert_channels` are the ways in which an `AlertSender` delivers alerts."""
        self._store = store
        self._catalog = CatalogReader(store)
        self._actions = actions
        self._clock = clock
        self._name = name
        self._limits = limits or Limits()
        self._emit = emit
        self._alert_channels = alert_channels
        self.ended: Counter[tuple[Action, State]] = Counter()
        self._round = time.monotonic()
        self._workers = ThreadPoolExecutor(self._limits.workers, thread_name_prefix="work")
        self._leases: dict[InstanceKey, InstanceLease] = {}  # by the first instance of each run
        self._places: dict[InstanceKey, frozenset[str]] = {}
        self._looked: dict[ScheduleKey, datetime] = {}  # where there is more to look at
        self._blocked: dict[ScheduleKey, float] = {}  # until which monotonic time
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
        while time.monotonic() < end and not (stop and stop.is_set()):
            self._woken.clear()
            # Read before the round: an instance that ends during it may make others due.
            working = bool(self._held()) or self._claimed() or bool(self._blocked)
            if not self.tick() and not self._looked and not self._turned_away:
                if not working:
                    return
                self._woken.wait(1.0)

    def _claimed(self) -> bool:
        """Whether a server runs an instance of the user."""
        owners = self._store.running_owners()
        return bool(owners) if self._limits.user is None else self._limits.user in owners

    def tick(self) -> bool:
        """One round over all entities; True if anything was done."""
        now = self._clock.now()
        self._turned_away = False
        done = [self._change(recover(each, now)) for each in self._store.orphans()]
        catalog = self._catalog.read()
        for key, entity in catalog.running():
            if self._limits.user not in (None, catalog.owner(key)):
                continue
            done.append(self._tick_entity(catalog, key, entity, now))
        self._round = time.monotonic()
        return any(done)

    def round_age(self) -> float:
        """Seconds since the last round ended."""
        return time.monotonic() - self._round

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
        situation = self._store.situation(schedule.key, newest_first=newest_first)
        steps = plan(schedule, situation, now, self._looked.pop(schedule.key, None))
        looks = [step for step in steps if isinstance(step, Look)]
        done = self._look(catalog, schedule, looks, now) if looks else False
        waiting = [each.instance for each in looks if each.instance.state is State.WAITING]
        if len(waiting) == MAX_LOOKS:
            self._looked[schedule.key] = waiting[-1].nominal
        for step in steps:
            match step:
                case Create():
                    self._store.create(step, now)
                    done = True
                case Change():
                    done |= self._change(step)
                case Run():
                    done |= self._start(catalog, entity, schedule, step)
                case Look():
                    pass
        return done

    def _look(
        self, catalog: EntityCatalog, schedule: Schedule, looks: list[Look], now: datetime
    ) -> bool:
        needs = [need for look in looks for need in look.needs]
        owner = catalog.owner(schedule.key.entity)
        seen = self._actions.look(needs, catalog.entity_set, owner)
        changes = (after_look(schedule, look, seen, now) for look in looks)
        written = [change for change in changes if change and self._change(change)]
        return any(change.what != "checked" for change in written)

    def _change(self, change: Change) -> bool:
        channels = self._alert_channels if is_alert(change) else ()
        written = self._store.change(change, self._clock.now(), channels)
        ran = change.before.state is State.RUNNING
        if written and (ran or change.after.state is State.TIMEDOUT):
            self.ended[change.after.key.schedule.action, change.after.state] += 1
        if written and change.message:
            self._tell(change.after, change.what, change.message)
        return written

    def _tell(self, instance: Instance, what: str, message: str) -> None:
        self._emit(
            {
                "event": what,
                "entity": str(instance.key.schedule.entity),
                "action": instance.key.schedule.action.value,
                "cluster": instance.key.schedule.cluster,
                "instance": format_time(instance.nominal),
                "state": instance.state.value,
                "run": instance.run,
                "attempt": instance.attempt,
                "message": message,
            }
        )

    def _start(self, catalog: EntityCatalog, entity: Entity, schedule: Schedule, run: Run) -> bool:
        """Claims what it can of a run, and works on it. An instance whose place is taken stays
        READY, and leaves the worker to others.
        """
        if len(self._held()) >= self._limits.workers or self._closed.is_set():
            return False
        if self._is_blocked(schedule.key):
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
        future = self._workers.submit(self._work, chosen, lease)
        future.add_done_callback(lambda future: self._ended(first, future))
        return True

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

    def _work(self, tasks: Sequence[Task], lease: InstanceLease) -> None:
        """Does the work of a run and records the end of its instances, in a worker's thread."""
        for task in tasks:
            self._tell(task.instance, "started", "")
        try:
            ends = self._outcomes(tasks, lease)
        except LeaseLost as lost:
            self._hand_back(lease.instances, str(lost))
            return
        for outcome, running in ends:
            if isinstance(outcome, Blocked):
                self._blocked[running.key.schedule] = time.monotonic() + _BLOCKED
            if lease.lost and not isinstance(outcome, Succeeded):
                self._hand_back([running], outcome.reason)
                continue
            change = after_run(tasks[0].schedule, running, outcome, self._clock.now())
            self._record_end(lease, change)

    def _outcomes(
        self, tasks: Sequence[Task], lease: InstanceLease
    ) -> list[tuple[Outcome, Instance]]:
        """The outcome of each task, and its instance with the fingerprint of its inputs."""
        ends: list[tuple[Outcome, Instance]] = []
        ready = list(tasks)
        try:
            looked = list(self._look_again(tasks))
            ready = [task for task, missing_inputs in looked if not missing_inputs]
            ends = [
                (Vanished(f"no longer there: {missing_inputs}"), task.instance)
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
            outcomes = [Failed(f"{type(error).__name__}: {error}")] * len(ready)
        instances = (each.instance for each in ready)
        return [*ends, *zip(outcomes, instances, strict=True)]

    def _look_again(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, str]]:
        """Each task with the fingerprint of its inputs, or with the names of the missing ones."""
        needs = {task.instance.key: task.schedule.needs(task.instance.nominal) for task in tasks}
        wanted = [need for each in needs.values() for need in each]
        seen: Seen = {}
        if wanted:
            seen = self._actions.look(wanted, tasks[0].entity_set, tasks[0].owner)
        for task in tasks:
            own = needs[task.instance.key]
            look = fingerprint(own, seen) if own else ""
            if look is None:
                yield task, str(missing(own, seen))
                continue
            running = replace(task.instance, fingerprint=look) if own else task.instance
            if own and not self._store.record(running):
                raise LeaseLost("taken over before it began")
            yield replace(task, instance=running), ""

    def _act(self, tasks: Sequence[Task], lease: InstanceLease) -> list[Result]:
        match tasks[0].schedule.key.action:
            case Action.REPLICATE:
                return self._actions.replicate(tasks, lease)
            case Action.EVICT:
                return [self._actions.evict(each, lease) for each in tasks]
            case Action.PROCESS:
                return [self._actions.process(each, lease) for each in tasks]
            case Action.WATCH:
                return ["the data exists" for _ in tasks]

    def _record_end(self, lease: InstanceLease, change: Change) -> None:
        """Tries until the lease has certainly expired; then another server runs the instance.

        The fence refuses the change if the claim is lost, so trying is always safe.
        """
        message = change.message or change.after.detail or change.what
        change = replace(change, message=message)
        while True:
            with suppress(StoreUnavailable):
                if not self._change(change):
                    self._emit({"event": "too late", "entity": str(change.after.key)})
                return
            if lease.lost:
                return
            time.sleep(min(1.0, self._limits.lease / 10))

    def _hand_back(self, instances: Sequence[Instance], why: str) -> None:
        """Frees each claim at once if this server still has it (when it stops)."""
        for each in instances:
            self._tell(each, "stopped", why)
            with suppress(StoreUnavailable):
                if self._store.renew(each, self._name, self._limits.lease):
                    self._change(hand_back(each, self._clock.now(), why))

    def _beat(self) -> None:
        while not self._closed.wait(self._limits.lease / 3):
            for lease in self._held():
                lease.renew(self._name)


def _outcome_of(result: Result) -> Outcome:
    match result:
        case str():
            return Succeeded(result)
        case SparkLost():
            return Interrupted(str(result))
        case InputsGone():
            return Vanished(str(result))
        case AnotherCopyRuns():
            return Blocked(str(result))
        case ActionFailed():
            return Failed(str(result), result.final)
        case _:
            return Failed(str(result))


def needed_by_open_work(
    store: Store, catalog: EntityCatalog, eviction: Schedule
) -> Callable[[datetime], bool]:
    """Whether open work needs the feed's instance of a time; reads the store at the first call."""

    @cache
    def holders() -> tuple[Callable[[datetime], bool], ...]:
        return tuple(_holders(store, catalog, eviction))

    return lambda time: any(holds(time) for holds in holders())


def _holders(
    store: Store, catalog: EntityCatalog, eviction: Schedule
) -> Iterator[Callable[[datetime], bool]]:
    feed, cluster = eviction.key.entity, eviction.key.cluster
    for schedule in catalog.all_schedules():
        key = schedule.key
        if key.entity == feed and key.source == cluster:
            yield _replicating(schedule, store.situation(key))
        elif key.action is Action.PROCESS and key.cluster == cluster:
            yield _reading(schedule, store.situation(key), feed.name)


def _replicating(schedule: Schedule, situation: Situation) -> Callable[[datetime], bool]:
    """Times of instances that have to be copied: open ones, and those not created yet."""
    nominals = {each.nominal for each in situation.open}
    first = situation.created_until or schedule.calendar.at(0)
    return lambda time: time in nominals or first <= time < schedule.end


def _reading(schedule: Schedule, situation: Situation, feed: str) -> Callable[[datetime], bool]:
    """Times of instances that open work of a process reads."""
    needs = (need for each in situation.open for need in schedule.needs(each.nominal))
    times = {need.time for need in needs if need.feed == feed}
    return times.__contains__
