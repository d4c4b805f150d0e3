"""Replies to get_table, kept for a few seconds (off unless asked for).

Every change through a view of this process forgets the table at once, and so does whoever settles.
Where others may write to the metastore past the views, only tables without copies and without a
running write are kept: whatever the cache says of those, the location that it gives is the
primary's. Where all writers use the views (`snapshot.writers`) any table is kept.
"""

from time import monotonic

from cachetools import TTLCache

from conf.names import TableRef
from conf.placement import COPY_PREFIX, OPEN_PREFIX
from metastore.client.notifying_client import EVERYTHING
from metastore.client.object_spans import Shape, scan
from thriftcodec.errors import Incomplete
from thriftcodec.skip import read_field_header, read_message_header
from thriftcodec.values import REPLY

LIMIT = 10_000  # tables


class TableCache:
    """Whole replies by table. `seconds` of 0 keeps nothing; `trusting`: all writers are known."""

    def __init__(self, seconds: float, trusting: bool = False) -> None:
        self._replies: TTLCache[TableRef, bytes] = TTLCache(LIMIT, seconds, monotonic)
        self.on = seconds > 0
        self.trusting = trusting and self.on
        self.changes = 0

    def get(self, table: TableRef) -> bytes | None:
        return self._replies.get(table)

    def put(self, table: TableRef, reply: bytes, changes: int) -> None:
        """Keeps it, unless something changed since the question was asked."""
        if changes == self.changes and _may_be_kept(reply, self.trusting):
            self._replies[table] = reply

    def forget(self, tables: tuple[TableRef, ...]) -> None:
        """`db.*` stands for all tables of a database, `*.*` for all there are."""
        self.changes += 1
        for table in tables:
            if table == EVERYTHING:
                self._replies.clear()
            if table.name == "*":
                self._forget_database(table.db)
            self._replies.pop(table, None)

    def _forget_database(self, database: str) -> None:
        for kept in [each for each in self._replies if each.db == database]:
            self._replies.pop(kept, None)


def _may_be_kept(reply: bytes, trusting: bool) -> bool:
    try:
        kind, _, _, at = read_message_header(reply)
        _, number, value = read_field_header(reply, at)
        if kind != REPLY or number != 0:
            return False
        ours = scan(reply, value, Shape.TABLE).ours
    except Incomplete:
        return False
    return trusting or not any(key.startswith((COPY_PREFIX, OPEN_PREFIX)) for key in ours)
