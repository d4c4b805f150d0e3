"""A cache of replies to get_table for a few seconds (off by default).

Each change through this process, and each change that is reported to it, removes the table. If
other writers may change the metastore without a view, only tables without copies and running writes
are kept: also an outdated reply then has the primary's location. If all writers use the views
(`snapshot.writers`), any table is kept.
"""

from time import monotonic

from cachetools import TTLCache

from conf.names import TableRef
from conf.placement import COPY_PREFIX, OPEN_PREFIX
from metastore.client.changes.notifying_client import EVERYTHING
from metastore.client.object_spans import Shape, scan
from thriftcodec.errors import Incomplete
from thriftcodec.skip import read_field_header, read_message_header
from thriftcodec.values import REPLY

LIMIT = 10_000  # tables


class TableCache:
    """Replies by table, kept for `seconds` (0: not at all). `trusting`: all writers use the views.

    `changes` grows with each change; a caller passes its value from before its request to `put`.
    """

    def __init__(self, seconds: float, trusting: bool = False) -> None:
        self._replies: TTLCache[TableRef, bytes] = TTLCache(LIMIT, seconds, monotonic)
        self.on = seconds > 0
        self.trusting = trusting and self.on
        self.changes = 0

    def get(self, table: TableRef) -> bytes | None:
        return self._replies.get(table)

    def put(self, table: TableRef, reply: bytes, changes: int) -> None:
        """Keeps the reply, unless a table changed since its request."""
        if changes == self.changes and _may_be_kept(reply, self.trusting):
            self._replies[table] = reply

    def forget(self, tables: tuple[TableRef, ...]) -> None:
        """Removes the tables; `db.*` means all tables of a database, `*.*` all tables."""
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
        facts = scan(reply, value, Shape.TABLE).facts
    except Incomplete:
        return False
    return trusting or not any(key.startswith((COPY_PREFIX, OPEN_PREFIX)) for key in facts)
