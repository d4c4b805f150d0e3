"""What is kept: entities, instances with their leases, and the log of what happened.

Every change of an instance says which fence it was decided on; one that came too late changes
nothing and says so. Leases are in the database's own time, so servers need no common clock.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from pipeline.falcon.model import EntityKey
from pipeline.scheduler.database import Database, Transaction, connect
from pipeline.scheduler.errors import StoreUnavailable
from pipeline.scheduler.instance import Instance, InstanceKey, ScheduleKey
from pipeline.scheduler.plan import MAX_OPEN, Change, Create, Run, Situation
from pipeline.scheduler.rows import (
    COLUMNS,
    ENTITY,
    KEY,
    OF_SCHEDULE,
    LogEntry,
    StoredEntity,
    entity_of,
    instance_of,
    keyed,
    schedule_of,
    schedule_values,
    text_of,
    time_of,
)
from pipeline.scheduler.states import State

VERSION = "1"
MAX_LOG = 2000  # entries kept of one instance
MAX_ENDED = 1000  # ended instances looked at in one go
_TEXT = 8000


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
            PRIMARY KEY ({KEY}, nominal))""",
        f"CREATE INDEX IF NOT EXISTS instance_state ON instance ({KEY}, state)",
        "CREATE INDEX IF NOT EXISTS instance_lease ON instance (state, lease)",
        f"""CREATE TABLE IF NOT EXISTS horizon (
            kind TEXT, name TEXT, action TEXT, cluster TEXT, source TEXT,
            until TEXT NOT NULL, PRIMARY KEY ({KEY}))""",
        f"""CREATE TABLE IF NOT EXISTS log (
            id {database.serial}, at TEXT NOT NULL, kind TEXT, name TEXT, action TEXT,
            cluster TEXT, source TEXT, nominal TEXT, what TEXT NOT NULL, message TEXT NOT NULL)""",
        f"CREATE INDEX IF NOT EXISTS log_instance ON log ({KEY}, nominal)",
    )


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
            return tuple(map(entity_of, t.rows(f"SELECT {ENTITY} FROM entity ORDER BY kind, name")))

    def entity(self, key: EntityKey) -> StoredEntity | None:
        with self._transaction() as t:
            rows = t.rows(
                f"SELECT {ENTITY} FROM entity WHERE kind = ? AND name = ?",
                key.kind.value,
                key.name,
            )
        return entity_of(rows[0]) if rows else None

    def put(self, entity: StoredEntity) -> bool:
        """Insert, or replace the version before `entity.version`. False: another was faster."""
        values = (
            entity.owner,
            entity.document,
            entity.status,
            text_of(entity.submitted),
            text_of(entity.scheduled),
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
        key = schedule_values(schedule)
        direction = "DESC" if newest_first else "ASC"
        with self._transaction() as t:
            until = t.rows(f"SELECT until FROM horizon WHERE {OF_SCHEDULE}", *key)
            opened = t.rows(
                f"SELECT {COLUMNS} FROM instance WHERE {OF_SCHEDULE}"
                " AND state IN ('WAITING', 'READY', 'RUNNING')"
                f" ORDER BY nominal {direction} LIMIT ?",
                *key,
                limit,
            )
            ended = t.rows(
                f"SELECT {COLUMNS} FROM instance WHERE {OF_SCHEDULE}"
                " AND ((state = 'SUCCEEDED' AND checks >= 0)"
                " OR (state = 'TIMEDOUT' AND not_before IS NOT NULL)) ORDER BY nominal LIMIT ?",
                *key,
                MAX_ENDED,
            )
        return Situation(
            created_until=time_of(until[0][0]) if until else None,
            open=tuple(instance_of(schedule, row) for row in opened),
            ended=tuple(instance_of(schedule, row) for row in ended),
        )

    def create(self, step: Create, now: datetime) -> None:
        """Add the instances that are not there yet and move the horizon on."""
        key = schedule_values(step.schedule.key)
        rows = [
            *((*key, text_of(each), "WAITING", text_of(now)) for each in step.nominals),
            *((*key, text_of(each), "SKIPPED", text_of(now)) for each in step.skipped),
        ]
        with self._transaction() as t:
            t.many(
                f"INSERT INTO instance ({KEY}, nominal, state, created, run, attempt,"
                " recoveries, fingerprint, checks, alerts, fence, late, detail)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, '', 0, 0, 0, '', '')"
                " ON CONFLICT DO NOTHING",
                rows,
            )
            t.run(
                f"INSERT INTO horizon ({KEY}, until) VALUES (?, ?, ?, ?, ?, ?)"
                f" ON CONFLICT ({KEY}) DO UPDATE SET until = excluded.until"
                " WHERE horizon.until < excluded.until",
                *key,
                text_of(step.until),
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
        key = schedule_values(run.before.key.schedule)
        with self._transaction() as t:
            rows = t.rows(
                f"SELECT status FROM entity WHERE kind = ? AND name = ?{self._database.lock}",
                *key[:2],
            )
            if not rows or rows[0][0] != "RUNNING":
                return False
            running = t.rows(
                f"SELECT count(*) FROM instance WHERE {OF_SCHEDULE} AND state = 'RUNNING'", *key
            )
            if running[0][0] >= run.limit or not _write(t, run.before, run.after):
                return False
            t.run(
                f"UPDATE instance SET server = ?, lease = {self._database.clock} + ?"
                f" WHERE {OF_SCHEDULE} AND nominal = ?",
                server,
                seconds,
                *key,
                text_of(run.after.nominal),
            )
            message = f"run {run.after.run}, attempt {run.after.attempt}, by {server}"
            _log(t, run.after.key, now, "started", message)
        return True

    def renew(self, instance: Instance, server: str, seconds: float) -> bool:
        """Keep the claim for `seconds` more; False: it is lost."""
        with self._transaction() as t:
            return (
                t.run(
                    f"UPDATE instance SET lease = {self._database.clock} + ? WHERE {OF_SCHEDULE}"
                    " AND nominal = ? AND fence = ? AND state = 'RUNNING' AND server = ?",
                    seconds,
                    *schedule_values(instance.key.schedule),
                    text_of(instance.nominal),
                    instance.fence,
                    server,
                )
                == 1
            )

    def orphans(self) -> tuple[Instance, ...]:
        """RUNNING instances whose lease is over."""
        with self._transaction() as t:
            rows = t.rows(
                f"SELECT {KEY}, {COLUMNS} FROM instance WHERE state = 'RUNNING'"
                f" AND (lease IS NULL OR lease < {self._database.clock})"
            )
        return tuple(keyed(row) for row in rows)

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
                f"UPDATE instance SET fingerprint = ? WHERE {OF_SCHEDULE} AND nominal = ?"
                " AND fence = ?",
                instance.fingerprint,
                *schedule_values(instance.key.schedule),
                text_of(instance.nominal),
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
        sql = f"SELECT {KEY}, {COLUMNS} FROM instance WHERE kind = ? AND name = ?"
        values: list[object] = [key.kind.value, key.name]
        if start is not None:
            sql, values = sql + " AND nominal >= ?", [*values, text_of(start)]
        if end is not None:
            sql, values = sql + " AND nominal < ?", [*values, text_of(end)]
        if states:
            marks = ", ".join("?" * len(states))
            sql, values = f"{sql} AND state IN ({marks})", [*values, *(s.value for s in states)]
        with self._transaction() as t:
            rows = t.rows(f"{sql} ORDER BY nominal, action, cluster, source", *values)
        return tuple(keyed(row) for row in rows)

    def log(self, key: EntityKey, nominal: datetime | None = None) -> Iterator[LogEntry]:
        sql = f"SELECT at, {KEY}, nominal, what, message FROM log WHERE kind = ? AND name = ?"
        values: list[object] = [key.kind.value, key.name]
        if nominal is not None:
            sql, values = sql + " AND nominal = ?", [*values, text_of(nominal)]
        with self._transaction() as t:
            rows = t.rows(f"{sql} ORDER BY id", *values)
        for row in rows:
            schedule = schedule_of(row[1:6])
            yield LogEntry(time_of(row[0]), InstanceKey(schedule, time_of(row[6])), row[7], row[8])


def _write(t: Transaction, before: Instance, after: Instance) -> bool:
    """Fenced: only over the very state that the decision was made on."""
    return (
        t.run(
            "UPDATE instance SET state = ?, created = ?, run = ?, attempt = ?, recoveries = ?,"
            " not_before = ?, started = ?, ended = ?, fingerprint = ?, checks = ?, alerts = ?,"
            f" fence = ?, late = ?, detail = ? WHERE {OF_SCHEDULE} AND nominal = ?"
            " AND fence = ? AND state = ?",
            after.state.value,
            text_of(after.created),
            after.run,
            after.attempt,
            after.recoveries,
            text_of(after.not_before),
            text_of(after.started),
            text_of(after.ended),
            after.fingerprint,
            after.checks,
            after.alerts,
            after.fence,
            after.late,
            after.detail[:_TEXT],
            *schedule_values(before.key.schedule),
            text_of(before.nominal),
            before.fence,
            before.state.value,
        )
        == 1
    )


def _log(t: Transaction, key: InstanceKey, now: datetime, what: str, message: str) -> None:
    schedule = schedule_values(key.schedule)
    t.run(
        f"INSERT INTO log (at, {KEY}, nominal, what, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        text_of(now),
        *schedule,
        text_of(key.nominal),
        what,
        message[:_TEXT],
    )
    t.run(
        f"DELETE FROM log WHERE {OF_SCHEDULE} AND nominal = ? AND id <= (SELECT id FROM log"
        f" WHERE {OF_SCHEDULE} AND nominal = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
        *schedule,
        text_of(key.nominal),
        *schedule,
        text_of(key.nominal),
        MAX_LOG,
    )
