"""Fills the snapshot from the metastore, and marks writes in it.

    changed = await loader.load_facts(tables, selectors)   # for every statement with tables
    facts = {ref: snapshot.facts(ref, selectors.get(ref)) for ref in tables}
    token = await loader.open_write(targets)               # .. the statement runs ..
    await loader.close_write(token)

`load_facts` asks the metastore for each table itself, however young what is remembered: one quick
call, shared by all who ask meanwhile, so that a change made anywhere is seen by the next
statement. Partitions are only read again when their table says that they may have changed.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from time import time
from typing import TypeVar

from conf.listing import ListedTable
from conf.names import ClusterName, PartitionRef, TableRef
from conf.placement import OpenWrite, Placement
from conf.settings.settings import Metadata, Settings
from conf.tables import NotLoaded
from metastore.catalog.describe import describe
from metastore.catalog.listing_client import Listing
from metastore.client.async_client import ClientPool
from metastore.client.metastore_client import HmsClient
from metastore.client.view_sync import ViewSync
from metastore.errors import ChangedMeanwhile, MetastoreDown, NoSuchObject
from metastore.placement.placement_store import PlacementStore, new_id
from metastore.placement.write_marks import WriteTarget, WriteToken, ending, write_targets
from metastore.snapshot.change_tracker import ChangeTracker
from metastore.snapshot.partitions_client import PartitionLoader
from metastore.snapshot.single_flight import SingleFlight
from metastore.snapshot.slices import Selector
from metastore.snapshot.snapshot import Snapshot, TableRecord, LoadToken

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

ATTEMPTS = 5
CLOSE_PAUSES = (0.2, 1.0, 3.0)  # seconds before the end of a write is said again
_UNREACHABLE = OpenWrite("unreachable")

Selectors = Mapping[TableRef, Sequence[Selector]]


class Loader:
    """Belongs to the event loop in which it is made, as its snapshot does."""

    def __init__(self, settings: Settings, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._default = settings.topology.default or ClusterName("")
        self._writer = str(settings.listen)
        self._pool = ClientPool(settings.metastores, settings.metastore_timeout)
        self._sync = ViewSync.of(settings)
        self._watch = ChangeTracker(settings)
        self._tables: SingleFlight[TableRef, bool] = SingleFlight(self._read_table)
        self._databases: SingleFlight[str, bool] = SingleFlight(self._read_database)
        self._partitions = PartitionLoader(snapshot, self._pool)
        remembered = settings.metadata is Metadata.MEMORY
        self._listing = Listing(self._pool, self._watch) if remembered else None

    def close(self) -> None:
        """Ends the threads once what they do is done."""
        self._pool.close()
        self._sync.close()
        self._watch.close()

    # facts

    async def load(self, tables: Iterable[TableRef]) -> None:
        """Loads those that the snapshot lacks. Raises MetastoreDown, UnreadableFacts."""
        missing = [ref for ref in dict.fromkeys(tables) if not self._knows(ref)]
        await asyncio.gather(*(_until_kept(self._tables, ref) for ref in missing))

    async def load_database(self, name: str) -> None:
        """Learns whether the database exists now; when the metastore is down, what is known."""
        try:
            await _until_kept(self._databases, name)
        except MetastoreDown:
            try:
                self._snapshot.database_exists(name)
            except NotLoaded:
                raise MetastoreDown(f"database {name}: the metastore is down") from None

    async def tables_in(self, database: str) -> list[TableRef]:
        """The tables and views that the database has now. Raises MetastoreDown."""

        def read(client: HmsClient) -> list[TableRef]:
            return [TableRef(database, name) for name in client.get_all_tables(database)]

        return await self._pool.run(read)

    async def listed(
        self, wanted: Callable[[str], bool]
    ) -> list[tuple[str, tuple[ListedTable, ...]]] | None:
        """The tables of the databases that are wanted, as they are now; None: nobody knows."""
        return None if self._listing is None else await self._listing.tables_of(wanted)

    async def schemas(self, wanted: Callable[[str], bool]) -> list[str] | None:
        """The databases that are wanted, as they are now; None: nobody knows."""
        return None if self._listing is None else await self._listing.databases_of(wanted)

    async def load_facts(
        self, tables: Iterable[TableRef], selectors: Selectors | None = None
    ) -> frozenset[TableRef]:
        """Brings up to now the facts of the tables, and of the partitions that are selected.

        All partitions are loaded of a table without selectors. Returns the tables whose shape
        is not what the snapshot had before: a statement analysed with that is analysed again.
        When the metastore is down, what is remembered serves without its copies, as another
        process may have made those stale. Raises MetastoreDown when nothing is remembered.
        """
        chosen = selectors or {}
        refs = tuple(dict.fromkeys(tables))
        changed = await asyncio.gather(*(self._load_facts(ref, chosen.get(ref)) for ref in refs))
        return frozenset(ref for ref, differs in zip(refs, changed, strict=True) if differs)

    async def _load_facts(self, ref: TableRef, selectors: Sequence[Selector] | None) -> bool:
        known = self._knows(ref)
        before = self._snapshot.table(ref) if known else None
        if not (known and await self._watch.unchanged(ref)):
            try:
                await _until_kept(self._tables, ref)
            except MetastoreDown:
                if not known:
                    raise
                self._distrust(ref)
        for _ in range(ATTEMPTS):
            if await self._partitions.ensure(ref, selectors):
                return not known or self._snapshot.table(ref) != before
            await _until_kept(self._tables, ref)
        raise ChangedMeanwhile(f"{ref} kept changing while its partitions were read")

    def _knows(self, ref: TableRef) -> bool:
        try:
            self._snapshot.table(ref)
        except NotLoaded:
            return False
        return True

    def _distrust(self, ref: TableRef) -> None:
        """The metastore is down: as long as nobody knows, the table may be being written."""
        placement = self._snapshot.placement(ref)
        if placement is not None and _UNREACHABLE not in placement.open:
            distrusted = replace(placement, open=(*placement.open, _UNREACHABLE))
            self._snapshot.place(ref, distrusted)

    def _read_table(self, ref: TableRef) -> "asyncio.Future[bool]":
        def read(client: HmsClient) -> TableRecord | None:
            try:
                table, placement = PlacementStore(client, self._default).table(ref)
            except NoSuchObject:
                return None
            return TableRecord(describe(table), placement)

        began = self._watch.reading()

        def keep(record: TableRecord | None, token: LoadToken) -> bool:
            kept = self._snapshot.put_table(ref, record, token)
            if kept:
                self._watch.was_read(ref, began)
            return kept

        return self._fly(ref, read, keep)

    def _read_database(self, name: str) -> "asyncio.Future[bool]":
        def read(client: HmsClient) -> bool:
            try:
                client.get_database(name)
            except NoSuchObject:
                return False
            return True

        return self._fly(
            name, read, lambda exists, token: self._snapshot.put_database(name, exists, token)
        )

    def _fly(
        self,
        key: TableRef | str,
        read: Callable[[HmsClient], T],
        keep: Callable[[T, LoadToken], bool],
    ) -> "asyncio.Future[bool]":
        """Starts a load; its result is whether the snapshot kept what was found."""
        token = self._snapshot.begin(key)
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def landed(loaded: "asyncio.Future[T]") -> None:
            self._snapshot.end(key, token)
            if loaded.cancelled():
                kept.cancel()
            elif (error := loaded.exception()) is not None:
                kept.set_exception(error)
                kept.exception()  # seen, even when nobody waits any more
            else:
                kept.set_result(keep(loaded.result(), token))

        self._pool.submit(read).add_done_callback(landed)
        return kept

    # writes

    async def open_write(self, targets: Iterable[TableRef | PartitionRef]) -> WriteToken:
        """Marks a write as running before it starts: every copy of its targets is stale (D10).

        A table named as such is written in partitions that cannot be named. Tables that do not
        exist yet need no mark, yet belong in `targets`: a renamed table takes its mark along.
        Raises MetastoreDown, ChangedMeanwhile; then nothing may be written.
        """
        token = WriteToken(new_id(), write_targets(targets))
        results = await asyncio.gather(
            *(self._mark(token.id, target) for target in token.targets), return_exceptions=True
        )
        marked = frozenset(
            target.table
            for target, result in zip(token.targets, results, strict=True)
            if result is True
        )
        token = replace(token, marked=marked)
        problem = next((each for each in results if isinstance(each, BaseException)), None)
        if problem is not None:
            await self.close_write(token)
            raise problem
        return token

    async def _mark(self, write_id: str, target: WriteTarget) -> bool:
        """Whether there is such a table to mark."""

        def mark(facts: PlacementStore) -> Placement:
            return facts.open_write(
                target.table, write_id, target.partitions, int(time()), self._writer
            )

        placement = await self._change(mark)
        if placement is not None:
            self._snapshot.place(target.table, placement)
        return placement is not None

    async def close_write(self, token: WriteToken) -> None:
        """The write ended, well or not: its targets have new ids, and the snapshot forgets them.

        Raises MetastoreDown when that could not be said in several attempts: then the copies
        stay stale until `causeway table assign --end-writes`.
        """
        for pause in CLOSE_PAUSES:
            try:
                return await self._end(token)
            except MetastoreDown:
                await asyncio.sleep(pause)
        return await self._end(token)

    async def _end(self, token: WriteToken) -> None:
        try:
            await asyncio.gather(*(self._change(ending(token, target)) for target in token.targets))
        finally:
            self._snapshot.invalidate(target.table for target in token.targets)

    async def claim(self, table: TableRef, cluster: ClusterName) -> None:
        """A table just created belongs to `cluster`, unless it names its primary (DC-R8)."""
        await self._change(lambda facts: facts.claim(table, cluster))
        self._snapshot.invalidate([table])

    async def _change(self, change: Callable[[PlacementStore], Placement | None]) -> Placement | None:
        """What a table's placement became; None when there is no such table."""

        def run(client: HmsClient) -> Placement | None:
            try:
                return change(PlacementStore(client, self._default, self._sync))
            except NoSuchObject:
                return None

        return await self._pool.run(run)


async def _until_kept(flights: SingleFlight[K, bool], key: K) -> None:
    """Loads until nothing invalidated what was found while it was on its way."""
    for _ in range(ATTEMPTS):
        if await flights.ask(key):
            return
    raise ChangedMeanwhile(f"{key} kept changing while it was read")
