"""Refused statements, grouped by what they lack. Pure.

Each cluster that a decision considered and that lacks nothing but tables is a way to free the
statement: copy these tables there. Statements with the same ways are one group.
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
    """What a cluster lacks of a table. `partitions` is the largest number of partitions that one of
    the statements needs, `first` are names of them; None: the table has none."""

    table: str
    kind: str
    partitions: int | None = None
    first: tuple[str, ...] = ()

    @property
    def listed(self) -> tuple[str, ...]:
        """The names of all its partitions; empty if not all are known."""
        return self.first if self.partitions == len(self.first) else ()


@dataclass(frozen=True, slots=True)
class Way:
    """Copies of these tables to the cluster free the statements."""

    cluster: str
    lacks: tuple[Lack, ...]


@dataclass(slots=True)
class Group:
    """Refused statements that the same copies free. `example` is the newest; `users` have their
    numbers of statements, the most first."""

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
        """Names the group in an address."""
        return str(self.example["statement"][:12])


@dataclass(frozen=True, slots=True)
class Refusals:
    """`groups` can be freed by copies; `others` are the rest by code. `days` is the time that the
    statements cover, at least one day."""

    groups: list[Group]
    others: list[Group]
    count: int
    days: float

    def daily(self, group: Group) -> float:
        """How many statements of the group come a day."""
        return group.count / self.days


def grouped(statements: Sequence[Document], now: float) -> Refusals:
    """Refused statements of the history, the newest first, in groups, the largest first."""
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
    """Unix time of the history's times."""
    return datetime.fromisoformat(text).timestamp()


def ways_of(considered: Iterable[Document]) -> tuple[Way, ...]:
    """The ways to free a statement whose decision considered these clusters."""
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
    """The same ways, each lack with the larger number of partitions; where two statements lack
    different partitions, the names of both."""
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
