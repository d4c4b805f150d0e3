"""Selects the partitions and copies that are too old, before anything is dropped (FA-V1..V5)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from conf.names import ClusterName, TableRef
from pipeline.partition_values import Kinds
from pipeline.retention.partition_dates import DatePattern, DateReader

IsNeeded = Callable[[datetime], bool]
"""Whether other work still needs the partition of a date."""


def nothing_needed(time: datetime) -> bool:
    """No other work needs a partition."""
    return False


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Keeps partitions with a date at or after `now - limit` (FA-V3).

    `copies` has the limits of clusters with secondary copies in the same metastore (FA-V4); other
    clusters lose their copies with the primary. Partitions that other work needs are kept, whatever
    their age.
    """

    table: TableRef
    date_pattern: DatePattern
    limit: timedelta
    copies: Mapping[ClusterName, timedelta] = field(default_factory=dict)
    is_needed: IsNeeded = nothing_needed

    def for_keys(self, kinds: Kinds) -> "RetentionPolicy":
        """The policy for a table whose keys have these types."""
        return replace(self, date_pattern=self.date_pattern.for_keys(kinds))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A partition: its name and the clusters with a copy of it."""

    name: str
    copies: frozenset[ClusterName] = frozenset()


@dataclass(frozen=True, slots=True)
class Evict:
    """Drop a partition: its copies first, then itself, then its data."""

    name: str
    date: datetime

    def __str__(self) -> str:
        return f"drop {self.name}"


@dataclass(frozen=True, slots=True)
class EvictCopy:
    """Remove the copy of a partition in a cluster and delete its data."""

    name: str
    cluster: ClusterName
    date: datetime

    def __str__(self) -> str:
        return f"drop the copy of {self.name} in {self.cluster}"


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """The partitions and copies to drop. `condition` is the eviction filter in SQL. `undated`
    partitions have no date and are never dropped. `needed` ones are old, but a copy with a longer
    limit or other work needs them. `kept` counts those that are not too old.
    """

    table: TableRef
    cutoff: datetime
    condition: str
    evictions: tuple[Evict, ...]
    copies: tuple[EvictCopy, ...]
    needed: tuple[str, ...] = ()
    undated: tuple[str, ...] = ()
    kept: int = 0

    def lines(self) -> tuple[str, ...]:
        """The plan as text."""
        return (*self.head(), *map(str, self.copies), *map(str, self.evictions))

    def head(self) -> tuple[str, str]:
        """The numbers of partitions, and the condition, as two lines of text."""
        counts = (
            f"{self.table}: {len(self.evictions)} to drop, {len(self.copies)} copies to drop,"
            f" {self.kept} kept, {len(self.needed)} still needed,"
            f" {len(self.undated)} without a date"
        )
        where = f"ALTER TABLE {self.table} DROP PARTITION where {self.condition}"
        return counts, where


def plan_retention(
    policy: RetentionPolicy, candidates: Iterable[Candidate], now: datetime
) -> RetentionPlan:
    """The plan for the partitions `candidates`. Dates are compared with the cut-off in whole units
    of the date pattern: an hourly partition is dropped when its whole hour is too old. Partitions
    with other values of the static keys are left out.
    """
    date_pattern = policy.date_pattern
    cutoff = date_pattern.truncated(now - policy.limit)
    limits = {c: date_pattern.truncated(now - limit) for c, limit in policy.copies.items()}
    reader = DateReader(date_pattern)
    evictions: list[Evict] = []
    copies: list[EvictCopy] = []
    needed: list[str] = []
    undated: list[str] = []
    kept = 0
    for each in candidates:
        chosen, date = reader.read(each.name)
        if not chosen:
            continue
        if date is None:
            undated.append(each.name)
            continue
        old_copies = [c for c in each.copies if c in limits and date < limits[c]]
        if date >= cutoff:
            kept += 1
            copies += [EvictCopy(each.name, cluster, date) for cluster in sorted(old_copies)]
        elif policy.is_needed(date) or any(c in limits and date >= limits[c] for c in each.copies):
            needed.append(each.name)
            copies += [EvictCopy(each.name, cluster, date) for cluster in sorted(old_copies)]
        else:
            evictions.append(Evict(each.name, date))
    evictions.sort(key=lambda each: (each.date, each.name))
    return RetentionPlan(
        policy.table,
        cutoff,
        eviction_filter(date_pattern, cutoff),
        tuple(evictions),
        tuple(copies),
        tuple(needed),
        tuple(undated),
        kept,
    )


def eviction_filter(date_pattern: DatePattern, cutoff: datetime) -> str:
    """The condition `(year < '2014') or (year = '2014' and month < '02')`, and the static keys
    (FA-V3).

    It is exact if the texts of the keys sort like their times, so if larger units come first. The
    plan compares times and does not use it.
    """

    def literal(key: str, value: str) -> str:
        return value if date_pattern.is_number(key) else _quoted(value)

    values = date_pattern.values(cutoff)
    branches = []
    for count in range(len(values)):
        equal = [f"{key} = {literal(key, value)}" for key, value in values[:count]]
        key, value = values[count]
        branches.append(" and ".join([*equal, f"{key} < {literal(key, value)}"]))
    either = branches[0] if len(branches) == 1 else " or ".join(f"({each})" for each in branches)
    static = [f"{key} = {literal(key, value)}" for key, value in date_pattern.static]
    if not static:
        return either
    return " and ".join([f"({either})" if len(branches) > 1 else either, *static])


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
