"""Computes grids of instances by hour, and their agreements. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from console.drawing.grid import GridCell, GridRow, worst
from pipeline.falcon.entities.agreements import Sla
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.process import Process

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_NAMED = 3  # instances that a cell's tooltip names
Instance = Mapping[str, Any]
ScheduleId = tuple[str, str, str, str, str]
"""Kind, name, action, cluster and source."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The service level of an entity in a cluster. An instance must end within `high` after its
    nominal time. `name` is the attribute in the document."""

    name: str
    high: timedelta

    def is_missed(self, instance: Instance, now: datetime) -> bool:
        """Whether the instance ended too late, or is open and late now."""
        late, ended = moment(instance["instance"]) + self.high, instance["ended"]
        if instance["state"] == "SKIPPED":
            return False
        if instance["state"] == "SUCCEEDED" and ended is not None:
            return moment(ended) > late
        return now > late


def agreement_of(entity: Entity | None, schedule: ScheduleId) -> Agreement | None:
    """The agreement for the instances of a schedule, if there is one."""
    _, _, action, cluster, _ = schedule
    sla: Sla | None = None
    if isinstance(entity, Feed) and action in ("replicate", "watch"):
        place = entity.on(cluster)
        sla = (place.sla if place else None) or entity.sla
    elif isinstance(entity, Process):
        on = entity.on(cluster)
        sla = (on.sla if on else None) or entity.sla
    if sla is None or sla.high is None:
        return None
    name = "slaHigh" if isinstance(entity, Feed) else "shouldEndIn"
    return Agreement(name, sla.high.length)


def agreements_of(
    known: Mapping[tuple[str, str], Entity], schedules: Iterable[ScheduleId]
) -> dict[ScheduleId, Agreement]:
    """The agreements of the schedules that have one."""
    found = {}
    for key in schedules:
        agreement = agreement_of(known.get((key[0], key[1])), key)
        if agreement is not None:
            found[key] = agreement
    return found


def schedule_of(one: Mapping[str, Any]) -> ScheduleId:
    """The schedule of an instance, a lag or a log entry."""
    return (one["kind"], one["name"], one["action"], one["cluster"], one["source"])


def where(schedule: ScheduleId) -> str:
    """The action and the clusters: `replicate east to west`."""
    _, _, action, cluster, source = schedule
    return f"{action} {source} to {cluster}" if source else f"{action} in {cluster}"


def moment(text: str) -> datetime:
    """Parses a time of the REST API."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def minute(time: datetime) -> str:
    """Formats a time for a request of the REST API."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")


# Grids


def hours_before(now: datetime, count: int) -> list[datetime]:
    """The beginnings of the last hours, the oldest first; the last is the hour of `now`."""
    last = now.replace(minute=0, second=0, microsecond=0)
    return [last - HOUR * back for back in range(count - 1, -1, -1)]


def rows_of_schedules(
    instances: Iterable[Instance],
    hours: Sequence[datetime],
    agreements: Mapping[ScheduleId, Agreement],
    now: datetime,
) -> list[GridRow]:
    """A row for each schedule, a cell for each hour."""
    by_schedule: dict[ScheduleId, list[Instance]] = {}
    for each in instances:
        by_schedule.setdefault(schedule_of(each), []).append(each)
    rows = []
    for key, found in sorted(by_schedule.items()):
        cells = _by_hour(found)
        agreement = agreements.get(key)
        rows.append(
            GridRow(
                f"{key[1]}: {where(key)}",
                [_cell(cells.get(hour, ()), hour, key, agreement, now) for hour in hours],
                entity_path(key[0], key[1]),
            )
        )
    return rows


def rows_of_days(
    instances: Iterable[Instance],
    schedule: ScheduleId,
    days: Sequence[datetime],
    agreement: Agreement | None,
    now: datetime,
) -> list[GridRow]:
    """A row for each day, the newest first, a cell for each hour of it in UTC."""
    cells = _by_hour(instances)
    return [
        GridRow(
            f"{day:%a %d %b}",
            [
                _cell(cells.get(day + HOUR * hour, ()), day + HOUR * hour, schedule, agreement, now)
                for hour in range(24)
            ],
        )
        for day in days
    ]


def hour_labels(hours: Sequence[datetime]) -> list[str]:
    """The labels of columns: every third hour, and the date at midnight."""
    return [f"{hour:%d.%m}" if hour.hour == 0 else _third(hour.hour) for hour in hours]


def _third(hour: int) -> str:
    return f"{hour:02}" if hour % 3 == 0 and hour not in (3, 21) else ""


def _by_hour(instances: Iterable[Instance]) -> dict[datetime, list[Instance]]:
    found: dict[datetime, list[Instance]] = {}
    for each in instances:
        hour = moment(each["instance"]).astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        found.setdefault(hour, []).append(each)
    return found


def _cell(
    found: Sequence[Instance],
    hour: datetime,
    schedule: ScheduleId,
    agreement: Agreement | None,
    now: datetime,
) -> GridCell | None:
    if not found:
        return None
    state = worst(each["state"] for each in found)
    missed = agreement is not None and any(agreement.is_missed(each, now) for each in found)
    words = "; ".join(map(_words, found[:_NAMED]))
    if len(found) > _NAMED:
        words += f"; {len(found) - _NAMED} more"
    if missed and agreement is not None:
        words += f"; {agreement.name} missed"
    link = f"{entity_path(schedule[0], schedule[1])}?start={minute(hour)}&hours=1#instances"
    return GridCell(state, len(found), words[:300], link, missed)


def _words(one: Instance) -> str:
    detail = f", {one['detail']}" if one["detail"] else ""
    return f"{one['instance']} {one['state'].lower()}{detail}"


def entity_path(kind: str, name: str) -> str:
    """The path of an entity's page. Names have only letters, digits and `-_`."""
    return f"/feeds/{kind}/{name}"
