"""The store of entities, instances with their leases, and the log of events.

A change of an instance is written only if the instance still has the fence and state for which it
was decided; otherwise the method returns False. Leases are in the database's own time, so that
servers need no common clock.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from sqlalchemy import Connection

from database.database import open_database
from pipeline.falcon.entities.identity import EntityKey
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.instance import Instance, InstanceKey, ScheduleKey
from pipeline.scheduler.instances.plan import (
    MAX_OPEN,
    MAX_WAITING,
    CreateInstances,
    Situation,
    StartRun,
)
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.instances.work_records import OnChange, no_record
from pipeline.scheduler.store import queries
from pipeline.scheduler.store.instance_search import InstanceSearch
from pipeline.scheduler.store.migrations import MIGRATIONS
from pipeline.scheduler.store.schema import (
    MAX_TEXT,
    SCHEDULE,
    Alert,
    LogEntry,
    StoredEntity,
    alert_of,
    entities,
    entity_of,
    entity_values,
    horizons,
    instance_of,
    instance_values,
    instances,
    instances_of,
    log_entries,
    log_entry_of,
    of_entity,
    of_instance,
    of_schedule,
    places,
    schedule_of,
    schedule_values,
)

MAX_LOG = 2000  # entries kept of one instance
MAX_ENDED = 1000  # ended instances that `situation` reads
_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StateCount:
    """The instances of a schedule in one state: their number and the nominal time of the oldest."""

    number: int
    oldest: datetime


class Store:
    """Opens the store at `url`, creating or migrating its tables. Raises StoreUnavailable.

    `on_change` is called with each change of an instance that was written, for the history.
    """

    def __init__(self, url: str, on_change: OnChange = no_record) -> None:
        self._on_change = on_change
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
            return tuple(map(entity_of, connection.execute(queries.ALL_ENTITIES)))

    def entity(self, key: EntityKey) -> StoredEntity | None:
        with self._transaction() as connection:
            row = connection.execute(queries.ONE_ENTITY, of_entity(key)).one_or_none()
        return None if row is None else entity_of(row)

    def put(self, entity: StoredEntity) -> bool:
        """Inserts version 1, or replaces the version before `entity.version`. Returns False if
        another request has written that version already.
        """
        values = entity_values(entity)
        with self._transaction() as connection:
            if entity.version == 1:
                key = {"kind": entity.key.kind, "name": entity.key.name}
                return connection.execute(self._add_entity, {**key, **values}).rowcount == 1
            known = {**of_entity(entity.key), "of_version": entity.version - 1}
            return connection.execute(queries.REPLACE_ENTITY, {**known, **values}).rowcount == 1

    def delete(self, key: EntityKey) -> None:
        """Deletes the entity and its instances; the log stays."""
        with self._transaction() as connection:
            for statement in queries.DELETE_ENTITY:
                connection.execute(statement, of_entity(key))

    # Instances

    def situation(
        self,
        schedule: ScheduleKey,
        limit: int = MAX_OPEN + MAX_WAITING,
        newest_first: bool = False,
        read: datetime | None = None,
    ) -> Situation:
        """The input of `plan`: at most `limit` open instances, and at most MAX_ENDED ended ones
        after the time `read`.
        """
        key = of_schedule(schedule)
        open_query = queries.NEWEST_OPEN_INSTANCES if newest_first else queries.OPEN_INSTANCES
        after = {"of_read": read or _FIRST, "most": MAX_ENDED}
        with self._transaction() as connection:
            ended_rows = connection.execute(queries.UNSETTLED_INSTANCES, key | after).all()
            until = connection.execute(queries.UNTIL, key).scalar_one_or_none()
            open_rows = connection.execute(open_query, key | {"most": limit}).all()
        ended = instances_of(schedule, ended_rows)
        return Situation(
            created_until=until,
            open=instances_of(schedule, open_rows),
            ended=ended,
            read_until=ended[-1].nominal if len(ended) == MAX_ENDED else None,
        )

    def create(self, step: CreateInstances, now: datetime) -> None:
        """Adds instances that do not exist yet, and moves the schedule's horizon forward."""
        key = step.schedule.key
        rows = [
            *_new_rows(key, InstanceState.WAITING, step.nominals, now),
            *_new_rows(key, InstanceState.SKIPPED, step.skipped, now),
        ]
        until = schedule_values(key) | {"until": step.until}
        with self._transaction() as connection:
            if rows:
                connection.execute(self._add_instances, rows)
            connection.execute(self._move_horizon, until)

    def change(self, change: Change, now: datetime, channels: Collection[str] = ()) -> bool:
        """Writes the change, logs its message and adds an alert for each of `channels`. Returns
        False, and writes nothing, if the instance has changed meanwhile.
        """
        with self._transaction() as connection:
            if not _write_change(connection, change.before, change.after):
                return False
            if change.message:
                _add_log(connection, change.after.key, now, change.what, change.message)
            for channel in channels:
                connection.execute(
                    queries.ADD_ALERT, _log_values(change, now) | {"channel": channel}
                )
        self._on_change(change, now)
        return True

    def claim(
        self,
        run: StartRun,
        server: str,
        seconds: float,
        now: datetime,
        places: Mapping[InstanceKey, Collection[str]] | None = None,
    ) -> tuple[Instance, ...]:
        """Claims instances of the run, with their `places`, for `seconds`. Returns those claimed.

        None is claimed while `run.limit` runs of the schedule are under way or the entity is not
        RUNNING. An instance is left out if an instance of any server has one of its places.
        """
        schedule, claimed = run.claims[0].before.key.schedule, []
        with self._transaction() as connection:
            status = connection.execute(queries.LOCKED_STATUS, of_entity(schedule.entity)).scalar()
            if status != "RUNNING":
                return ()
            running = connection.execute(queries.COUNT_RUNS, of_schedule(schedule)).scalar_one()
            if running >= run.limit:
                return ()
            for each in run.claims:
                wanted = (places or {}).get(each.before.key, ())
                if self._claim(connection, each, server, seconds, wanted):
                    message = f"run {each.after.run}, attempt {each.after.attempt}, by {server}"
                    _add_log(connection, each.after.key, now, "started", message)
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
        """Claims one instance with all its places; returns False if it cannot have all of them."""
        key = change.after.key
        names = [sha256(each.encode()).hexdigest() for each in sorted(wanted)]
        holder = schedule_values(key.schedule) | {"nominal": key.nominal, "server": server}
        with connection.begin_nested() as attempt:
            if not _write_change(connection, change.before, change.after):
                return False
            connection.execute(
                queries.START_LEASE, of_instance(key) | {"seconds": seconds, "server": server}
            )
            if names:
                connection.execute(queries.FREE_PLACES, {"wanted": names})
            for name in names:
                if connection.execute(self._take_places, holder | {"place": name}).rowcount != 1:
                    attempt.rollback()
                    return False
        return True

    def release(self, keys: Collection[InstanceKey], server: str) -> None:
        """Frees the places of instances when their work on the server has ended. The places of a
        dead server are free when its leases end.
        """
        with self._transaction() as connection:
            for key in keys:
                connection.execute(queries.RELEASE_PLACES, of_instance(key) | {"of_server": server})

    def renew(self, instance: Instance, server: str, seconds: float) -> bool:
        """Renews the claim for `seconds`; returns False if it is lost."""
        claim = {"of_fence": instance.fence, "of_server": server, "seconds": seconds}
        with self._transaction() as connection:
            result = connection.execute(queries.RENEW_LEASE, of_instance(instance.key) | claim)
            return result.rowcount == 1

    def orphans(self) -> tuple[Instance, ...]:
        """RUNNING instances with an expired lease."""
        with self._transaction() as connection:
            return tuple(map(instance_of, connection.execute(queries.ORPHANS)))

    def running_owners(self) -> frozenset[str]:
        """The owners of RUNNING instances, also of dead servers."""
        with self._transaction() as connection:
            return frozenset(connection.execute(queries.RUNNING_OWNERS).scalars())

    def add_log_entry(self, key: InstanceKey, now: datetime, what: str, message: str) -> None:
        """Adds an entry to the instance's log; entries beyond MAX_LOG are deleted, oldest first."""
        with self._transaction() as connection:
            _add_log(connection, key, now, what, message)

    def record_fingerprint(self, instance: Instance) -> bool:
        """Stores the fingerprint of a RUNNING instance; returns False if the claim is lost."""
        values = {"of_fence": instance.fence, "fingerprint": instance.fingerprint}
        with self._transaction() as connection:
            result = connection.execute(
                queries.RECORD_FINGERPRINT, of_instance(instance.key) | values
            )
            return result.rowcount == 1

    def instances(
        self,
        key: EntityKey,
        start: datetime | None = None,
        end: datetime | None = None,
        states: Sequence[InstanceState] = (),
    ) -> tuple[Instance, ...]:
        """Instances of an entity with a nominal time from `start` to before `end`."""
        query = queries.INSTANCES
        if start is not None:
            query = query.where(instances.c.nominal >= start)
        if end is not None:
            query = query.where(instances.c.nominal < end)
        if states:
            query = query.where(instances.c.state.in_(states))
        with self._transaction() as connection:
            return tuple(map(instance_of, connection.execute(query, of_entity(key))))

    def search(self, search: InstanceSearch) -> tuple[Instance, ...]:
        """Instances of all entities, the newest nominal time first."""
        with self._transaction() as connection:
            return tuple(map(instance_of, connection.execute(search.statement())))

    def counts(self) -> Mapping[ScheduleKey, Mapping[InstanceState, StateCount]]:
        """The number of instances and the oldest one, by schedule and state."""
        found: dict[ScheduleKey, dict[InstanceState, StateCount]] = {}
        with self._transaction() as connection:
            for row in connection.execute(queries.STATE_COUNTS):
                found.setdefault(schedule_of(row), {})[row[5]] = StateCount(row[6], row[7])
        return found

    def horizons(self) -> Mapping[ScheduleKey, datetime]:
        """The time before which all instances exist, by schedule."""
        with self._transaction() as connection:
            return {schedule_of(row): row[5] for row in connection.execute(queries.HORIZONS)}

    # Alerts

    def channels_with(self, prefix: str) -> tuple[str, ...]:
        """The channels with this prefix that have undelivered alerts."""
        with self._transaction() as connection:
            found = connection.execute(queries.ALERT_CHANNELS, {"prefix": f"{prefix}%"})
            return tuple(found.scalars())

    def take_alerts(self, channel: str, seconds: float, most: int) -> tuple[Alert, ...]:
        """Alerts to deliver, oldest first; no other server takes them for `seconds`."""
        values = {"of_channel": channel, "seconds": seconds, "most": most}
        with self._transaction() as connection:
            found = map(alert_of, connection.execute(queries.TAKE_ALERTS, values).all())
            return tuple(sorted(found, key=lambda each: each.id))

    def delete_alerts(self, ids: Sequence[int]) -> None:
        with self._transaction() as connection:
            connection.execute(queries.DELETE_ALERTS, {"ids": list(ids)})

    def delete_alerts_before(self, time: datetime) -> int:
        """Deletes undelivered alerts from before a time; returns their number."""
        with self._transaction() as connection:
            return connection.execute(queries.DELETE_OLD_ALERTS, {"before": time}).rowcount

    def log(self, key: EntityKey, nominal: datetime | None = None) -> Iterator[LogEntry]:
        """The log entries of an entity, or only those of the time `nominal`, oldest first."""
        query = (
            queries.LOG if nominal is None else queries.LOG.where(log_entries.c.nominal == nominal)
        )
        with self._transaction() as connection:
            return map(log_entry_of, connection.execute(query, of_entity(key)).all())


def _new_rows(
    key: ScheduleKey, state: InstanceState, nominals: Sequence[datetime], now: datetime
) -> Iterator[dict[str, object]]:
    """Rows of instances that are created at `now` in `state`."""
    new = schedule_values(key) | instance_values(Instance(InstanceKey(key, now), state, now))
    return (new | {"nominal": nominal} for nominal in nominals)


def _write_change(connection: Connection, before: Instance, after: Instance) -> bool:
    """Writes `after` if the row still has the state and fence of `before`."""
    known = {"of_fence": before.fence, "of_state": before.state}
    values = of_instance(before.key) | known | instance_values(after)
    return connection.execute(queries.CHANGE_INSTANCE, values).rowcount == 1


def _log_values(change: Change, now: datetime) -> dict[str, object]:
    key = change.after.key
    entry = {"nominal": key.nominal, "at": now, "what": change.what}
    return schedule_values(key.schedule) | entry | {"message": change.message[:MAX_TEXT]}


def _add_log(
    connection: Connection, key: InstanceKey, now: datetime, what: str, message: str
) -> None:
    entry = {"nominal": key.nominal, "at": now, "what": what, "message": message[:MAX_TEXT]}
    connection.execute(queries.ADD_LOG, schedule_values(key.schedule) | entry)
    connection.execute(queries.TRIM_LOG, of_instance(key) | {"kept": MAX_LOG})
