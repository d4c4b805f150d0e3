"""Requests of users about entities and instances: submit, schedule, update, rerun and so on.

Each function checks the rules, then changes the store, and returns the result as text. `user` is
the caller; only the submitter may change an entity (FA-S1).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from pipeline.falcon.calendar import format_time
from pipeline.falcon.documents import document
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.entities.process import Engine, Process
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.errors import BadDocument, DocumentProblem
from pipeline.falcon.rules import entity_rules
from pipeline.scheduler.errors import CannotSchedule, InUse, NotYours, UnknownEntity, WrongState
from pipeline.scheduler.instances import changes
from pipeline.scheduler.instances.instance import Instance, InstanceAction
from pipeline.scheduler.instances.schedule import Schedule, of_feed, of_process
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState, NoTransition
from pipeline.scheduler.store.schema import StoredEntity
from pipeline.scheduler.store.store import Store

_SCHEDULED = (Kind.FEED, Kind.PROCESS)
SUBMITTED, RUNNING, SUSPENDED = "SUBMITTED", "RUNNING", "SUSPENDED"
Engines = Callable[[Engine], str | None]
"""Why processes of this engine cannot run here; None if they can."""
MetastoreProblems = Callable[[Entity, EntitySet, str], Iterable[DocumentProblem]]
"""The problems of a submitter's entity in the metastores: missing tables, other owners."""


@dataclass(frozen=True, slots=True)
class EntityCatalog:
    """All entities at one moment: as rows of the store, and parsed."""

    stored: Mapping[EntityKey, StoredEntity]
    entities: Mapping[EntityKey, Entity]
    entity_set: EntitySet = field(default_factory=EntitySet)

    def owner(self, key: EntityKey) -> str:
        return self.stored[key].owner

    def running(self) -> Iterator[tuple[EntityKey, Entity]]:
        return ((k, self.entities[k]) for k, s in self.stored.items() if s.status == RUNNING)

    def all_schedules(self) -> Iterator[Schedule]:
        for key in self.stored:
            if key.kind in _SCHEDULED and self.stored[key].scheduled is not None:
                yield from schedules_of(self, key)


class CatalogReader:
    """Reads all entities of a store at each call, and parses each stored document once.

    The cache's key is the document, because the version of an entity that was deleted and submitted
    again starts at 1.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._parsed: dict[bytes, Entity] = {}

    def read(self) -> EntityCatalog:
        """All entities as they are stored now."""
        stored = {each.key: each for each in self._store.entities()}
        known = self._parsed
        entities = {
            key: known.get(each.document) or document.read(each.document)
            for key, each in stored.items()
        }
        self._parsed = {each.document: entities[key] for key, each in stored.items()}
        return _catalog_of(stored, entities)


def read_catalog(store: Store) -> EntityCatalog:
    return CatalogReader(store).read()


def _catalog_of(
    stored: Mapping[EntityKey, StoredEntity], entities: Mapping[EntityKey, Entity]
) -> EntityCatalog:
    return EntityCatalog(stored, entities, EntitySet.of(entities.values()))


def schedules_of(
    catalog: EntityCatalog, key: EntityKey, now: datetime | None = None
) -> tuple[Schedule, ...]:
    """The schedules of an entity. For one that is not scheduled yet: as if scheduled at `now`."""
    entity = catalog.entities[key]
    if isinstance(entity, Feed):
        scheduled = catalog.stored[key].scheduled or now or catalog.stored[key].submitted
        return of_feed(entity, scheduled)
    if isinstance(entity, Process):
        return of_process(entity, catalog.entity_set.feed)
    return ()


def submit(
    store: Store, data: bytes, user: str, now: datetime, metastore_problems: MetastoreProblems
) -> str:
    """Stores a new entity. A repetition with the same document changes nothing. Raises WrongState,
    BadDocument, NotYours.
    """
    entity = document.read(data)
    catalog = read_catalog(store)
    stored = catalog.stored.get(entity.key)
    if stored is not None:
        _check_owner(stored, user)
        if catalog.entities[entity.key] == entity:
            return f"{entity.key} is submitted already"
        raise WrongState(f"{entity.key} is there with another definition: update it")
    _refuse(entity_rules.problems(entity, catalog.entity_set), str(entity.key))
    _refuse(tuple(metastore_problems(entity, catalog.entity_set, user)), str(entity.key))
    row = StoredEntity(entity.key, user, data, SUBMITTED, now, None, 1)
    if not store.put(row):
        raise WrongState(f"{entity.key} was submitted by another request just now")
    return f"{entity.key} submitted"


def _refuse(problems: tuple[DocumentProblem, ...], source: str) -> None:
    """Raises BadDocument if there are problems."""
    if problems:
        raise BadDocument(problems, source)


def update(
    store: Store,
    key: EntityKey,
    data: bytes,
    user: str,
    now: datetime,
    metastore_problems: MetastoreProblems,
) -> str:
    """Replaces an entity's document. The entities that refer to it must stay valid.

    Open instances of schedules that the entity no longer has are killed.
    """
    entity = document.read(data)
    catalog = read_catalog(store)
    stored = require_owner(catalog, key, user)
    if entity.key != key:
        raise WrongState(f"the document is {entity.key}, not {key}")
    after = _catalog_of(catalog.stored, {**catalog.entities, key: entity})
    _refuse(entity_rules.problems(entity, after.entity_set), str(key))
    for dependent in dependents(catalog, key):
        _refuse(entity_rules.problems(after.entities[dependent], after.entity_set), str(dependent))
    _refuse(tuple(metastore_problems(entity, after.entity_set, user)), str(key))
    _check_start(store, schedules_of(catalog, key, now), schedules_of(after, key, now))
    if not store.put(replace(stored, document=data, version=stored.version + 1)):
        raise WrongState(f"{key} was changed by another request just now")
    kept = {each.key for each in schedules_of(after, key, now)}
    gone = [
        each
        for each in store.instances(key, states=[s for s in InstanceState if s.open])
        if each.key.schedule not in kept
    ]
    change_instances(store, gone, InstanceEvent.KILL, now, user)
    return f"{key} updated"


def _check_start(store: Store, old: Iterable[Schedule], new: Iterable[Schedule]) -> None:
    """Raises WrongState if a schedule would start before its existing instances, because instances
    are created in order.
    """
    starts = {each.key: each.calendar.at(0) for each in old}
    for each in new:
        start, before = each.calendar.at(0), starts.get(each.key)
        if before is None or start >= before:
            continue
        if store.situation(each.key, limit=1).created_until is not None:
            raise WrongState(
                f"{each.key} has instances from {format_time(before)} on, so its validity cannot"
                f" begin at {format_time(start)}: submit another entity for the time before"
            )


def schedule(
    store: Store,
    key: EntityKey,
    user: str,
    now: datetime,
    engines: Engines,
    metastore_problems: MetastoreProblems,
) -> str:
    """Starts the instances of a submitted entity. Raises CannotSchedule with the reason why it
    cannot run here.
    """
    catalog = read_catalog(store)
    stored = require_owner(catalog, key, user)
    if key.kind not in _SCHEDULED:
        raise WrongState(f"a {key.kind.value} is not scheduled; feeds and processes are")
    if stored.status != SUBMITTED:
        raise WrongState(f"{key} is {stored.status} already")
    entity = catalog.entities[key]
    problems = [
        # An earlier release may have accepted it.
        *entity_rules.problems(entity, catalog.entity_set),
        *entity_rules.unsupported(entity, engines),
        *metastore_problems(entity, catalog.entity_set, user),
    ]
    if problems:
        raise CannotSchedule(f"{key}: " + "; ".join(map(str, problems)))
    _put_status(store, stored, RUNNING, scheduled=now)
    counts = ", ".join(
        f"{each.key}: {each.count()} instances"
        for each in schedules_of(read_catalog(store), key)
        if each.key.action
        in (
            InstanceAction.REPLICATE,
            InstanceAction.PROCESS,
            InstanceAction.IMPORT,
            InstanceAction.EXPORT,
        )
    )
    return f"{key} scheduled" + (f" ({counts})" if counts else "")


def suspend(store: Store, key: EntityKey, user: str) -> str:
    """Starts no further instances of an entity; running instances continue to their end."""
    return _switch(store, key, user, RUNNING, SUSPENDED, "suspended")


def resume(store: Store, key: EntityKey, user: str) -> str:
    return _switch(store, key, user, SUSPENDED, RUNNING, "resumed")


def _switch(store: Store, key: EntityKey, user: str, old: str, new: str, past: str) -> str:
    stored = require_owner(read_catalog(store), key, user)
    if stored.status != old:
        raise WrongState(f"{key} is {stored.status}, not {old}")
    _put_status(store, stored, new, scheduled=stored.scheduled)
    return f"{key} {past}"


def _put_status(
    store: Store, stored: StoredEntity, status: str, scheduled: datetime | None
) -> None:
    row = replace(stored, status=status, scheduled=scheduled, version=stored.version + 1)
    if not store.put(row):
        raise WrongState(f"{stored.key} was changed by another request just now")


def delete(store: Store, key: EntityKey, user: str) -> str:
    """Deletes an entity and its instances. Raises InUse while others refer to it."""
    catalog = read_catalog(store)
    require_owner(catalog, key, user)
    if users := dependents(catalog, key):
        raise InUse(f"{key} is used by " + ", ".join(map(str, users)))
    store.delete(key)
    return f"{key} deleted"


def find(catalog: EntityCatalog, key: EntityKey) -> StoredEntity:
    """The stored entity. Raises UnknownEntity."""
    try:
        return catalog.stored[key]
    except KeyError:
        raise UnknownEntity(f"no {key} was submitted") from None


def _check_owner(stored: StoredEntity, user: str) -> None:
    """Raises NotYours unless `user` submitted the entity."""
    if stored.owner != user:
        raise NotYours(f"{stored.key} belongs to {stored.owner}, not to {user}.")


def require_owner(catalog: EntityCatalog, key: EntityKey, user: str) -> StoredEntity:
    """The stored entity. Raises UnknownEntity, or NotYours unless `user` submitted it."""
    stored = find(catalog, key)
    _check_owner(stored, user)
    return stored


def dependencies(catalog: EntityCatalog, key: EntityKey) -> tuple[EntityKey, ...]:
    """The entities to which an entity refers."""
    entity = catalog.entities[key]
    found: set[EntityKey] = set()
    if isinstance(entity, Feed | Process):
        found |= {EntityKey(Kind.CLUSTER, each.name) for each in entity.clusters}
    if isinstance(entity, Feed):
        exchanges = (each for cluster in entity.clusters for each in cluster.exchanges)
        found |= {EntityKey(Kind.DATASOURCE, each.datasource) for each in exchanges}
    if isinstance(entity, Process):
        found |= {EntityKey(Kind.FEED, each.feed) for each in entity.inputs}
        found |= {EntityKey(Kind.FEED, each.feed) for each in entity.outputs}
    return tuple(sorted(found, key=lambda each: (each.kind.value, each.name)))


def dependents(catalog: EntityCatalog, key: EntityKey) -> tuple[EntityKey, ...]:
    """The entities that refer to an entity."""
    return tuple(each for each in catalog.entities if key in dependencies(catalog, each))


def change_instances(
    store: Store, instances: Iterable[Instance], event: InstanceEvent, now: datetime, user: str
) -> tuple[list[Instance], list[str]]:
    """Kills, suspends, resumes or reruns instances. Returns the changed ones, and for each other
    one the reason why it was not changed.
    """
    done: list[Instance] = []
    refused: list[str] = []
    for each in instances:
        try:
            change = _change_of(each, event, now)
        except NoTransition as error:
            refused.append(f"{each.key}: {error}")
            continue
        if store.change(replace(change, message=f"{event.value} by {user}"), now):
            done.append(change.after)
        else:
            refused.append(f"{each.key}: changed just now, ask again")
    return done, refused


def _change_of(instance: Instance, event: InstanceEvent, now: datetime) -> changes.Change:
    """The change of an instance by an event. Raises states.NoTransition."""
    match event:
        case InstanceEvent.RERUN:
            return changes.rerun(instance, now)
        case InstanceEvent.RESUME:
            return changes.resume(instance, now)
        case _:
            return changes.move(instance, event, now)


def rerunnable(instance: Instance, force: bool) -> bool:
    """Whether a rerun is possible: the instance has ended; if it SUCCEEDED, only with `force`."""
    return not instance.state.open and (force or instance.state is not InstanceState.SUCCEEDED)
