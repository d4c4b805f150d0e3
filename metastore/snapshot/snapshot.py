"""Facts of the metastore in memory, limited in number, weight and age.

`Snapshot` does no I/O: `metastore.snapshot.loader_client` fills it. It belongs to the thread of one
event loop. Reading a fact that is not in memory raises NotLoaded.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from cachetools import LRUCache, TTLCache

from conf.catalog.tables import NotLoaded, TableInfo
from conf.copies import cluster_copies
from conf.names import ClusterName, TableRef
from conf.partitions import TableFacts
from conf.placement import Placement
from metastore.snapshot.partitions import PartitionSheet
from metastore.snapshot.slices import Selector

ROWS_A_UNIT = 1000  # partitions that weigh as much as one table


@dataclass(frozen=True, slots=True)
class TableRecord:
    """A table as it was read. `partitions` is None until they are loaded.

    `listed` is the time at which the partitions' names were read, by the snapshot's clock. `packed`
    is the whole object (`metastore.catalog.spark_table`), empty if it is not kept. `size` is in
    bytes, by the table's statistics; None without them. `copyable`: copies of it can be made.
    """

    info: TableInfo
    placement: Placement
    partitions: PartitionSheet | None = None
    listed: float = 0.0
    packed: bytes = b""
    size: int | None = None
    copyable: bool = True

    @property
    def weight(self) -> int:
        return 1 + (len(self.partitions) // ROWS_A_UNIT if self.partitions is not None else 0)

    def with_sheet_of(self, older: "TableRecord | None") -> "TableRecord":
        """This record with the partitions of an older one, unless they may have changed."""
        if older is None or older.partitions is None or not self.same_partitions(older):
            return self
        return replace(self, partitions=older.partitions, listed=older.listed)

    def same_partitions(self, older: "TableRecord") -> bool:
        """Whether no partition can have changed between the two reads."""
        new, old = self.placement, older.placement
        same_ids = (new.write, new.facts) == (old.write, old.facts)
        return same_ids and self.info.partition_keys == older.info.partition_keys

    def facts(self) -> TableFacts:
        sheet = self.partitions
        placed = None if sheet is None else sheet.placed(self.placement)
        placement = self.placement
        return TableFacts(
            placement.replicas(),
            placed,
            placement.write,
            placement.facts,
            self.size,
            self.copyable,
        )

    def lacking_since(self) -> dict[ClusterName, float | None]:
        """As `Snapshot.lacking_since`, by cluster."""
        placed = self.placement
        if self.partitions is not None and not (placed.uniform and placed.copies):
            return self.partitions.lacking_since(placed)
        return {
            copy.cluster: copy.since
            for copy in cluster_copies(placed)
            if copy.fresh or copy.since is not None
        }


class LoadToken:
    """A running load. `spoiled`: its table was invalidated since the load began."""

    __slots__ = ("spoiled",)

    def __init__(self) -> None:
        self.spoiled = False


@dataclass(frozen=True, slots=True)
class _Entry:
    """`record` is None if the table does not exist; `read` is the time at which it was read."""

    record: TableRecord | None
    read: float


class Snapshot:
    """Facts by table, at most `ttl` seconds old, of at most `limit` tables of up to 1,000
    partitions each; larger tables count more."""

    def __init__(
        self, ttl: float = 60.0, limit: int = 10_000, clock: Callable[[], float] = monotonic
    ) -> None:
        self.ttl = ttl
        self.clock = clock
        self._limit = limit
        self._tables: LRUCache[TableRef, _Entry] = LRUCache(limit, self._weight)
        self._databases: TTLCache[str, bool] = TTLCache(limit, ttl, clock)
        self._loading: dict[TableRef | str, set[LoadToken]] = {}

    # reading; each method raises NotLoaded if memory has no fact

    def table(self, ref: TableRef) -> TableInfo | None:
        """The table, or None if it does not exist (`conf.catalog.tables.Catalog`)."""
        record = self.record(ref)
        return None if record is None else record.info

    def placement(self, ref: TableRef) -> Placement | None:
        """The table's own placement; None if the table does not exist."""
        record = self.record(ref)
        return None if record is None else record.placement

    def facts(
        self, ref: TableRef, selectors: Sequence[Selector] | None = None
    ) -> TableFacts | None:
        """The replicas of the table and of the partitions that the selectors choose (None: all);
        None if the table does not exist.

        Other partitions in the result may have no usable replicas.
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
        """Whether the database exists. Raises NotLoaded with a table of an empty name in it."""
        known = self._databases.get(name)
        if known is None:
            raise NotLoaded(TableRef(name, ""))
        return known

    def record(self, ref: TableRef) -> TableRecord | None:
        """The record of the table; None if the table does not exist."""
        entry = self._tables.get(ref)
        if entry is None or self.clock() - entry.read > self.ttl:
            raise NotLoaded(ref)
        return entry.record

    def lacking_since(self) -> dict[tuple[TableRef, ClusterName], float | None]:
        """Since when the copies of each table in each cluster miss a write: the earliest time in
        epoch seconds; None if all are fresh. It counts the tables and partitions that are in memory
        now, and leaves copies out of which the time is not known."""
        now, earliest = self.clock(), {}
        for ref, entry in self._tables.items():
            if entry.record is not None and now - entry.read <= self.ttl:
                for cluster, since in entry.record.lacking_since().items():
                    earliest[ref, cluster] = since
        return earliest

    def counts(self) -> dict[str, int]:
        """The numbers of tables and databases, and the tables' weight."""
        return {
            "tables": len(self._tables),
            "databases": len(self._databases),
            "weight": int(self._tables.currsize),
            "limit": self._limit,
        }

    # filling

    def begin(self, key: TableRef | str) -> LoadToken:
        """Begins a load of a table or database."""
        token = LoadToken()
        self._loading.setdefault(key, set()).add(token)
        return token

    def end(self, key: TableRef | str, token: LoadToken) -> None:
        """Ends a load, also one that failed."""
        tokens = self._loading.get(key, set())
        tokens.discard(token)
        if not tokens:
            self._loading.pop(key, None)

    def put_table(self, ref: TableRef, record: TableRecord | None, token: LoadToken) -> bool:
        """Keeps the result of a load and returns True, unless the load was spoiled.

        Known partitions are kept if the table shows that they have not changed.
        """
        if token.spoiled:
            return False
        older = self._tables.get(ref)
        if record is not None and older is not None:
            record = record.with_sheet_of(older.record)
        self._tables[ref] = _Entry(record, self.clock())
        return True

    def put_sheet(self, ref: TableRef, sheet: PartitionSheet, listed: float) -> None:
        """Keeps the table's partitions. Their names were read at `listed`."""
        self._change(ref, lambda record: replace(record, partitions=sheet, listed=listed))

    def place(self, ref: TableRef, placement: Placement) -> None:
        """Sets the table's placement and keeps its partitions."""
        _spoil(self._loading.get(ref, ()))
        self._change(ref, lambda record: replace(record, placement=placement))

    def invalidate_database(self, name: str) -> None:
        """Removes a database and all its tables."""
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
        """Removes these tables and the facts of their databases (None: everything)."""
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
        """The weight, at most the limit: a table above it is kept, not loaded every time."""
        return 1 if entry.record is None else min(entry.record.weight, self._limit)


def _spoil(tokens: Iterable[LoadToken]) -> None:
    for token in tokens:
        token.spoiled = True
