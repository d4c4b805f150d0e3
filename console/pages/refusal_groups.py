"""Groups refused statements by what they lack. Pure.

If a considered cluster lacks only copies of tables, copying these tables there is a way to free the
statement: afterwards the statement can run. Statements with the same ways are one group.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from router.obstacles import NAMED

_LACKING = ("absent", "stale")
_DAY = 86_400.0
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lack:
    """A table that a cluster lacks. `partitions` is the largest number of missing partitions that
    a statement of the group needs, None for an unpartitioned table; `first` are names of them."""

    table: str
    kind: str
    partitions: int | None = None
    first: tuple[str, ...] = ()

    @property
    def listed(self) -> tuple[str, ...]:
        """The names of all missing partitions; empty if not all are known."""
        return self.first if self.partitions == len(self.first) else ()


@dataclass(frozen=True, slots=True)
class Way:
    """A cluster, and the tables to copy there so that the statements can run."""

    cluster: str
    lacks: tuple[Lack, ...]


@dataclass(slots=True)
class Group:
    """Refused statements that the same copies free. `example` is the newest; `users` counts the
    statements of each user."""

    ways: tuple[Way, ...]
    example: Document
    count: int = 0
    users: Counter[str] = field(default_factory=Counter)
    templates: set[str] = field(default_factory=set)

    @property
    def tables(self) -> list[str]:
        """The tables that lack copies, by name."""
        return sorted({lack.table for way in self.ways for lack in way.lacks})

    @property
    def key(self) -> str:
        """The id of the group in the page."""
        return str(self.example["statement"][:12])


@dataclass(frozen=True, slots=True)
class Refusals:
    """All groups. Copies free the statements of `groups`; `others` has the rest, grouped by code.
    `days` is the time that the statements cover, at least one day."""

    groups: list[Group]
    others: list[Group]
    count: int
    days: float

    def daily(self, group: Group) -> float:
        """The statements of the group for each day."""
        return group.count / self.days


def grouped(statements: Sequence[Document], now: float) -> Refusals:
    """Groups refused statements of the history, which come newest first. The largest group is
    first."""
    freed: dict[Any, Group] = {}
    others: dict[Any, Group] = {}
    for each in statements:
        ways = ways_of(each["considered"])
        key = frozenset((way.cluster, tuple((x.table, x.kind) for x in way.lacks)) for way in ways)
        groups, name = (freed, key) if ways else (others, each["code"])
        group = groups.setdefault(name, Group(ways, each))
        group.ways = _widest(group.ways, ways)
        group.count += 1
        group.users[each["user"] or "?"] += 1
        group.templates.add(each["fingerprint"])
    oldest = min((moment(each["time"]) for each in statements), default=now)
    days = max(1.0, (now - oldest) / _DAY)
    largest = lambda group: -group.count  # noqa: E731
    return Refusals(
        sorted(freed.values(), key=largest),
        sorted(others.values(), key=largest),
        len(statements),
        days,
    )


def moment(text: str) -> float:
    """The epoch seconds of a time in the history."""
    return datetime.fromisoformat(text).timestamp()


def ways_of(considered: Iterable[Document]) -> tuple[Way, ...]:
    """The ways to free a statement, by the clusters that its decision considered."""
    ways = (
        Way(each["cluster"], _lacks(each["obstacles"]))
        for each in considered
        if each["obstacles"] and all(one["kind"] in _LACKING for one in each["obstacles"])
    )
    return tuple(sorted(ways, key=lambda way: (len(way.lacks), way.cluster)))


def _lacks(obstacles: Iterable[Document]) -> tuple[Lack, ...]:
    lacks = (
        Lack(str(each["table"]), each["kind"], each["partitions"], tuple(each["first"]))
        for each in obstacles
    )
    return tuple(sorted(lacks, key=lambda lack: lack.table))


def _widest(ways: tuple[Way, ...], more: tuple[Way, ...]) -> tuple[Way, ...]:
    """Merges the equal ways of two statements: each lack has the larger number of partitions, and
    the names of both."""
    return tuple(
        Way(one.cluster, tuple(map(_wider, one.lacks, other.lacks)))
        for one, other in zip(ways, more, strict=True)
    )


def _wider(one: Lack, other: Lack) -> Lack:
    if one.partitions is None or other.partitions is None:
        return one if one.partitions is None else other
    names = tuple(dict.fromkeys(one.first + other.first))
    count = max(one.partitions, other.partitions, len(names))
    return Lack(one.table, one.kind, count, names[:NAMED])
