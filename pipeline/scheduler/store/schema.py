"""The tables of the store, and the conversions between their rows and entities, instances, log
entries and alerts.

This is the newest schema; `migrations` brings older stores to it. Times are sortable UTC texts with
seconds, enumerations are their values.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Double,
    FromClause,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    and_,
    bindparam,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.scheduler.instances.instance import Instance, InstanceAction, InstanceKey, ScheduleKey
from pipeline.scheduler.instances.states import InstanceState

E = TypeVar("E", bound=Enum)
MAX_TEXT = 8000  # characters kept of a message or detail


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


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert about an instance, for one channel: `what` is failed, late data, ..."""

    id: int
    at: datetime
    instance: InstanceKey
    what: str
    message: str


class UtcText(TypeDecorator[datetime]):
    """An aware time as text, such as 2013-09-24T06:00:00Z. The texts sort like the times."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        naive = value.astimezone(UTC).replace(tzinfo=None)
        return naive.isoformat(timespec="seconds") + "Z"

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


class EnumText(TypeDecorator[E]):
    """A member of an enumeration as its value."""

    impl = Text
    cache_ok = True

    def __init__(self, members: type[E]) -> None:
        super().__init__()
        self.members = members

    def process_bind_param(self, value: E | None, dialect: Dialect) -> str | None:
        return None if value is None else str(value.value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> E | None:
        return None if value is None else self.members(value)


TABLES = MetaData()


def _schedule_columns(primary_key: bool) -> list[Column[Any]]:
    """The columns that name a schedule."""
    return [
        Column("kind", EnumText(Kind), primary_key=primary_key),
        Column("name", Text, primary_key=primary_key),
        Column("action", EnumText(InstanceAction), primary_key=primary_key),
        Column("cluster", Text, primary_key=primary_key),
        Column("source", Text, primary_key=primary_key),
    ]


SCHEDULE = ("kind", "name", "action", "cluster", "source")

# For releases that had no migrations: they open only a store with version 1 in this table.
about = Table("about", TABLES, Column("version", Text, primary_key=True))

entities = Table(
    "entity",
    TABLES,
    Column("kind", EnumText(Kind), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("status", Text, nullable=False),
    Column("submitted", UtcText, nullable=False),
    Column("scheduled", UtcText),
    Column("version", Integer, nullable=False),
)

instances = Table(
    "instance",
    TABLES,
    *_schedule_columns(primary_key=True),
    Column("nominal", UtcText, primary_key=True),
    Column("state", EnumText(InstanceState), nullable=False),
    Column("created", UtcText, nullable=False),
    Column("run", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("recoveries", Integer, nullable=False),
    Column("not_before", UtcText),
    Column("started", UtcText),
    Column("ended", UtcText),
    Column("fingerprint", Text, nullable=False),
    Column("checks", Integer, nullable=False),
    Column("alerts", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("late", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("leader", UtcText),
    Column("server", Text),  # the server that runs it
    Column("lease", Double),  # the end of its lease in the database's time
    Index("instance_state", *SCHEDULE, "state"),
    Index("instance_lease", "state", "lease"),
)

# The tables, partitions and directories that only one running instance may write, by a digest of
# their names. An instance has them while its lease lasts.
places = Table(
    "place",
    TABLES,
    Column("place", Text, primary_key=True),
    *_schedule_columns(primary_key=False),
    Column("nominal", UtcText, nullable=False),
    Column("server", Text, nullable=False),
    Index("place_instance", *SCHEDULE, "nominal"),
)

# All instances of a schedule before `until` have been created.
horizons = Table(
    "horizon",
    TABLES,
    *_schedule_columns(primary_key=True),
    Column("until", UtcText, nullable=False),
)

log_entries = Table(
    "log",
    TABLES,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at", UtcText, nullable=False),
    *_schedule_columns(primary_key=False),
    Column("nominal", UtcText),
    Column("what", Text, nullable=False),
    Column("message", Text, nullable=False),
    Index("log_instance", *SCHEDULE, "nominal"),
    sqlite_autoincrement=True,
)

# Alerts that are not delivered yet, for each channel. No other server takes an alert before the
# database's time `claimed`.
alerts = Table(
    "alert",
    TABLES,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("channel", Text, nullable=False),
    Column("at", UtcText, nullable=False),
    *_schedule_columns(primary_key=False),
    Column("nominal", UtcText, nullable=False),
    Column("what", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("claimed", Double),
    sqlite_autoincrement=True,
)

_STATE = tuple(field.name for field in fields(Instance) if field.name != "key")
_SUBMISSION = tuple(field.name for field in fields(StoredEntity) if field.name != "key")

INSTANCE_FIELDS = tuple(instances.c[name] for name in ("nominal", *_STATE))
"""The columns that make an Instance of a known schedule, in the order of its fields."""

INSTANCE_COLUMNS = (*(instances.c[name] for name in SCHEDULE), *INSTANCE_FIELDS)
ALERT_COLUMNS = tuple(
    alerts.c[name] for name in (*SCHEDULE, "nominal", "id", "at", "what", "message")
)
LOG_COLUMNS = tuple(log_entries.c[name] for name in (*SCHEDULE, "nominal", "at", "what", "message"))


def where(table: FromClause, *names: str) -> ColumnElement[bool]:
    """The condition that columns equal the parameters `of_NAME`, such as `of_entity` returns."""
    return and_(
        *(table.c[name] == bindparam(f"of_{name}", type_=table.c[name].type) for name in names)
    )


def of_entity(key: EntityKey) -> dict[str, object]:
    return {"of_kind": key.kind, "of_name": key.name}


def of_schedule(key: ScheduleKey) -> dict[str, object]:
    return {f"of_{name}": value for name, value in schedule_values(key).items()}


def of_instance(key: InstanceKey) -> dict[str, object]:
    return {**of_schedule(key.schedule), "of_nominal": key.nominal}


def schedule_values(key: ScheduleKey) -> dict[str, object]:
    return {
        "kind": key.entity.kind,
        "name": key.entity.name,
        "action": key.action,
        "cluster": key.cluster,
        "source": key.source,
    }


def instance_values(instance: Instance) -> dict[str, object]:
    """The columns of an instance, without its key."""
    values = {name: getattr(instance, name) for name in _STATE}
    return values | {"detail": instance.detail[:MAX_TEXT]}


def entity_values(entity: StoredEntity) -> dict[str, object]:
    """The columns of an entity, without its key."""
    return {name: getattr(entity, name) for name in _SUBMISSION}


def entity_of(row: Sequence[Any]) -> StoredEntity:
    """The entity in a row of all columns of `entities`."""
    kind, name, owner, document, *rest = row
    return StoredEntity(EntityKey(kind, name), owner, bytes(document), *rest)


def instances_of(schedule: ScheduleKey, rows: Iterable[Sequence[Any]]) -> tuple[Instance, ...]:
    """The instances of a schedule in rows of INSTANCE_FIELDS."""
    return tuple(Instance(InstanceKey(schedule, row[0]), *row[1:]) for row in rows)


def instance_of(row: Sequence[Any]) -> Instance:
    """The instance in a row of INSTANCE_COLUMNS."""
    return Instance(InstanceKey(schedule_of(row), row[5]), *row[6:])


def log_entry_of(row: Sequence[Any]) -> LogEntry:
    """The entry in a row of LOG_COLUMNS."""
    nominal, at, what, message = row[5:]
    return LogEntry(at, InstanceKey(schedule_of(row), nominal), what, message)


def alert_of(row: Sequence[Any]) -> Alert:
    """The alert in a row of ALERT_COLUMNS."""
    nominal, number, at, what, message = row[5:]
    return Alert(number, at, InstanceKey(schedule_of(row), nominal), what, message)


def schedule_of(row: Sequence[Any]) -> ScheduleKey:
    """The schedule in a row that begins with the columns SCHEDULE."""
    kind, name, action, cluster, source, *_ = row
    return ScheduleKey(EntityKey(kind, name), action, cluster, source)
