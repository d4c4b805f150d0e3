"""What is kept: entities, instances with their leases, and the log of what happened.

Every change of an instance says which fence it was decided on; one that came too late changes
nothing and says so. Leases are in the database's own time, so servers need no common clock.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime

from pipeline.entities.model import EntityKey, Kind
from pipeline.lifecycle.database import Database, Row, Transaction, connect
from pipeline.lifecycle.errors import StoreUnavailable
from pipeline.lifecycle.instance import Action, Instance, InstanceKey, ScheduleKey
from pipeline.lifecycle.plan import MAX_OPEN, Change, Create, Run, Situation
from pipeline.lifecycle.states import State

VERSION = "1"
MAX_LOG = 2000  # entries kept of one instance
MAX_ENDED = 1000  # ended instances looked at in one go
_TEXT = 8000

_KEY = "kind, name, action, cluster, source"
_COLUMNS = (
    "nominal, state, created, run, attempt, recoveries, not_before, started, ended,"
    " fingerprint, checks, alerts, fence, late, detail"
)
_OF_SCHEDULE = "kind = ? AND name = ? AND action = ? AND cluster = ? AND source = ?"


def _schema(database: Database) -> tuple[str, ...]:
    return (
        "CREATE TABLE IF NOT EXISTS about (version TEXT PRIMARY KEY)",
        f"""CREATE TABLE IF NOT EXISTS entity (
            kind TEXT, name TEXT, owner TEXT NOT NULL, document {database.blob} NOT NULL,
            status TEXT NOT NULL, submitted TEXT NOT NULL, scheduled TEXT,
            version INTEGER NOT NULL, PRIMARY KEY (kind, name))""",
        f"""CREATE TABLE IF NOT EXISTS instance (
            kind TEXT, name TEXT, action TEXT, cluster TEXT, source TEXT, nominal TEXT,
            state TEXT NOT NULL, created TEXT NOT NULL, run INTEGER NOT NULL,
            attempt INTEGER NOT NULL, recoveries INTEGER NOT NULL, not_before TEXT,
            started TEXT, ended TEXT, fingerprint TEXT NOT NULL, checks INTEGER NOT NULL,
            alerts INTEGER NOT NULL, fence INTEGER NOT NULL, late TEXT NOT NULL,
            detail TEXT NOT NULL, server TEXT, lease DOUBLE PRECISION,
            PRIMARY KEY ({_KEY}, nominal))""",
        f"CREATE INDEX IF NOT EXISTS instance_state ON instance ({_KEY}, state)",
        "CREATE INDEX IF NOT EXISTS instance_lease ON instance (state, lease)",
        f"""CREATE TABLE IF NOT EXISTS horizon (
            kind TEXT, name TEXT, action TEXT, cluster TEXT, source TEXT,
            until TEXT NOT NULL, PRIMARY KEY ({_KEY}))""",
        f"""CREATE TABLE IF NOT EXISTS log (
            id {database.serial}, at TEXT NOT NULL, kind TEXT, name TEXT, action TEXT,
            cluster TEXT, source TEXT, nominal TEXT, what TEXT NOT NULL, message TEXT NOT NULL)""",
        f"CREATE INDEX IF NOT EXISTS log_instance ON log ({_KEY}, nominal)",
    )


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """A submitted document. `status` is SUBMITTED, RUNNING or SUSPENDED."""

    key: EntityKey
    owner: str
    document: bytes
    status: str
    submitted: datetime
    scheduled: datetime | None
    version: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    at: datetime
    instance: InstanceKey
    what: str
    message: str


class Store:
    """Opens (and makes) the tables at `url`. Raises StoreUnavailable."""

    def __init__(self, url: str) -> None:
        self._database = connect(url)
        with self._transaction() as t:
            t.rows(self._database.turn)
            for statement in _schema(self._database):
                t.run(statement)
            known = [row[0] for row in t.rows("SELECT version FROM about")]
            if not known:
                t.run("INSERT INTO about (version) VALUES (?)", VERSION)
        if known not in ([], [VERSION]):
            raise StoreUnavailable(f"{url} was made by another version ({known[0]}) of Causeway")

    def _transaction(self) -> AbstractContextManager[Transaction]:
        return self._database.transaction()

    # Entities

    def entities(self) -> tuple[StoredEntity, ...]:
        with self._transaction() as t:
            return tuple(map(_entity, t.rows(f"SELECT {_ENTITY} FROM entity ORDER BY kind, name")))

    def entity(self, key: EntityKey) -> StoredEntity | None:
        with self._transaction() as t:
            rows = t.rows(
                f"SELECT {_ENTITY} FROM entity WHERE kind = ? AND name = ?",
                key.kind.value,
                key.name,
            )
        return _entity(rows[0]) if rows else None

    def put(self, entity: StoredEntity) -> bool:
        """Insert, or replace the version before `entity.version`. False: another was faster."""
        values = (
            entity.owner,
            entity.document,
            entity.status,
            _text(entity.submitted),
            _text(entity.scheduled),
            entity.version,
            entity.key.kind.value,
            entity.key.name,
        )
        with self._transaction() as t:
            if entity.version == 1:
                return (
                    t.run(
                        "INSERT INTO entity (owner, document, status, submitted, scheduled,"
                        " version, kind, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                        " ON CONFLICT DO NOTHING",
                        *values,
                    )
                    == 1
                )
            return (
                t.run(
                    "UPDATE entity SET owner = ?, document = ?, status = ?, submitted = ?,"
                    " scheduled = ?, version = ? WHERE kind = ? AND name = ? AND version = ?",
                    *values,
                    entity.version - 1,
                )
                == 1
            )

    def delete(self, key: EntityKey) -> None:
        """The entity with its instances; the log stays."""
        with self._transaction() as t:
            for table in ("entity", "instance", "horizon"):
                t.run(f"DELETE FROM {table} WHERE kind = ? AND name = ?", key.kind.value, key.name)

    # Instances

    def situation(
        self, schedule: ScheduleKey, limit: int = MAX_OPEN * 2, newest_first: bool = False
    ) -> Situation:
        """What `plan` needs to know; at most `limit` open instances."""
        key = _schedule_values(schedule)
        direction = "DESC" if newest_first else "ASC"
        with self._transaction() as t:
            until = t.rows(f"SELECT until FROM horizon WHERE {_OF_SCHEDULE}", *key)
            opened = t.rows(
                f"SELECT {_COLUMNS} FROM instance WHERE {_OF_SCHEDULE}"
                " AND state IN ('WAITING', 'READY', 'RUNNING')"
                f" ORDER BY nominal {direction} LIMIT ?",
                *key,
                limit,
            )
            ended = t.rows(
                f"SELECT {_COLUMNS} FROM instance WHERE {_OF_SCHEDULE}"
                " AND ((state = 'SUCCEEDED' AND checks >= 0)"
                " OR (state = 'TIMEDOUT' AND not_before IS NOT NULL)) ORDER BY nominal LIMIT ?",
                *key,
                MAX_ENDED,
            )
        return Situation(
            created_until=_time(until[0][0]) if until else None,
            open=tuple(_instance(schedule, row) for row in opened),
            ended=tuple(_instance(schedule, row) for row in ended),
        )

    def create(self, step: Create, now: datetime) -> None:
        """Add the instances that are not there yet and move the horizon on."""
        key = _schedule_values(step.schedule.key)
        rows = [
            *((*key, _text(each), "WAITING", _text(now)) for each in step.nominals),
            *((*key, _text(each), "SKIPPED", _text(now)) for each in step.skipped),
        ]
        with self._transaction() as t:
            t.many(
                f"INSERT INTO instance ({_KEY}, nominal, state, created, run, attempt,"
                " recoveries, fingerprint, checks, alerts, fence, late, detail)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, '', 0, 0, 0, '', '')"
                " ON CONFLICT DO NOTHING",
                rows,
            )
            t.run(
                f"INSERT INTO horizon ({_KEY}, until) VALUES (?, ?, ?, ?, ?, ?)"
                f" ON CONFLICT ({_KEY}) DO UPDATE SET until = excluded.until"
                " WHERE horizon.until < excluded.until",
                *key,
                _text(step.until),
            )

    def change(self, change: Change, now: datetime) -> bool:
        """Write the change if nobody was faster; True if written. Logs what has a message."""
        with self._transaction() as t:
            if not _write(t, change.before, change.after):
                return False
            if change.message:
                _log(t, change.after.key, now, change.what, change.message)
        return True

    def claim(self, run: Run, server: str, seconds: float, now: datetime) -> bool:
        """Take the instance for `seconds`, unless its schedule has `limit` running already."""
        key = _schedule_values(run.before.key.schedule)
        with self._transaction() as t:
            rows = t.rows(
                f"SELECT status FROM entity WHERE kind = ? AND name = ?{self._database.lock}",
                *key[:2],
            )
            if not rows or rows[0][0] != "RUNNING":
                return False
            running = t.rows(
                f"SELECT count(*) FROM instance WHERE {_OF_SCHEDULE} AND state = 'RUNNING'", *key
            )
            if running[0][0] >= run.limit or not _write(t, run.before, run.after):
                return False
            t.run(
                f"UPDATE instance SET server = ?, lease = {self._database.clock} + ?"
                f" WHERE {_OF_SCHEDULE} AND nominal = ?",
                server,
                seconds,
                *key,
                _text(run.after.nominal),
            )
            message = f"run {run.after.run}, attempt {run.after.attempt}, by {server}"
            _log(t, run.after.key, now, "started", message)
        return True

    def renew(self, instance: Instance, server: str, seconds: float) -> bool:
        """Keep the claim for `seconds` more; False: it is lost."""
        with self._transaction() as t:
            return (
                t.run(
                    f"UPDATE instance SET lease = {self._database.clock} + ? WHERE {_OF_SCHEDULE}"
                    " AND nominal = ? AND fence = ? AND state = 'RUNNING' AND server = ?",
                    seconds,
                    *_schedule_values(instance.key.schedule),
                    _text(instance.nominal),
                    instance.fence,
                    server,
                )
                == 1
            )

    def orphans(self) -> tuple[Instance, ...]:
        """RUNNING instances whose lease is over."""
        with self._transaction() as t:
            rows = t.rows(
                f"SELECT {_KEY}, {_COLUMNS} FROM instance WHERE state = 'RUNNING'"
                f" AND (lease IS NULL OR lease < {self._database.clock})"
            )
        return tuple(_keyed(row) for row in rows)

    def running_owners(self) -> frozenset[str]:
        """Whose entities have RUNNING instances, whether their servers live or not."""
        with self._transaction() as t:
            rows = t.rows(
                "SELECT DISTINCT owner FROM entity JOIN instance"
                " ON entity.kind = instance.kind AND entity.name = instance.name"
                " WHERE instance.state = 'RUNNING'"
            )
        return frozenset(row[0] for row in rows)

    def note(self, key: InstanceKey, now: datetime, what: str, message: str) -> None:
        """An entry of the instance's log; the oldest beyond MAX_LOG go."""
        with self._transaction() as t:
            _log(t, key, now, what, message)

    def record(self, instance: Instance) -> bool:
        """Keep the fingerprint of a RUNNING instance's inputs; False: the claim is lost."""
        with self._transaction() as t:
            changed = t.run(
                f"UPDATE instance SET fingerprint = ? WHERE {_OF_SCHEDULE} AND nominal = ?"
                " AND fence = ?",
                instance.fingerprint,
                *_schedule_values(instance.key.schedule),
                _text(instance.nominal),
                instance.fence,
            )
        return changed == 1

    def instances(
        self,
        key: EntityKey,
        start: datetime | None = None,
        end: datetime | None = None,
        states: Sequence[State] = (),
    ) -> tuple[Instance, ...]:
        """Instances of an entity with a nominal time from `start` to before `end`."""
        sql = f"SELECT {_KEY}, {_COLUMNS} FROM instance WHERE kind = ? AND name = ?"
        values: list[object] = [key.kind.value, key.name]
        if start is not None:
            sql, values = sql + " AND nominal >= ?", [*values, _text(start)]
        if end is not None:
            sql, values = sql + " AND nominal < ?", [*values, _text(end)]
        if states:
            marks = ", ".join("?" * len(states))
            sql, values = f"{sql} AND state IN ({marks})", [*values, *(s.value for s in states)]
        with self._transaction() as t:
            rows = t.rows(f"{sql} ORDER BY nominal, action, cluster, source", *values)
        return tuple(_keyed(row) for row in rows)

    def log(self, key: EntityKey, nominal: datetime | None = None) -> Iterator[LogEntry]:
        sql = f"SELECT at, {_KEY}, nominal, what, message FROM log WHERE kind = ? AND name = ?"
        values: list[object] = [key.kind.value, key.name]
        if nominal is not None:
            sql, values = sql + " AND nominal = ?", [*values, _text(nominal)]
        with self._transaction() as t:
            rows = t.rows(f"{sql} ORDER BY id", *values)
        for row in rows:
            schedule = _schedule(row[1:6])
            yield LogEntry(_time(row[0]), InstanceKey(schedule, _time(row[6])), row[7], row[8])


_ENTITY = "kind, name, owner, document, status, submitted, scheduled, version"


def _write(t: Transaction, before: Instance, after: Instance) -> bool:
    """Fenced: only over the very state that the decision was made on."""
    return (
        t.run(
            "UPDATE instance SET state = ?, created = ?, run = ?, attempt = ?, recoveries = ?,"
            " not_before = ?, started = ?, ended = ?, fingerprint = ?, checks = ?, alerts = ?,"
            f" fence = ?, late = ?, detail = ? WHERE {_OF_SCHEDULE} AND nominal = ?"
            " AND fence = ? AND state = ?",
            after.state.value,
            _text(after.created),
            after.run,
            after.attempt,
            after.recoveries,
            _text(after.not_before),
            _text(after.started),
            _text(after.ended),
            after.fingerprint,
            after.checks,
            after.alerts,
            after.fence,
            after.late,
            after.detail[:_TEXT],
            *_schedule_values(before.key.schedule),
            _text(before.nominal),
            before.fence,
            before.state.value,
        )
        == 1
    )


def _log(t: Transaction, key: InstanceKey, now: datetime, what: str, message: str) -> None:
    schedule = _schedule_values(key.schedule)
    t.run(
        f"INSERT INTO log (at, {_KEY}, nominal, what, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _text(now),
        *schedule,
        _text(key.nominal),
        what,
        message[:_TEXT],
    )
    t.run(
        f"DELETE FROM log WHERE {_OF_SCHEDULE} AND nominal = ? AND id <= (SELECT id FROM log"
        f" WHERE {_OF_SCHEDULE} AND nominal = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
        *schedule,
        _text(key.nominal),
        *schedule,
        _text(key.nominal),
        MAX_LOG,
    )


def _schedule_values(key: ScheduleKey) -> tuple[str, str, str, str, str]:
    entity = key.entity
    return entity.kind.value, entity.name, key.action.value, key.cluster, key.source


def _schedule(row: Row) -> ScheduleKey:
    return ScheduleKey(EntityKey(Kind(row[0]), row[1]), Action(row[2]), row[3], row[4])


def _keyed(row: Row) -> Instance:
    return _instance(_schedule(row[:5]), row[5:])


def _instance(schedule: ScheduleKey, row: Row) -> Instance:
    return Instance(
        key=InstanceKey(schedule, _time(row[0])),
        state=State(row[1]),
        created=_time(row[2]),
        run=row[3],
        attempt=row[4],
        recoveries=row[5],
        not_before=_time_or_none(row[6]),
        started=_time_or_none(row[7]),
        ended=_time_or_none(row[8]),
        fingerprint=row[9],
        checks=row[10],
        alerts=row[11],
        fence=row[12],
        late=row[13],
        detail=row[14],
    )


def _entity(row: Row) -> StoredEntity:
    return StoredEntity(
        key=EntityKey(Kind(row[0]), row[1]),
        owner=row[2],
        document=bytes(row[3]),
        status=row[4],
        submitted=_time(row[5]),
        scheduled=_time_or_none(row[6]),
        version=row[7],
    )


def _text(time: datetime | None) -> str | None:
    """Sortable text to the second; a year has four digits."""
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def _time_or_none(text: str | None) -> datetime | None:
    return None if text is None else _time(text)
