"""Operators' requests to a lifecycle server: lists, lag, metrics, and changes of instances.

Results are JSON values. Changes are made as the server's user, who must be the entity's submitter.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from prometheus_client import Metric, generate_latest
from prometheus_client.registry import Collector

from database.errors import StoreUnavailable
from pipeline.falcon.calendar import format_time, parse_time
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.retention.plan import RetentionPlan
from pipeline.scheduler import entity_service
from pipeline.scheduler.clock import Clock
from pipeline.scheduler.errors import BadRequest, UnknownEntity
from pipeline.scheduler.eviction_plans import PlanEviction, eviction_plans
from pipeline.scheduler.instances.instance import Instance, InstanceAction, InstanceKey, ScheduleKey
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from pipeline.scheduler.lag import Lag, lags
from pipeline.scheduler.server import SchedulerServer
from pipeline.scheduler.store.instance_search import InstanceSearch
from pipeline.scheduler.store.store import Store

Query = Mapping[str, Sequence[str]]
"""The parameters of a request, each with its values."""

EVENTS = {
    "rerun": InstanceEvent.RERUN,
    "kill": InstanceEvent.KILL,
    "suspend": InstanceEvent.SUSPEND,
    "resume": InstanceEvent.RESUME,
}
FAMILIES = {
    "causeway_lifecycle_lag_seconds": (
        "gauge",
        ("kind", "name", "action", "cluster", "source", "table"),
        "Seconds since the oldest instance was due whose data the target lacks; failed ones count.",
    ),
    "causeway_lifecycle_instances": (
        "gauge",
        ("kind", "name", "action", "cluster", "source", "state"),
        "Instances by state.",
    ),
    "causeway_lifecycle_ended_total": (
        "counter",
        ("action", "state"),
        "Runs of instances that ended on this server, and instances that timed out.",
    ),
    "causeway_lifecycle_runs": ("gauge", (), "Runs under way on this server."),
    "causeway_lifecycle_round_age_seconds": (
        "gauge",
        (),
        "Seconds since this server's last round over all entities ended.",
    ),
    "causeway_lifecycle_queue": (
        "gauge",
        ("queue",),
        "Copies and instances that wait to be written to the history or sent to telemetry.",
    ),
    "causeway_lifecycle_dropped_total": (
        "counter",
        ("queue",),
        "Copies and instances that the history or telemetry lacks.",
    ),
}
# Counters start at 0, because Prometheus finds no increase in a series that begins with 1.
_NONE_ENDED = {
    (action, state): 0
    for action in InstanceAction
    for state in (InstanceState.SUCCEEDED, InstanceState.FAILED, InstanceState.TIMEDOUT)
}
_STALLED = 600.0  # seconds without the end of a round, after which a server is stalled
_PAGE, _LARGEST_PAGE = 100, 1000
_MOST_CHANGES = 10_000  # instances that one request may change


class RecordQueue(Protocol):
    """A queue of records for the history or for telemetry."""

    @property
    def waiting(self) -> int: ...

    @property
    def dropped(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Operations:
    """The requests to `server`. `queues` has its queues of records by name."""

    store: Store
    server: SchedulerServer
    clock: Clock
    user: str
    plan_eviction: PlanEviction
    queues: Mapping[str, RecordQueue] = field(default_factory=dict)

    # Show

    def health(self) -> dict[str, str]:
        """The server's `status`: ok, stalled or store unavailable."""
        if self.server.round_age() > _STALLED:
            return {"status": "stalled"}
        try:
            self.store.running_owners()
        except StoreUnavailable as error:
            return {"status": "store unavailable", "message": str(error)}
        return {"status": "ok"}

    def entities(self, query: Query) -> list[dict[str, Any]]:
        """All entities; with `documents=true` each has its document."""
        documents = _last_value(query, "documents") == "true"
        return [
            {
                "kind": each.key.kind.value,
                "name": each.key.name,
                "owner": each.owner,
                "status": each.status,
                "scheduled": each.scheduled and format_time(each.scheduled),
            }
            | ({"document": each.document.decode(errors="replace")} if documents else {})
            for each in self.store.entities()
        ]

    def log(self, key: EntityKey, query: Query) -> list[dict[str, Any]]:
        """The newest entries of an entity's log, oldest first; with `start` only those of the
        instances of that time. Raises BadRequest.
        """
        try:
            nominal = _time_of(query, "start")
        except ValueError as error:
            raise BadRequest(f"{error}.") from None
        newest = deque(self.store.log(key, nominal), _LARGEST_PAGE)
        return [
            {
                **_schedule_json(each.instance.schedule),
                "instance": format_time(each.instance.nominal),
                "at": f"{each.at:%Y-%m-%dT%H:%M:%SZ}",
                "what": each.what,
                "message": each.message,
            }
            for each in newest
        ]

    def retention(self, key: EntityKey) -> list[dict[str, Any]]:
        """What retention would drop now of a running feed of the server's user, by cluster. Raises
        UnknownEntity, MetastoreError.
        """
        entity_service.find(entity_service.read_catalog(self.store), key)
        found = eviction_plans(self.store, self.plan_eviction, self.user, self.clock.now(), key)
        return [
            {**_schedule_json(schedule), "plan": plan and _plan_json(plan)}
            for schedule, plan in found
        ]

    def instances(self, query: Query) -> dict[str, Any]:
        """A page of instances, newest first; `next` is the `after` of the next page, or null.
        Raises BadRequest.
        """
        search = _search(query)
        found = self.store.search(search)
        more = len(found) == search.limit
        return {
            "instances": [_instance_json(each) for each in found],
            "next": _cursor(found[-1].key) if more else None,
        }

    def lag(self) -> list[dict[str, Any]]:
        return [
            {
                **_schedule_json(each.schedule),
                "table": each.table,
                "seconds": each.seconds,
                "open": each.open,
                "failed": each.failed,
            }
            for each in self._lags()
        ]

    def _lags(self) -> list[Lag]:
        catalog = entity_service.read_catalog(self.store)
        counts, horizons = self.store.counts(), self.store.horizons()
        return list(lags(catalog, counts, horizons, self.clock.now()))

    def metrics(self) -> str:
        """The metrics in Prometheus's text format."""
        samples: list[tuple[str, tuple[str, ...], float]] = [
            ("causeway_lifecycle_runs", (), self.server.runs()),
            ("causeway_lifecycle_round_age_seconds", (), self.server.round_age()),
        ]
        samples += [
            ("causeway_lifecycle_ended_total", (action.value, state.value), count)
            for (action, state), count in (_NONE_ENDED | Counter(self.server.ended)).items()
        ]
        for name, queue in self.queues.items():
            samples.append(("causeway_lifecycle_queue", (name,), queue.waiting))
            samples.append(("causeway_lifecycle_dropped_total", (name,), queue.dropped))
        for each in self._lags():
            labels = (*_schedule_json(each.schedule).values(), each.table)
            samples.append(("causeway_lifecycle_lag_seconds", labels, each.seconds))
        for key, states in self.store.counts().items():
            labels = tuple(_schedule_json(key).values())
            samples += [
                ("causeway_lifecycle_instances", (*labels, state.value), found.number)
                for state, found in states.items()
            ]
        return generate_latest(_Samples(samples)).decode()

    # Change

    def change_instances(self, key: EntityKey, action: str, query: Query) -> dict[str, Any]:
        """Reruns, kills, suspends or resumes instances of an entity from `start` to before `end`;
        without `end` only those at `start`. A rerun of an instance that succeeded needs
        `force=true`.

        Raises BadRequest, UnknownEntity, NotYours.
        """
        event = EVENTS[action]
        entity_service.require_owner(entity_service.read_catalog(self.store), key, self.user)
        search = _search({**query, "kind": [key.kind.value], "name": [key.name]})
        if search.start is None:
            raise BadRequest("start=TIME (and end=TIME) name the instances.")
        end = search.end or search.start + timedelta(minutes=1)
        search = InstanceSearch(search.equal, search.states, search.start, end, limit=_MOST_CHANGES)
        found = self.store.search(search)
        if not found:
            raise UnknownEntity(f"{key} has no such instance.")
        force = _last_value(query, "force") == "true"
        if event is InstanceEvent.RERUN:
            chosen = [each for each in found if entity_service.rerunnable(each, force)]
        else:
            chosen = [each for each in found if each.state.open]
        done, refused = entity_service.change_instances(
            self.store, chosen, event, self.clock.now(), self.user
        )
        refused += [f"{each.key} is {each.state.value}" for each in found if each not in chosen]
        return {"changed": [_instance_json(each) for each in done], "refused": refused}

    def change_entity(self, key: EntityKey, action: str) -> dict[str, str]:
        """Suspends or resumes an entity. Raises UnknownEntity, NotYours, WrongState."""
        change: Callable[[Store, EntityKey, str], str] = (
            entity_service.suspend if action == "suspend" else entity_service.resume
        )
        return {"changed": change(self.store, key, self.user)}


def entity_key(kind: str, name: str) -> EntityKey:
    """The key of an entity. Raises UnknownEntity for an unknown kind."""
    try:
        return EntityKey(Kind(kind), name)
    except ValueError:
        raise UnknownEntity(f"there is no kind {kind!r}") from None


def _search(query: Query) -> InstanceSearch:
    """The search of a request's parameters. Raises BadRequest."""
    known = {*_COLUMNS, "state", "start", "end", "after", "limit", "force"}
    if unknown := sorted(set(query) - known):
        raise BadRequest(f"there is no parameter {unknown[0]!r} ({', '.join(sorted(known))}).")
    try:
        after = _last_value(query, "after")
        limit = int(_last_value(query, "limit") or _PAGE)
        if not 1 <= limit <= _LARGEST_PAGE:
            raise ValueError(f"limit is from 1 to {_LARGEST_PAGE}")
        return InstanceSearch(
            equal={
                name: parse(value)
                for name, parse in _COLUMNS.items()
                if (value := _last_value(query, name)) is not None
            },
            states=[InstanceState(each) for each in query.get("state", ())],
            start=_time_of(query, "start"),
            end=_time_of(query, "end"),
            after=_key_of(after) if after else None,
            limit=limit,
        )
    except ValueError as error:
        raise BadRequest(f"{error}.") from None


_COLUMNS: Mapping[str, Callable[[str], object]] = {
    "kind": Kind,
    "name": str,
    "action": InstanceAction,
    "cluster": str,
    "source": str,
}


def _last_value(query: Query, name: str) -> str | None:
    values = query.get(name, ())
    return values[-1] if values else None


def _time_of(query: Query, name: str) -> datetime | None:
    text = _last_value(query, name)
    return parse_time(text) if text else None


def _cursor(key: InstanceKey) -> str:
    return " ".join((format_time(key.nominal), *_schedule_json(key.schedule).values()))


def _key_of(cursor: str) -> InstanceKey:
    """The key in a cursor, the inverse of `_cursor`. Raises ValueError."""
    parts = cursor.split(" ")
    if len(parts) != 6:
        raise ValueError(f"after is not the `next` of a page: {cursor!r}")
    nominal, kind, name, action, cluster, source = parts
    schedule = ScheduleKey(EntityKey(Kind(kind), name), InstanceAction(action), cluster, source)
    return InstanceKey(schedule, parse_time(nominal))


def _schedule_json(key: ScheduleKey) -> dict[str, str]:
    return {
        "kind": key.entity.kind.value,
        "name": key.entity.name,
        "action": key.action.value,
        "cluster": key.cluster,
        "source": key.source,
    }


def _instance_json(one: Instance) -> dict[str, Any]:
    return {
        **_schedule_json(one.key.schedule),
        "instance": format_time(one.nominal),
        "state": one.state.value,
        "run": one.run,
        "attempt": one.attempt,
        "started": one.started and format_time(one.started),
        "ended": one.ended and format_time(one.ended),
        "detail": one.detail,
    }


def _plan_json(plan: RetentionPlan) -> dict[str, Any]:
    return {
        "table": str(plan.table),
        "cutoff": format_time(plan.cutoff),
        "condition": plan.condition,
        "drop": len(plan.evictions),
        "drop_copies": len(plan.copies),
        "kept": plan.kept,
        "needed": len(plan.needed),
        "undated": len(plan.undated),
        "first": [str(each) for each in (*plan.copies, *plan.evictions)[:_PAGE]],
    }


class _Samples(Collector):
    def __init__(self, samples: Sequence[tuple[str, tuple[str, ...], float]]) -> None:
        self._samples = samples

    def collect(self) -> list[Metric]:
        metrics = {
            name: Metric(name.removesuffix("_total"), about, kind)
            for name, (kind, _, about) in FAMILIES.items()
        }
        for name, labels, value in self._samples:
            names = FAMILIES[name][1]
            metrics[name].add_sample(name, dict(zip(names, labels, strict=True)), value)
        return list(metrics.values())
