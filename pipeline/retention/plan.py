"""Which partitions and copies are too old, decided before anything is dropped (FA-V1..V5)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from conf.names import ClusterName, TableRef
from pipeline.retention.partition_dates import Dating, Reader

Held = Callable[[datetime], bool]


def nothing_held(time: datetime) -> bool:
    """For policies that nothing else waits for."""
    return False


@dataclass(frozen=True, slots=True)
class Policy:
    """What a cluster keeps: partitions whose date is at or after `now - limit` (FA-V3).

    `copies` has the limits of clusters with secondary copies in the same metastore (FA-V4); a
    cluster that is not named loses its copies with their primary. `held` says of a date that
    its partition is still needed by someone, whatever its age.
    """

    table: TableRef
    dating: Dating
    limit: timedelta
    copies: Mapping[ClusterName, timedelta] = field(default_factory=dict)
    held: Held = nothing_held


@dataclass(frozen=True, slots=True)
class Candidate:
    """A partition as the policy sees it: its name and the clusters that hold a copy of it."""

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
    """Forget the copy of a partition in one cluster and delete its data."""

    name: str
    cluster: ClusterName
    date: datetime

    def __str__(self) -> str:
        return f"drop the copy of {self.name} in {self.cluster}"


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """`condition` is the eviction filter in SQL; `undated` partitions tell no date and are
    never dropped; `held` are old but still needed, by a copy's longer limit or by someone else.
    """

    table: TableRef
    cutoff: datetime
    condition: str
    evictions: tuple[Evict, ...]
    copies: tuple[EvictCopy, ...]
    held: tuple[str, ...] = ()
    undated: tuple[str, ...] = ()
    kept: int = 0

    def lines(self) -> tuple[str, ...]:
        """The plan for people."""
        head = (
            f"{self.table}: {len(self.evictions)} to drop, {len(self.copies)} copies to drop,"
            f" {self.kept} kept, {len(self.held)} held, {len(self.undated)} without a date"
        )
        where = f"ALTER TABLE {self.table} DROP PARTITION where {self.condition}"
        return (head, where, *map(str, self.copies), *map(str, self.evictions))


def plan_retention(policy: Policy, candidates: Iterable[Candidate], now: datetime) -> RetentionPlan:
    """Compares dates with the cut-off, which counts in whole units of the dating: an hourly
    partition is dropped when all of its hour is too old. Only what the static keys choose is
    touched.
    """
    dating = policy.dating
    cutoff = dating.truncated(now - policy.limit)
    limits = {c: dating.truncated(now - limit) for c, limit in policy.copies.items()}
    reader = Reader(dating)
    evictions: list[Evict] = []
    copies: list[EvictCopy] = []
    held: list[str] = []
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
        elif policy.held(date) or any(c in limits and date >= limits[c] for c in each.copies):
            held.append(each.name)
            copies += [EvictCopy(each.name, cluster, date) for cluster in sorted(old_copies)]
        else:
            evictions.append(Evict(each.name, date))
    evictions.sort(key=lambda each: (each.date, each.name))
    return RetentionPlan(
        policy.table,
        cutoff,
        eviction_filter(dating, cutoff),
        tuple(evictions),
        tuple(copies),
        tuple(held),
        tuple(undated),
        kept,
    )


def eviction_filter(dating: Dating, cutoff: datetime) -> str:
    """FA-V3: `(year < '2014') or (year = '2014' and month < '02')`, and the static keys.

    Exact for keys whose text sorts as their times do, which a dating with the larger units
    first has; the plan itself compares times.
    """
    values = dating.values(cutoff)
    branches = []
    for count in range(len(values)):
        equal = [f"{key} = {_quoted(value)}" for key, value in values[:count]]
        key, value = values[count]
        branches.append(" and ".join([*equal, f"{key} < {_quoted(value)}"]))
    either = branches[0] if len(branches) == 1 else " or ".join(f"({each})" for each in branches)
    static = [f"{key} = {_quoted(value)}" for key, value in dating.static]
    if not static:
        return either
    return " and ".join([f"({either})" if len(branches) > 1 else either, *static])


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
