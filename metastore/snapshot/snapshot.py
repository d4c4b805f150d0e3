"""What the router knows of the metastore: facts in memory, nothing else.

`Snapshot` is pure and belongs to one event loop's thread; `metastore.snapshot.loader_client` fills
it. Facts are bounded in number, weight and age. A fact that it does not have raises NotLoaded.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from cachetools import LRUCache, TTLCache

from conf.names import TableRef
from conf.partitions import TableFacts
from conf.placement import Placement
from conf.tables import NotLoaded, TableInfo
from metastore.snapshot.partitions import PartitionSheet
from metastore.snapshot.slices import Selector

ROWS_A_UNIT = 1000  # partitions that weigh as much as one table


@dataclass(frozen=True, slots=True)
class TableRecord:
    """One table as it was read: `partitions` is None until its facts were asked for.

    `listed` is when their names were read, by the snapshot's clock.
    """

    info: TableInfo
    placement: Placement
    partitions: PartitionSheet | None = None
    listed: float = 0.0

    @property
    def weight(self) -> int:
        return 1 + (len(self.partitions) // ROWS_A_UNIT if self.partitions is not None else 0)

    def with_sheet_of(self, older: "TableRecord | None") -> "TableRecord":
        """Keeps the partitions known before, unless they may have changed with the table."""
        if older is None or older.partitions is None or not self.same_partitions(older):
            return self
        return replace(self, partitions=older.partitions, listed=older.listed)

    def same_partitions(self, older: "TableRecord") -> bool:
        """Whether no partition can have changed between the two readings."""
        new, old = self.placement, older.placement
        same_ids = (new.write, new.facts) == (old.write, old.facts)
        return same_ids and self.info.partition_keys == older.info.partition_keys

    def facts(self) -> TableFacts:
        sheet = self.partitions
        placed = None if sheet is None else sheet.placed(self.placement)
        return TableFacts(
            self.placement.replicas(), placed, self.placement.write, self.placement.facts
        )


class LoadToken:
    """A load that is under way. `spoiled` when its table was invalidated since it began."""

    __slots__ = ("spoiled",)

    def __init__(self) -> None:
        self.spoiled = False


@dataclass(frozen=True, slots=True)
class _Entry:
    """`read` is when the metastore said so; None stands for a table that does not exist."""

    record: TableRecord | None
    read: float


class Snapshot:
    """Facts by table, at most `ttl` seconds old; `limit` tables (of 1,000 partitions each)."""

    def __init__(
        self,
        ttl: float = 60.0,
        limit: int = 10_000,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.ttl = ttl
        self.clock = clock
        self._limit = limit
        self._tables: LRUCache[TableRef, _Entry] = LRUCache(limit, self._weight)
        self._databases: TTLCache[str, bool] = TTLCache(limit, ttl, clock)
        self._loading: dict[TableRef | str, set[LoadToken]] = {}

    # answers; each raises NotLoaded when memory has none

    def table(self, ref: TableRef) -> TableInfo | None:
        """The table, or None when there is certainly none (`conf.tables.Catalog`)."""
        record = self.record(ref)
        return None if record is None else record.info

    def placement(self, ref: TableRef) -> Placement | None:
        """The table's own placement; None when there is no such table."""
        record = self.record(ref)
        return None if record is None else record.placement

    def facts(
        self, ref: TableRef, selectors: Sequence[Selector] | None = None
    ) -> TableFacts | None:
        """Replicas of the table and of the partitions that the selectors choose (None: all).

        Partitions that are not chosen may be there with replicas of no use.
        """
        record = self.record(ref)
        if record is None:
            return None
        if record.info.partition_keys:
            sheet = record.partitions
            if sheet is None or sheet.missing(selectors) != frozenset() or sheet.unknown(selectors):
                raise NotLoaded(ref)
        return record.facts()

    def database_exists(self, name: str) -> bool:
        """Raises NotLoaded with a table of that database, whose name is empty."""
        known = self._databases.get(name)
        if known is None:
            raise NotLoaded(TableRef(name, ""))
        return known

    def record(self, ref: TableRef) -> TableRecord | None:
        """What is remembered of the table; None when there is certainly none."""
        entry = self._tables.get(ref)
        if entry is None or self.clock() - entry.read > self.ttl:
            raise NotLoaded(ref)
        return entry.record

    def counts(self) -> dict[str, int]:
        """How much is kept: tables, databases, and the tables' weight (1: 1,000 partitions)."""
        return {
            "tables": len(self._tables),
            "databases": len(self._databases),
            "weight": int(self._tables.currsize),
            "limit": self._limit,
        }

    # filling

    def begin(self, key: TableRef | str) -> LoadToken:
        """A load of that table or database begins."""
        token = LoadToken()
        self._loading.setdefault(key, set()).add(token)
        return token

    def end(self, key: TableRef | str, token: LoadToken) -> None:
        """The load ended, well or not."""
        tokens = self._loading.get(key, set())
        tokens.discard(token)
        if not tokens:
            self._loading.pop(key, None)

    def put_table(self, ref: TableRef, record: TableRecord | None, token: LoadToken) -> bool:
        """Remembers what the load found, unless it was spoiled. Whether it did.

        Partitions known before stay known as far as the table says that they did not change.
        """
        if token.spoiled:
            return False
        older = self._tables.get(ref)
        if record is not None and older is not None:
            record = record.with_sheet_of(older.record)
        self._tables[ref] = _Entry(record, self.clock())
        return True

    def put_sheet(self, ref: TableRef, sheet: PartitionSheet, listed: float) -> None:
        """Remembers the table's partitions, whose names were read at `listed`."""
        self._change(ref, lambda record: replace(record, partitions=sheet, listed=listed))

    def place(self, ref: TableRef, placement: Placement) -> None:
        """The table's placement is this now; what is known of its partitions stays."""
        _spoil(self._loading.get(ref, ()))
        self._change(ref, lambda record: replace(record, placement=placement))

    def invalidate_database(self, name: str) -> None:
        """Forgets a database and all its tables."""
        known = {key for key in (*self._tables, *self._loading) if isinstance(key, TableRef)}
        self.invalidate({ref for ref in known if ref.db == name} | {TableRef(name, "")})

    def _change(self, ref: TableRef, change: Callable[[TableRecord], TableRecord]) -> None:
        entry = self._tables.get(ref)
        if entry is not None and entry.record is not None:
            self._tables[ref] = _Entry(change(entry.record), entry.read)

    def put_database(self, name: str, exists: bool, token: LoadToken) -> bool:
        if not token.spoiled:
            self._databases[name] = exists
        return not token.spoiled

    def invalidate(self, refs: Iterable[TableRef] | None) -> None:
        """Forgets these tables and whether their databases exist (None: everything)."""
        if refs is None:
            self._tables.clear()
            self._databases.clear()
            for tokens in self._loading.values():
                _spoil(tokens)
            return
        for ref in refs:
            self._tables.pop(ref, None)
            self._databases.pop(ref.db, None)
            _spoil(self._loading.get(ref, ()))
            _spoil(self._loading.get(ref.db, ()))

    def _weight(self, entry: _Entry) -> int:
        """At most the whole, so that one giant table is kept rather than loaded every time."""
        return 1 if entry.record is None else min(entry.record.weight, self._limit)


def _spoil(tokens: Iterable[LoadToken]) -> None:
    for token in tokens:
        token.spoiled = True
