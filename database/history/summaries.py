"""Summaries of the history: what refused statements lack, which tables make which, and what was
copied between clusters.

Each is one function of a connection, with a limit on what it returns.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Integer, cast, distinct, func, select, tuple_

from conf.formats import utc
from database.history.schema import copies, lineage, obstacles

EXAMPLES = 3  # ids of statements for each obstacle
_DAY = 86_400
_GROUP = (obstacles.c.table_name, obstacles.c.cluster, obstacles.c.kind)


def refusals(
    connection: Connection, since: float = 0.0, user: str | None = None, limit: int = 100
) -> list[dict[str, Any]]:
    """What refused statements since this Unix time, what refused most of them first.

    An obstacle is a table (null: none is lacking), the cluster and why (`absent`, `stale` ..).
    `statements` and `users` are counts; `freed` are the statements for which it is the only
    obstacle in the cluster, so that they run without it. `partitions` is the largest number that a
    statement lacked, null of a whole table. `bytes` are those of the last whole copy of the table,
    null if there was none. `days` has the statements by day (UTC), `examples` ids of the last.
    """
    count, conditions = func.count(), [obstacles.c.began >= since]
    if user is not None:
        conditions.append(obstacles.c.user_name == user)
    query = (
        select(
            *_GROUP,
            count,
            func.sum(cast(obstacles.c.alone, Integer)),
            func.count(distinct(obstacles.c.user_name)),
            func.max(obstacles.c.partitions),
        )
        .where(*conditions)
        .group_by(*_GROUP)
        .order_by(count.desc(), *_GROUP)
        .limit(limit)
    )
    found = connection.execute(query).all()
    days = _days(connection, found, conditions)
    sizes = _sizes(connection, {row[0] for row in found})
    return [
        {
            "table": table or None,
            "cluster": cluster,
            "kind": kind,
            "statements": statements,
            "freed": int(freed),
            "users": users,
            "partitions": partitions,
            "bytes": sizes.get(table),
            "days": days[table, cluster, kind],
            "examples": _examples(connection, (table, cluster, kind), conditions),
        }
        for table, cluster, kind, statements, freed, users, partitions in found
    ]


def _days(
    connection: Connection, found: Iterable[Sequence[Any]], conditions: Sequence[Any]
) -> dict[tuple[str, str, str], dict[str, int]]:
    days: dict[tuple[str, str, str], dict[str, int]] = {
        (table, cluster, kind): {} for table, cluster, kind, *_ in found
    }
    query = (
        select(*_GROUP, obstacles.c.day, func.count())
        .where(tuple_(*_GROUP).in_(list(days)), *conditions)
        .group_by(*_GROUP, obstacles.c.day)
        .order_by(*_GROUP, obstacles.c.day)
    )
    for table, cluster, kind, day, count in connection.execute(query) if days else ():
        days[table, cluster, kind][_date(day)] = count
    return days


def _examples(
    connection: Connection, group: tuple[str, str, str], conditions: Sequence[Any]
) -> list[str]:
    same = (column == value for column, value in zip(_GROUP, group, strict=True))
    query = (
        select(obstacles.c.statement)
        .where(*same, *conditions)
        .order_by(*(obstacles.c[each].desc() for each in ("day", "began", "statement")))
        .limit(EXAMPLES)
    )
    return list(connection.execute(query).scalars())


def _sizes(connection: Connection, tables: set[str]) -> dict[str, int]:
    """The bytes of the last copy of each whole table."""
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


def table_lineage(connection: Connection, since: float = 0.0, limit: int = 1_000) -> dict[str, Any]:
    """The tables that statements read and wrote since the day of this Unix time.

    `tables` has how many statements that finished read and wrote each table, `edges` how many read
    `source` and wrote `target`, with one of these statements and the time of the last. Of both
    those with the most statements, at most `limit`; `more` says whether there are others.
    """
    count = func.sum(lineage.c.statements)
    query = (
        select(lineage.c.source, lineage.c.target, count, func.max(lineage.c.last))
        .add_columns(func.max(lineage.c.statement))
        .where(lineage.c.day >= int(since // _DAY))
        .group_by(lineage.c.source, lineage.c.target)
        .order_by(count.desc(), lineage.c.source, lineage.c.target)
    )
    is_edge = (lineage.c.source != "") & (lineage.c.target != "")
    edges = connection.execute(query.where(is_edge).limit(limit + 1)).all()
    ends = connection.execute(query.where(~is_edge).limit(2 * limit + 1)).all()
    tables: dict[str, dict[str, Any]] = {}
    for source, target, statements, last, _ in ends:
        known = tables.setdefault(source or target, {"reads": 0, "writes": 0, "last": 0.0})
        known["reads" if source else "writes"] = int(statements)
        known["last"] = max(known["last"], last)
    return {
        "tables": [
            {"table": name, **found, "last": utc(found["last"])}
            for name, found in list(tables.items())[:limit]
        ],
        "edges": [
            {
                "source": source,
                "target": target,
                "statements": int(statements),
                "last": utc(last),
                "example": example,
            }
            for source, target, statements, last, example in edges[:limit]
        ],
        "more": len(edges) > limit or len(tables) > limit or len(ends) > 2 * limit,
    }


def traffic(connection: Connection, since: float = 0.0) -> list[dict[str, Any]]:
    """What was copied between clusters since this Unix time: runs, of them those that failed, and
    the bytes that went over the network; the most bytes first."""
    failed = func.sum(cast(copies.c.state != "SUCCEEDED", Integer))
    sent = func.sum(copies.c.sent)
    query = (
        select(copies.c.source, copies.c.target, func.count(), failed, sent)
        .where(copies.c.ended >= since)
        .group_by(copies.c.source, copies.c.target)
        .order_by(sent.desc(), copies.c.source, copies.c.target)
    )
    names = ("from", "to", "copies", "failed", "bytes")
    return [
        dict(zip(names, (*row[:2], *map(int, row[2:])), strict=True))
        for row in connection.execute(query)
    ]


@lru_cache(4096)
def _date(day: int) -> str:
    return utc(day * _DAY)[:10]
