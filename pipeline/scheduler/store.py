"""The store of entities, instances with their leases, and the log of events.

Every change of an instance has the fence of its decision; a change that comes too late writes
nothing and returns False. Leases are in the database's own time, so that servers need no
common clock. Statements are built once: SQLAlchemy then compiles each of them once.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    not_,
    or_,
    select,
    update,
)

from database.database import database_seconds, open_database
from pipeline.falcon.model import EntityKey
from pipeline.scheduler.instance import Instance, InstanceKey, ScheduleKey
from pipeline.scheduler.migrations import MIGRATIONS
from pipeline.scheduler.plan import MAX_OPEN, MAX_WAITING, Change, Create, Run, Situation
from pipeline.scheduler.schema import (
    INSTANCE_COLUMNS,
    INSTANCE_FIELDS,
    LOG_COLUMNS,
    MAX_TEXT,
    SCHEDULE,
    LogEntry,
    StoredEntity,
    any_instance_of,
    entities,
    entity_of,
    entity_values,
    horizons,
    instance_of,
    instance_values,
    instances,
    log_entries,
    log_entry_of,
    of_entity,
    of_instance,
    of_schedule,
    places,
    schedule_values,
    where,
)
from pipeline.scheduler.states import State

MAX_LOG = 2000  # entries kept of one instance
MAX_ENDED = 1000  # ended instances looked at in one go

_OF_ENTITY = where(entities, "kind", "name")
_ALL_ENTITIES = select(entities).order_by(entities.c.kind, entities.c.name)
_ONE_ENTITY = select(entities).where(_OF_ENTITY)
_LOCKED_STATUS = select(entities.c.status).where(_OF_ENTITY).with_for_update()
_REPLACE_ENTITY = update(entities).where(_OF_ENTITY, entities.c.version == bindparam("of_version"))
_DELETE_ENTITY = tuple(
    delete(table).where(where(table, "kind", "name")) for table in (entities, instances, horizons)
)

_OF_SCHEDULE = where(instances, *SCHEDULE)
_OF_INSTANCE = where(instances, *SCHEDULE, "nominal")
_FENCE = instances.c.fence == bindparam("of_fence")
_RUNNING = instances.c.state == State.RUNNING
_OPEN = instances.c.state.in_([state for state in State if state.open])
_UNSETTLED = or_(  # may still get late data, or wait once more after a time-out
    (instances.c.state == State.SUCCEEDED) & (instances.c.checks >= 0),
    (instances.c.state == State.TIMEDOUT) & instances.c.not_before.is_not(None),
)
_UNTIL = select(horizons.c.until).where(where(horizons, *SCHEDULE))
_OPEN_INSTANCES = (
    select(*INSTANCE_FIELDS)
    .where(_OF_SCHEDULE, _OPEN)
    .order_by(instances.c.nominal)
    .limit(bindparam("most"))
)
_NEWEST_OPEN_INSTANCES = _OPEN_INSTANCES.order_by(None).order_by(instances.c.nominal.desc())
_UNSETTLED_INSTANCES = (
    select(*INSTANCE_FIELDS)
    .where(_OF_SCHEDULE, _UNSETTLED)
    .order_by(instances.c.nominal)
    .limit(bindparam("most"))
)
_CHANGE_INSTANCE = update(instances).where(
    _OF_INSTANCE, _FENCE, instances.c.state == bindparam("of_state", type_=instances.c.state.type)
)
_RECORD_FINGERPRINT = update(instances).where(_OF_INSTANCE, _FENCE)
_COUNT_RUNS = (
    select(func.count(func.coalesce(instances.c.leader, instances.c.nominal).distinct()))
    .select_from(instances)
    .where(_OF_SCHEDULE, _RUNNING)
)
_LEASE_END = database_seconds() + bindparam("seconds", type_=instances.c.lease.type)
_START_LEASE = update(instances).where(_OF_INSTANCE).values(lease=_LEASE_END)
_RENEW_LEASE = (
    update(instances)
    .where(_OF_INSTANCE, _FENCE, _RUNNING, instances.c.server == bindparam("of_server"))
    .values(lease=_LEASE_END)
)
_ORPHANS = select(*INSTANCE_COLUMNS).where(
    _RUNNING, or_(instances.c.lease.is_(None), instances.c.lease < database_seconds())
)
_HOLDER = and_(*(places.c[name] == instances.c[name] for name in (*SCHEDULE, "nominal")))
_FREE_PLACES = delete(places).where(
    places.c.place.in_(bindparam("wanted", expanding=True)),
    not_(
        exists().where(
            _HOLDER,
            instances.c.server == places.c.server,
            instances.c.lease >= database_seconds(),
        )
    ),
)
_RELEASE_PLACES = delete(places).where(
    where(places, *SCHEDULE, "nominal"), places.c.server == bindparam("of_server")
)
_RUNNING_OWNERS = (
    select(entities.c.owner)
    .distinct()
    .join(instances, (entities.c.kind == instances.c.kind) & (entities.c.name == instances.c.name))
    .where(_RUNNING)
)
_INSTANCES = (
    select(*INSTANCE_COLUMNS)
    .where(where(instances, "kind", "name"))
    .order_by(instances.c.nominal, instances.c.action, instances.c.cluster, instances.c.source)
)

_OF_LOG = where(log_entries, *SCHEDULE, "nominal")
_LOG = select(*LOG_COLUMNS).where(where(log_entries, "kind", "name")).order_by(log_entries.c.id)
_ADD_LOG = insert(log_entries)
_NEWEST_LOG = log_entries.alias()
_TRIM_LOG = delete(log_entries).where(
    _OF_LOG,
    log_entries.c.id
    <= select(_NEWEST_LOG.c.id)
    .where(where(_NEWEST_LOG, *SCHEDULE, "nominal"))
    .order_by(_NEWEST_LOG.c.id.desc())
    .limit(1)
    .offset(bindparam("kept"))
    .scalar_subquery(),
)


class Store:
    """Opens the store at `url`, creating or migrating its tables. Raises StoreUnavailable."""

    def __init__(self, url: str) -> None:
        self._database = open_database(url)
        upsert = self._database.insert
        add_entity = upsert(entities).on_conflict_do_nothing()
        self._add_entity = add_entity.execution_options(preserve_rowcount=True)
        self._add_instances = upsert(instances).on_conflict_do_nothing()
        take_places = upsert(places).on_conflict_do_nothing()
        self._take_places = take_places.execution_options(preserve_rowcount=True)
        added = upsert(horizons)
        self._move_horizon = added.on_conflict_do_update(
            index_elements=SCHEDULE,
            set_={"until": added.excluded.until},
            where=horizons.c.until < added.excluded.until,
        )
        self._database.migrate(MIGRATIONS)

    def _transaction(self) -> AbstractContextManager[Connection]:
        return self._database.transaction()

    # Entities

    def entities(self) -> tuple[StoredEntity, ...]:
        with self._transaction() as connection:
            return tuple(map(entity_of, connection.execute(_ALL_ENTITIES)))

    def entity(self, key: EntityKey) -> StoredEntity | None:
        with self._transaction() as connection:
            row = connection.execute(_ONE_ENTITY, of_entity(key)).one_or_none()
        return None if row is None else entity_of(row)

    def put(self, entity: StoredEntity) -> bool:
        """Insert version 1, or replace the version before `entity.version`.

        False: another request has written that version already.
        """
        values = entity_values(entity)
        with self._transaction() as connection:
            if entity.version == 1:
                key = {"kind": entity.key.kind, "name": entity.key.name}
                return connection.execute(self._add_entity, {**key, **values}).rowcount == 1
            known = {**of_entity(entity.key), "of_version": entity.version - 1}
            return connection.execute(_REPLACE_ENTITY, {**known, **values}).rowcount == 1

    def delete(self, key: EntityKey) -> None:
        """Deletes the entity and its instances; the log stays."""
        with self._transaction() as connection:
            for statement in _DELETE_ENTITY:
                connection.execute(statement, of_entity(key))

    # Instances

    def situation(
        self, schedule: ScheduleKey, limit: int = MAX_OPEN + MAX_WAITING, newest_first: bool = False
    ) -> Situation:
        """The input of `plan`; at most `limit` open instances."""
        key = of_schedule(schedule)
        opened = _NEWEST_OPEN_INSTANCES if newest_first else _OPEN_INSTANCES
        with self._transaction() as connection:
            return Situation(
                created_until=connection.execute(_UNTIL, key).scalar_one_or_none(),
                open=_instances(connection, schedule, opened, limit),
                ended=_instances(connection, schedule, _UNSETTLED_INSTANCES, MAX_ENDED),
            )

    def create(self, step: Create, now: datetime) -> None:
        """Adds missing instances and moves the horizon forward."""
        key = step.schedule.key
        rows = [
            *_new_rows(key, State.WAITING, step.nominals, now),
            *_new_rows(key, State.SKIPPED, step.skipped, now),
        ]
        until = schedule_values(key) | {"until": step.until}
        with self._transaction() as connection:
            if rows:
                connection.execute(self._add_instances, rows)
            connection.execute(self._move_horizon, until)

    def change(self, change: Change, now: datetime) -> bool:
        """Write the change if its fence still holds; True if written. Logs its message."""
        with self._transaction() as connection:
            if not _change(connection, change.before, change.after):
                return False
            if change.message:
                _log(connection, change.after.key, now, change.what, change.message)
        return True

    def claim(
        self,
        run: Run,
        server: str,
        seconds: float,
        now: datetime,
        places: Mapping[InstanceKey, Collection[str]] | None = None,
    ) -> tuple[Instance, ...]:
        """Claims instances of the run for `seconds`, and their `places`; returns those claimed.

        Claims nothing while `limit` runs of the schedule are under way, and no instance whose place
        another instance has, on any server.
        """
        schedule, claimed = run.claims[0].before.key.schedule, []
        with self._transaction() as connection:
            status = connection.execute(_LOCKED_STATUS, of_entity(schedule.entity)).scalar()
            if status != "RUNNING":
                return ()
            if connection.execute(_COUNT_RUNS, of_schedule(schedule)).scalar_one() >= run.limit:
                return ()
            for each in run.claims:
                wanted = (places or {}).get(each.before.key, ())
                if self._claim(connection, each, server, seconds, wanted):
                    message = f"run {each.after.run}, attempt {each.after.attempt}, by {server}"
                    _log(connection, each.after.key, now, "started", message)
                    claimed.append(each.after)
        return tuple(claimed)

    def _claim(
        self,
        connection: Connection,
        change: Change,
        server: str,
        seconds: float,
        wanted: Collection[str],
    ) -> bool:
        """Claims one instance with its places, or nothing."""
        key = change.after.key
        names = [sha256(each.encode()).hexdigest() for each in sorted(wanted)]
        holder = schedule_values(key.schedule) | {"nominal": key.nominal, "server": server}
        with connection.begin_nested() as attempt:
            if not _change(connection, change.before, change.after):
                return False
            connection.execute(
                _START_LEASE, of_instance(key) | {"seconds": seconds, "server": server}
            )
            if names:
                connection.execute(_FREE_PLACES, {"wanted": names})
            for name in names:
                if connection.execute(self._take_places, holder | {"place": name}).rowcount != 1:
                    attempt.rollback()
                    return False
        return True

    def release(self, keys: Collection[InstanceKey], server: str) -> None:
        """Frees the places of instances whose work has ended on the server. Those of a dead server
        are free when its leases have ended.
        """
        with self._transaction() as connection:
            for key in keys:
                connection.execute(_RELEASE_PLACES, of_instance(key) | {"of_server": server})

    def renew(self, instance: Instance, server: str, seconds: float) -> bool:
        """Renews the claim for `seconds`; False: it is lost."""
        claim = {"of_fence": instance.fence, "of_server": server, "seconds": seconds}
        with self._transaction() as connection:
            return connection.execute(_RENEW_LEASE, of_instance(instance.key) | claim).rowcount == 1

    def orphans(self) -> tuple[Instance, ...]:
        """RUNNING instances with an expired lease."""
        with self._transaction() as connection:
            return tuple(map(any_instance_of, connection.execute(_ORPHANS)))

    def running_owners(self) -> frozenset[str]:
        """The owners of RUNNING instances, also of dead servers."""
        with self._transaction() as connection:
            return frozenset(connection.execute(_RUNNING_OWNERS).scalars())

    def note(self, key: InstanceKey, now: datetime, what: str, message: str) -> None:
        """Adds an entry to the instance's log; entries beyond MAX_LOG are deleted, oldest first."""
        with self._transaction() as connection:
            _log(connection, key, now, what, message)

    def record(self, instance: Instance) -> bool:
        """Stores the fingerprint of a RUNNING instance's inputs; False: the claim is lost."""
        values = {"of_fence": instance.fence, "fingerprint": instance.fingerprint}
        with self._transaction() as connection:
            result = connection.execute(_RECORD_FINGERPRINT, of_instance(instance.key) | values)
            return result.rowcount == 1

    def instances(
        self,
        key: EntityKey,
        start: datetime | None = None,
        end: datetime | None = None,
        states: Sequence[State] = (),
    ) -> tuple[Instance, ...]:
        """Instances of an entity with a nominal time from `start` to before `end`."""
        query = _INSTANCES
        if start is not None:
            query = query.where(instances.c.nominal >= start)
        if end is not None:
            query = query.where(instances.c.nominal < end)
        if states:
            query = query.where(instances.c.state.in_(states))
        with self._transaction() as connection:
            return tuple(map(any_instance_of, connection.execute(query, of_entity(key))))

    def log(self, key: EntityKey, nominal: datetime | None = None) -> Iterator[LogEntry]:
        """The entries of an entity, or of one time of it, oldest first."""
        query = _LOG if nominal is None else _LOG.where(log_entries.c.nominal == nominal)
        with self._transaction() as connection:
            return map(log_entry_of, connection.execute(query, of_entity(key)).all())


def _new_rows(
    key: ScheduleKey, state: State, nominals: Sequence[datetime], now: datetime
) -> Iterator[dict[str, object]]:
    """Rows of instances that are created at `now` in `state`."""
    new = schedule_values(key) | instance_values(Instance(InstanceKey(key, now), state, now))
    return (new | {"nominal": nominal} for nominal in nominals)


def _instances(
    connection: Connection, schedule: ScheduleKey, query: Select[Any], most: int
) -> tuple[Instance, ...]:
    rows = connection.execute(query, {**of_schedule(schedule), "most": most})
    return tuple(instance_of(schedule, row) for row in rows)


def _change(connection: Connection, before: Instance, after: Instance) -> bool:
    """Writes only if the row still has the state and fence of the decision."""
    known = {"of_fence": before.fence, "of_state": before.state}
    values = of_instance(before.key) | known | instance_values(after)
    return connection.execute(_CHANGE_INSTANCE, values).rowcount == 1


def _log(connection: Connection, key: InstanceKey, now: datetime, what: str, message: str) -> None:
    entry = {"nominal": key.nominal, "at": now, "what": what, "message": message[:MAX_TEXT]}
    connection.execute(_ADD_LOG, schedule_values(key.schedule) | entry)
    connection.execute(_TRIM_LOG, of_instance(key) | {"kept": MAX_LOG})
