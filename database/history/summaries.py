"""Summaries of the history: the lineage of tables, and the traffic between clusters."""

from typing import Any

from sqlalchemy import Connection, Integer, cast, func, select

from conf.formats import utc
from database.history.schema import copies, lineage

_DAY = 86_400


def table_lineage(connection: Connection, since: float = 0.0, limit: int = 1_000) -> dict[str, Any]:
    """The tables that statements read and wrote since the day of this Unix time.

    `tables` has the number of finished statements that read and wrote each table. `edges` has the
    number that read `source` and wrote `target`, the id of one of them and the time of the last.
    Both have at most `limit` rows, those with the most statements; `more`: there are others.
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
    """The copies between clusters since this Unix time: the number of runs and of failed ones, and
    the bytes sent over the network; the most bytes first."""
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
