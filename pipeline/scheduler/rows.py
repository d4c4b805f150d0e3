"""How entities, instances and log entries lie in the tables' rows."""

from dataclasses import dataclass
from datetime import UTC, datetime

from pipeline.falcon.model import EntityKey, Kind
from pipeline.scheduler.database import Row
from pipeline.scheduler.instance import Action, Instance, InstanceKey, ScheduleKey
from pipeline.scheduler.states import State

KEY = "kind, name, action, cluster, source"
COLUMNS = (
    "nominal, state, created, run, attempt, recoveries, not_before, started, ended,"
    " fingerprint, checks, alerts, fence, late, detail"
)
OF_SCHEDULE = "kind = ? AND name = ? AND action = ? AND cluster = ? AND source = ?"
ENTITY = "kind, name, owner, document, status, submitted, scheduled, version"


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


def schedule_values(key: ScheduleKey) -> tuple[str, str, str, str, str]:
    entity = key.entity
    return entity.kind.value, entity.name, key.action.value, key.cluster, key.source


def schedule_of(row: Row) -> ScheduleKey:
    return ScheduleKey(EntityKey(Kind(row[0]), row[1]), Action(row[2]), row[3], row[4])


def keyed(row: Row) -> Instance:
    return instance_of(schedule_of(row[:5]), row[5:])


def instance_of(schedule: ScheduleKey, row: Row) -> Instance:
    return Instance(
        key=InstanceKey(schedule, time_of(row[0])),
        state=State(row[1]),
        created=time_of(row[2]),
        run=row[3],
        attempt=row[4],
        recoveries=row[5],
        not_before=time_or_none(row[6]),
        started=time_or_none(row[7]),
        ended=time_or_none(row[8]),
        fingerprint=row[9],
        checks=row[10],
        alerts=row[11],
        fence=row[12],
        late=row[13],
        detail=row[14],
    )


def entity_of(row: Row) -> StoredEntity:
    return StoredEntity(
        key=EntityKey(Kind(row[0]), row[1]),
        owner=row[2],
        document=bytes(row[3]),
        status=row[4],
        submitted=time_of(row[5]),
        scheduled=time_or_none(row[6]),
        version=row[7],
    )


def text_of(time: datetime | None) -> str | None:
    """Sortable text to the second; a year has four digits."""
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def time_of(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def time_or_none(text: str | None) -> datetime | None:
    return None if text is None else time_of(text)
