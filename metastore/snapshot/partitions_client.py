"""Loads a table's partitions: the names that are needed, then the facts of the selected ones."""

import asyncio
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from weakref import WeakValueDictionary

from cachetools import LRUCache

from conf.catalog.tables import NotLoaded
from conf.names import TableRef
from conf.partitions import PartitionSet
from conf.placement import BadPlacement
from metastore.client.async_client import ClientPool
from metastore.client.metastore_client import HmsClient
from metastore.errors import UnreadableFacts
from metastore.snapshot.partitions import PartitionSheet
from metastore.snapshot.slices import Selector, Slice
from metastore.snapshot.snapshot import Snapshot, TableRecord

MERGED = 20_000  # partitions in a sheet of slices; above that a new sheet begins
MANY = 5_000  # partitions from which the selection runs in a thread, not in the event loop

Parameters = Mapping[tuple[str, ...], Mapping[str, str]]


class PartitionLoader:
    """Runs one load of a table at a time. Callers that waited for it find its result in memory."""

    def __init__(self, snapshot: Snapshot, pool: ClientPool) -> None:
        self._snapshot = snapshot
        self._pool = pool
        self._locks: WeakValueDictionary[TableRef, asyncio.Lock] = WeakValueDictionary()
        self._renewing: set[TableRef] = set()
        self._selecting = asyncio.Semaphore(1)
        self._chosen: LRUCache[tuple[int, int], tuple[Selector, weakref.ref[PartitionSet]]]
        self._chosen = LRUCache(1_000)

    def is_ready(self, ref: TableRef, selectors: Sequence[Selector] | None) -> bool:
        """Whether memory has the table and the selected partitions, so that `ensure` has nothing to
        do."""
        try:
            return not self._due(ref, selectors) and self._ready(ref, selectors)
        except NotLoaded:
            return False

    async def ensure(self, ref: TableRef, selectors: Sequence[Selector] | None) -> bool:
        """Loads the selected partitions (None: all). Returns False if the table changed, so that it
        has to be loaded first."""
        try:
            await self._select(ref, selectors)
            if self._ready(ref, selectors):
                return True
            async with self._lock(ref):
                if not self._ready(ref, selectors):
                    await self._fill(ref, selectors)
                await self._select(ref, selectors)
                return self._ready(ref, selectors)
        except NotLoaded:
            return False

    async def _select(self, ref: TableRef, selectors: Sequence[Selector] | None) -> None:
        """Selects from many partitions in a thread. The predicates keep their results."""
        due = self._due(ref, selectors)
        if not due:
            return

        def select() -> None:
            for selector, partitions in due:
                selector.select(partitions)

        async with self._selecting:
            await asyncio.to_thread(select)
        for selector, partitions in due:
            self._chosen[id(selector), id(partitions)] = (selector, weakref.ref(partitions))

    def _due(
        self, ref: TableRef, selectors: Sequence[Selector] | None
    ) -> list[tuple[Selector, PartitionSet]]:
        """The selections that have to run in a thread. Raises NotLoaded."""
        record = self._snapshot.record(ref)
        sheet = None if record is None else record.partitions
        if sheet is None or not selectors or len(sheet.partitions) < MANY:
            return []
        partitions = sheet.partitions
        return [(each, partitions) for each in selectors if not self._has_chosen(each, partitions)]

    def _has_chosen(self, selector: Selector, partitions: PartitionSet) -> bool:
        known = self._chosen.get((id(selector), id(partitions)))
        return known is not None and known[0] is selector and known[1]() is partitions

    def _lock(self, ref: TableRef) -> asyncio.Lock:
        lock = self._locks.get(ref)
        if lock is None:
            lock = self._locks[ref] = asyncio.Lock()
        return lock

    def _ready(self, ref: TableRef, selectors: Sequence[Selector] | None) -> bool:
        record = self._snapshot.record(ref)
        if record is None or not record.info.partition_keys:
            return True
        age = self._age(record)
        sheet = record.partitions
        if sheet is None or age > self._snapshot.ttl:
            return False
        if age > self._snapshot.ttl / 2 and sheet.covered is None:
            self._renew(ref, record)
        return sheet.missing(selectors) == frozenset() and not sheet.unknown(selectors)

    def _age(self, record: TableRecord) -> float:
        return self._snapshot.clock() - record.listed

    async def _fill(self, ref: TableRef, selectors: Sequence[Selector] | None) -> None:
        record = self._snapshot.record(ref)
        if record is None:
            return
        sheet = await self._listed(ref, record, selectors)
        rows = sheet.unknown(selectors)
        if rows:
            names = [sheet.name(row) for row in rows]
            facts = await self._pool.run(_facts(ref, names))
            try:
                sheet.learn(rows, facts)
            except BadPlacement as error:
                raise UnreadableFacts(f"a partition of {ref}: {error}") from error

    async def _listed(
        self, ref: TableRef, record: TableRecord, selectors: Sequence[Selector] | None
    ) -> PartitionSheet:
        """The sheet in memory, with the names that these selectors need."""
        sheet, listed = record.partitions, record.listed
        if sheet is None or self._age(record) > self._snapshot.ttl:
            sheet, listed = _empty(record), self._snapshot.clock()
        missing = sheet.missing(selectors)
        if missing and len(sheet) > MERGED:
            sheet, listed = _empty(record), self._snapshot.clock()
            missing = sheet.missing(selectors)
        if missing is None:
            listed = self._snapshot.clock()
            sheet = await self._pool.run(_listing(ref, record))
        elif missing:
            sheet = sheet.with_slices(await self._pool.run(_names(ref, missing)), missing)
        self._keep(ref, record, sheet, listed)
        return sheet

    def _keep(
        self, ref: TableRef, record: TableRecord, sheet: PartitionSheet, listed: float
    ) -> None:
        """Keeps the sheet. Raises NotLoaded if the table changed while it was read."""
        now = self._snapshot.record(ref)
        if now is None or not now.same_partitions(record):
            raise NotLoaded(ref)
        self._snapshot.put_sheet(ref, sheet, listed)

    def _renew(self, ref: TableRef, record: TableRecord) -> None:
        """Reads the names again in the background, before they are too old."""
        if ref in self._renewing:
            return
        self._renewing.add(ref)
        listed = self._snapshot.clock()

        def on_loaded(loaded: "asyncio.Future[PartitionSheet]") -> None:
            self._renewing.discard(ref)
            if loaded.cancelled() or loaded.exception() is not None:
                return  # the next caller reads the names itself and gets the error
            try:
                self._keep(ref, record, loaded.result(), listed)
            except NotLoaded:
                return

        self._pool.submit(_listing(ref, record)).add_done_callback(on_loaded)


def _listing(ref: TableRef, record: TableRecord) -> Callable[[HmsClient], PartitionSheet]:
    keys, exceptions = record.info.partition_keys, record.placement.exceptions
    return lambda client: PartitionSheet(keys, client.get_partition_names(ref), exceptions)


def _names(ref: TableRef, some: Iterable[Slice]) -> Callable[[HmsClient], list[str]]:
    return lambda client: [
        name for each in sorted(some) for name in client.get_partition_names_ps(ref, each)
    ]


def _empty(record: TableRecord) -> PartitionSheet:
    keys, exceptions = record.info.partition_keys, record.placement.exceptions
    return PartitionSheet(keys, (), exceptions, frozenset())


def _facts(ref: TableRef, names: Sequence[str]) -> Callable[[HmsClient], Parameters]:
    return lambda client: {
        each.values: each.parameters for each in client.get_partition_facts(ref, names)
    }
