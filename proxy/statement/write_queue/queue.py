"""The order in which statements write the same table: first come, first served.

Spark loses rows when two INSERTs into one table run at once, also into different partitions: both
keep the files of their tasks in `_temporary/0` of the table's folder, and the first one that
commits removes that folder. So the proxy sends the next write of a table only when the one before
it has ended (`router.writes = serialize`).

Turns are not needed for formats with a commit protocol of their own, for Hive tables that Spark
does not write as its own parquet or orc (each INSERT has its own staging folder), and for a new
table, a view, ALTER and DROP.
"""

from collections.abc import Callable, Collection
from typing import Protocol

from conf.catalog.tables import TableInfo
from conf.names import TableRef
from dialect.statement import Known, Unknown, WriteAction
from proxy.errors import TableBusy

WAITING = 1000  # statements that may wait for one table, at most
_OWN_COMMITS = frozenset({"hudi", "iceberg", "delta"})
_CONVERTED = ("parquet", "orc")  # in the name of a Hive table's SerDe


def tables_in_turn(
    statement: Known | Unknown, describe: Callable[[TableRef], TableInfo | None]
) -> frozenset[TableRef]:
    """The tables that the statement may write only while no other statement does.

    A table for which `describe` returns None is among them.
    """
    if isinstance(statement, Unknown) or statement.explain:
        return frozenset()
    tables = {each.table for each in statement.writes if each.action is WriteAction.INSERT}
    return frozenset(table for table in tables if _is_staged_in_table(describe(table)))


def _is_staged_in_table(info: TableInfo | None) -> bool:
    """Whether Spark stages an INSERT in the folder of the table."""
    if info is None:
        return True
    if info.provider == "hive":  # RelationConversions decides so
        return any(name in info.serde.lower() for name in _CONVERTED)
    return info.provider not in _OWN_COMMITS


class QueuedWrite(Protocol):
    """A statement that waits in the queue, or has its turn."""

    def on_turn(self) -> None:
        """Called when no other write is ahead any more: at most once, and not by
        `WriteQueue.enter`."""
        ...


class WriteQueue:
    """The queues of all tables. A statement that writes several tables enters all their queues at
    the same moment, so statements never wait for each other in a circle."""

    def __init__(self, waiting: int = WAITING) -> None:
        self._waiting = waiting
        self._queues: dict[
            str, dict[QueuedWrite, None]
        ] = {}  # by table; the first place has its turn
        self._tables: dict[QueuedWrite, frozenset[str]] = {}

    def __len__(self) -> int:
        """The number of writes that wait or have their turn."""
        return len(self._tables)

    def enter(self, write: QueuedWrite, tables: Collection[str]) -> int:
        """Puts the write behind all others of these tables.

        Returns how many are ahead; with 0 it has its turn. Raises TableBusy if a queue is full.
        """
        full = next((t for t in tables if len(self._queues.get(t, ())) > self._waiting), None)
        if full is not None:
            raise TableBusy(f"{self._waiting} statements wait to write {full}.")
        ahead = {other for table in tables for other in self._queues.get(table, ())}
        self._tables[write] = frozenset(tables)
        for table in tables:
            self._queues.setdefault(table, {})[write] = None
        return len(ahead)

    def leave(self, write: QueuedWrite) -> None:
        """Removes the write, whether it waits, has its turn or has left already. Calls `on_turn` of
        the writes that have their turn now."""
        tables = self._tables.pop(write, frozenset())
        heads = []
        for table in tables:
            queue = self._queues[table]
            was_first = next(iter(queue)) is write
            del queue[write]
            if not queue:
                del self._queues[table]
            elif was_first:
                heads.append(next(iter(queue)))
        for head in dict.fromkeys(heads):
            if self._has_turn(head):
                head.on_turn()

    def _has_turn(self, write: QueuedWrite) -> bool:
        return all(next(iter(self._queues[table])) is write for table in self._tables[write])
