"""The obstacles of refused statements: counted by day when they are written, summed up by searches.

A search adds up the counts of whole days. Its first day is counted again from the rows of
obstacles, because some statements of that day may be deleted or earlier than the search's start.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from sqlalchemy import Connection, Integer, Result, Select, and_, cast, func, select, tuple_

from conf.formats import utc
from database.history.schema import copies, obstacles, refused, refused_users, statements
from database.history.work import Row

EXAMPLES = 3  # ids of statements for each obstacle
_DAY = 86_400
_KEY = ("table_name", "cluster", "kind")
_GROUP = tuple(obstacles.c[each] for each in _KEY)
_REFUSED = tuple(refused.c[each] for each in _KEY)
_ALL = 2**31 - 1  # a limit that leaves out nothing
Group: TypeAlias = tuple[str, str, str]


def day_counts(found: Iterable[Row]) -> list[Row]:
    """The counts of obstacles by day. They are sorted, so that processes that write at the same
    time do not deadlock."""
    counts: dict[tuple[Any, ...], Row] = {}
    for each in found:
        key = {name: each[name] for name in (*_KEY, "day")}
        count = counts.setdefault(
            tuple(key.values()), key | {"statements": 0, "freed": 0, "partitions": None}
        )
        count["statements"] += 1
        count["freed"] += each["alone"]
        if each["partitions"] is not None:
            count["partitions"] = max(count["partitions"] or 0, each["partitions"])
    return [counts[key] for key in sorted(counts)]


def last_times(found: Iterable[Row]) -> list[Row]:
    """The last time of each user and obstacle, sorted like `day_counts`."""
    times: dict[tuple[Any, ...], float] = {}
    for each in found:
        key = tuple(each[name] for name in (*_KEY, "user_name"))
        times[key] = max(times.get(key, each["began"]), each["began"])
    names = (*_KEY, "user_name", "last")
    return [dict(zip(names, (*key, times[key]), strict=True)) for key in sorted(times)]


def refusals(
    connection: Connection, since: float = 0.0, user: str | None = None, limit: int = 100
) -> list[dict[str, Any]]:
    """The obstacles of statements refused since this Unix time, those of most statements first.

    An obstacle is a table (null: no table is lacking), a cluster and a kind (`absent`, `stale` ..).
    `statements` and `users` are counts. `freed` counts the statements for which it is the only
    obstacle in the cluster, which would run there without it. `partitions` is the largest number of
    partitions that a statement lacked, null for a whole table. `bytes` is the size of the table's
    last whole copy, null if there is none. `days` has the number of statements by day (UTC),
    `examples` the ids of the last ones.
    """
    conditions = [obstacles.c.began >= since]
    found: dict[Group, _Found] = {}
    if user is not None:
        conditions.append(obstacles.c.user_name == user)
        _count(found, connection.execute(_one_by_one(conditions)))
        chosen = _most(found, limit)
        users = dict.fromkeys(chosen, 1)
    else:
        first = _first_day(connection, since)
        _count(found, _first_days(connection, first, conditions))
        _add_sums(found, connection, first)
        chosen = _most(found, limit)
        for each in chosen:
            _add_days(found[each], connection, first, each)
        users = _users(connection, chosen, since)
    sizes = _sizes(connection, {table for table, _, _ in chosen})
    return [
        {
            "table": table or None,
            "cluster": cluster,
            "kind": kind,
            "statements": each.statements,
            "freed": each.freed,
            "users": users[table, cluster, kind],
            "partitions": each.partitions,
            "bytes": sizes.get(table),
            "days": {_date(day): count for day, count in each.days},
            "examples": _examples(connection, (table, cluster, kind), conditions),
        }
        for table, cluster, kind in chosen
        for each in (found[table, cluster, kind],)
    ]


@dataclass(slots=True)
class _Found:
    """The sums of an obstacle. `days` has pairs of a day and its number of statements, in order."""

    statements: int = 0
    freed: int = 0
    partitions: int | None = None
    days: list[Sequence[Any]] = field(default_factory=list)

    def add(self, statements: int, freed: int, partitions: int | None) -> None:
        self.statements += int(statements)
        self.freed += int(freed)
        if partitions is not None:
            self.partitions = max(self.partitions or 0, partitions)


def _most(found: Mapping[Group, _Found], limit: int) -> list[Group]:
    """The obstacles of most statements."""
    return sorted(found, key=lambda each: (-found[each].statements, each))[:limit]


def _first_day(connection: Connection, since: float) -> int:
    """The first day of the search that still has statements."""
    oldest = connection.execute(select(func.min(statements.c.began))).scalar_one()
    return int(max(since, oldest or 0.0) // _DAY)


def _one_by_one(conditions: Sequence[Any]) -> Select[Any]:
    """The query that counts rows of obstacles by day."""
    return (
        select(*_GROUP, obstacles.c.day)
        .add_columns(func.count(), func.sum(cast(obstacles.c.alone, Integer)))
        .add_columns(func.max(obstacles.c.partitions))
        .where(*conditions)
        .group_by(*_GROUP, obstacles.c.day)
        .order_by(*_GROUP, obstacles.c.day)
    )


def _first_days(connection: Connection, day: int, conditions: Sequence[Any]) -> Result[Any]:
    """The counts of obstacles of one day. The limit makes SQLite read the day's groups first, and
    find their obstacles by the index; without it, SQLite reads all obstacles."""
    day_groups = select(*_REFUSED).where(refused.c.day == day).limit(_ALL).subquery()
    same = (day_groups.c[name] == obstacles.c[name] for name in _KEY)
    query = _one_by_one([obstacles.c.day == day, *conditions])
    return connection.execute(query.join(day_groups, and_(*same)))


def _count(found: dict[Group, _Found], rows: Iterable[Sequence[Any]]) -> None:
    for row in rows:
        one = found.setdefault(_group(row), _Found())
        one.add(row[4], row[5], row[6])
        one.days.append((row[3], int(row[4])))


def _add_sums(found: dict[Group, _Found], connection: Connection, first: int) -> None:
    """Adds the counts of all days after the first."""
    query = (
        select(*_REFUSED, func.sum(refused.c.statements), func.sum(refused.c.freed))
        .add_columns(func.max(refused.c.partitions))
        .where(refused.c.day > first)
        .group_by(*_REFUSED)
    )
    for row in connection.execute(query):
        found.setdefault(_group(row), _Found()).add(*row[3:])


def _add_days(found: _Found, connection: Connection, first: int, group: Group) -> None:
    """Adds the days of one obstacle after the first day."""
    same = (column == value for column, value in zip(_REFUSED, group, strict=True))
    query = (
        select(refused.c.day, refused.c.statements)
        .where(*same, refused.c.day > first)
        .order_by(refused.c.day)
    )
    found.days += connection.execute(query)


def _group(row: Sequence[Any]) -> Group:
    return row[0], row[1], row[2]


def _users(connection: Connection, groups: Sequence[Group], since: float) -> dict[Group, int]:
    """The number of users with each obstacle since this time."""
    key = [refused_users.c[name] for name in _KEY]
    query = (
        select(*key, func.count())
        .where(tuple_(*key).in_(groups), refused_users.c.last >= since)
        .group_by(*key)
    )
    found = connection.execute(query) if groups else ()
    return dict.fromkeys(groups, 0) | {_group(row): row[3] for row in found}


def _examples(connection: Connection, group: Group, conditions: Sequence[Any]) -> list[str]:
    same = (column == value for column, value in zip(_GROUP, group, strict=True))
    query = (
        select(obstacles.c.statement)
        .where(*same, *conditions)
        .order_by(*(obstacles.c[each].desc() for each in ("day", "began", "statement")))
        .limit(EXAMPLES)
    )
    return list(connection.execute(query).scalars())


def _sizes(connection: Connection, tables: set[str]) -> dict[str, int]:
    """The size of the last successful whole copy of each table."""
    whole = (
        select(copies.c.table_name, func.max(copies.c.ended).label("ended"))
        .where(copies.c.table_name.in_(tables), copies.c.partitions.is_(None))
        .where(copies.c.state == "SUCCEEDED", copies.c.bytes.is_not(None))
        .group_by(copies.c.table_name)
        .subquery()
    )
    query = select(copies.c.table_name, copies.c.bytes).join(
        whole, (whole.c.table_name == copies.c.table_name) & (whole.c.ended == copies.c.ended)
    )
    return {table: size for table, size in connection.execute(query) if size is not None}


@lru_cache(4096)
def _date(day: int) -> str:
    return utc(day * _DAY)[:10]
