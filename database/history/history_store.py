"""The history's database: adds rows, answers questions, and deletes old rows."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from sqlalchemy import Connection, Table, bindparam, case, delete, func, select, text, update

from database.database import open_database
from database.history.migrations import MIGRATIONS
from database.history.questions import answer
from database.history.refusals import day_counts, last_times
from database.history.schema import (
    PHASES,
    copies,
    instances,
    lineage,
    obstacles,
    refused,
    refused_users,
    statements,
    tables,
)
from database.history.search import Search, statement_page
from database.history.work import Row

CHUNK = 1_000  # rows that one transaction deletes
DAY = 86_400  # seconds
_MAX_EDGES = 1_000  # pairs of a read and a written table that one statement adds to the lineage
_CHANGING = (*PHASES, "rows", "bytes", "closed")
_COMPLETE = (
    update(statements)
    .where(statements.c.statement == bindparam("of_statement"))
    .values({name: bindparam(f"new_{name}") for name in _CHANGING})
)
# Kinds of rows that are deleted when they are old: id, time, and the tables that have the id.
_KEPT = (
    (statements.c.statement, statements.c.began, (statements, tables, obstacles)),
    (copies.c.copy, copies.c.ended, (copies,)),
    (instances.c.instance, instances.c.ended, (instances,)),
)
_OLDEST_DAY = select(func.min(statements.c.began))


class HistoryStore:
    """Opens the history at `url`, creating or migrating its tables. Raises StoreUnavailable, as
    every method does."""

    def __init__(self, url: str) -> None:
        self._database = open_database(url)
        insert = self._database.insert
        self._add = {
            table: insert(table).on_conflict_do_nothing()
            for table in (statements, tables, obstacles, copies, instances)
        }
        added = insert(lineage)
        self._count = added.on_conflict_do_update(
            index_elements=["day", "source", "target"],
            set_={
                "statements": lineage.c.statements + added.excluded.statements,
                "last": added.excluded.last,
                "statement": added.excluded.statement,
            },
        )
        more = insert(refused)
        self._count_refused = more.on_conflict_do_update(
            index_elements=["table_name", "cluster", "kind", "day"],
            set_={
                "statements": refused.c.statements + more.excluded.statements,
                "freed": refused.c.freed + more.excluded.freed,
                "partitions": _larger(refused.c.partitions, more.excluded.partitions),
            },
        )
        users = insert(refused_users)
        self._update_users = users.on_conflict_do_update(
            index_elements=["table_name", "cluster", "kind", "user_name"],
            set_={"last": _larger(refused_users.c.last, users.excluded.last)},
        )
        self._database.migrate(MIGRATIONS)

    def put(self, ended: Sequence[Row], completed: Mapping[str, Row]) -> None:
        """Adds the rows `ended`, and completes the rows of other statements by their id. A
        repetition changes nothing."""
        with self._database.transaction() as connection:
            new = _missing(connection, ended)
            self._insert(connection, statements, new)
            self._insert(connection, tables, [each for row in new for each in _tables(row)])
            self._put_obstacles(connection, [each for row in new for each in _obstacles(row)])
            if edges := _lineage(new):
                connection.execute(self._count, edges)
            if completed:
                connection.execute(_COMPLETE, [_change(*each) for each in completed.items()])

    def _put_obstacles(self, connection: Connection, rows: Sequence[Row]) -> None:
        if rows:
            connection.execute(self._add[obstacles], rows)
            connection.execute(self._count_refused, day_counts(rows))
            connection.execute(self._update_users, last_times(rows))

    def put_work(self, copied: Sequence[Row], ended: Sequence[Row]) -> None:
        """Adds the rows of copies and of instances. A repetition changes nothing."""
        with self._database.transaction() as connection:
            self._insert(connection, copies, copied)
            self._insert(connection, instances, ended)

    def _insert(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        if rows:
            connection.execute(self._add[table], rows)

    def answers(self) -> bool:
        """Returns True if the database answers a trivial query. Raises StoreUnavailable."""
        with self._database.transaction(reading=True) as connection:
            return bool(connection.execute(text("SELECT 1")).scalar_one())

    def page(self, search: Search) -> dict[str, Any]:
        """A page of statements (`statement_page`)."""
        with self._database.transaction(reading=True) as connection:
            return statement_page(connection, search)

    def answer(self, question: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The answer to one of QUESTIONS, as JSON values. Raises BadSearch."""
        with self._database.transaction(reading=True) as connection:
            return answer(connection, question, parameters)

    def size(self) -> int:
        """The approximate size of all rows in bytes."""
        with self._database.transaction(reading=True) as connection:
            weights = (each.table.c.weight for each, _, _ in _KEPT)
            sums = (select(func.coalesce(func.sum(each), 0)) for each in weights)
            return sum(int(connection.execute(each).scalar_one()) for each in sums)

    def forget(self, before: float, excess: int) -> tuple[int, int]:
        """Deletes the oldest rows, at most CHUNK: those from before the Unix time `before`, and
        further ones until `excess` bytes are freed. Returns the number of deleted rows and their
        bytes. Counts by day are deleted for days before the oldest statement that is left."""
        with self._database.transaction() as connection:
            oldest = sorted(
                each for kind in range(len(_KEPT)) for each in _oldest(connection, kind)
            )
            old: list[list[str]] = [[] for _ in _KEPT]
            freed = 0
            for when, kind, row, weight in oldest[:CHUNK]:
                if when >= before and freed >= excess:
                    break
                old[kind].append(row)
                freed += weight
            for (key, _, of), ids in zip(_KEPT, old, strict=True):
                for table in of if ids else ():
                    connection.execute(delete(table).where(table.c[key.name].in_(ids)))
            if old[0]:
                first = connection.execute(_OLDEST_DAY).scalar_one()
                oldest_time = before if first is None else float(first)
                for each in (lineage, refused):
                    connection.execute(delete(each).where(each.c.day < int(oldest_time // DAY)))
                gone = refused_users.c.last < oldest_time
                connection.execute(delete(refused_users).where(gone))
        return sum(map(len, old)), freed


def _larger(known: Any, new: Any) -> Any:
    """The larger of two values in SQL. If one is null, it is the other."""
    return case((new > known, new), else_=func.coalesce(known, new))


def _oldest(connection: Connection, kind: int) -> Iterable[tuple[float, int, str, int]]:
    """The time, kind, id and weight of a chunk of the oldest rows of a kind."""
    key, when, _ = _KEPT[kind]
    query = (
        select(when, key, key.table.c.weight)
        .order_by(when, key)
        .limit(CHUNK)
        .with_for_update(skip_locked=True)  # without rows that another process is deleting
    )
    return ((time, kind, row, weight) for time, row, weight in connection.execute(query))


def _missing(connection: Connection, rows: Sequence[Row]) -> list[Row]:
    """The rows that the database does not have yet. A batch may be repeated although it was
    written, if the answer of its commit was lost.
    """
    ids = [row["statement"] for row in rows]
    if not ids:
        return []
    known = select(statements.c.statement).where(statements.c.statement.in_(ids))
    found = set(connection.execute(known).scalars())
    return [row for row in rows if row["statement"] not in found]


def _change(statement: str, row: Row) -> Row:
    return {"of_statement": statement, **{f"new_{name}": row[name] for name in _CHANGING}}


def _tables(row: Row) -> Iterable[Row]:
    names = {str(each["table"]) for kind in ("reads", "writes") for each in row[kind]}
    return (
        {"statement": row["statement"], "table_name": name, "began": row["began"]}
        for name in sorted(names)
    )


def _obstacles(row: Row) -> Iterable[Row]:
    """The rows of a refused statement's obstacles in all clusters, each obstacle once."""
    found = {}
    for considered in row["considered"] if row["refused"] else ():
        for each in considered["obstacles"]:
            table = str(each["table"] or "")
            found[each["cluster"], table, each["kind"]] = {
                "statement": row["statement"],
                "cluster": each["cluster"],
                "table_name": table,
                "kind": each["kind"],
                "partitions": each["partitions"],
                "alone": len(considered["obstacles"]) == 1,
                "user_name": row["user_name"],
                "began": row["began"],
                "day": int(row["began"] // DAY),
            }
    return found.values()


def _lineage(rows: Sequence[Row]) -> list[Row]:
    """The numbers of finished statements by day, table read and table written. They are sorted, so
    that processes that write at the same time do not deadlock."""
    counts: dict[tuple[int, str, str], Row] = {}
    for row in rows:
        if row["state"] != "FINISHED":
            continue
        day = int(row["began"] // DAY)
        for source, target in _edges(row):
            key = {"day": day, "source": source, "target": target}
            count = counts.setdefault((day, source, target), key | {"statements": 0})
            count["statements"] += 1
            count |= {"last": row["began"], "statement": row["statement"]}
    return [counts[key] for key in sorted(counts)]


def _edges(row: Row) -> Iterable[tuple[str, str]]:
    reads, writes = (
        sorted({str(each["table"]) for each in row[kind]}) for kind in ("reads", "writes")
    )
    yield from ((table, "") for table in reads)
    yield from (("", table) for table in writes)
    yield from list(product(reads, writes))[:_MAX_EDGES]
