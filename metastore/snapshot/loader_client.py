"""Fills the snapshot from the metastore, and marks writes in it.

    changed = await loader.load_facts(tables, selectors)   # for every statement with tables
    facts = {ref: snapshot.facts(ref, selectors.get(ref)) for ref in tables}
    token = await loader.open_write(loader.new_write(targets))   # .. the statement runs ..
    await loader.close_write(token)

`load_facts` reads each table from the metastore, also if it is in memory: one quick call, which all
waiting callers share. So the next statement has every change, of every writer. Partitions are read
again only if the facts of their table show that they may have changed.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from time import time

from conf.catalog.listing import ListedTable
from conf.catalog.spark_table import SparkDatabase, SparkTable
from conf.catalog.tables import NotLoaded
from conf.copies import TableCopies
from conf.names import ClusterName, PartitionRef, TableRef
from conf.placement import OpenWrite, Placement
from conf.settings.settings import MetadataSource, Settings, Writers
from conf.write_ids import new_id
from metastore.catalog.functions_client import SqlFunctions, Texts
from metastore.catalog.listing_client import TableListing
from metastore.catalog.spark_table import spark_database, spark_table, unpacked
from metastore.client.async_client import ClientPool
from metastore.client.changes.change_tracker import ChangeTracker
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.errors import ChangedMeanwhile, MetastoreDown, NoSuchObject
from metastore.placement.placement_store import PlacementStore
from metastore.placement.table_copies import table_copies
from metastore.placement.write_marks import WriteTarget, WriteToken, ending, write_targets
from metastore.snapshot.crawls import Crawls
from metastore.snapshot.partitions_client import PartitionLoader
from metastore.snapshot.slices import Selector
from metastore.snapshot.snapshot import Snapshot
from metastore.snapshot.table_loads import TableLoads

ATTEMPTS = 5
CLOSE_PAUSES = (0.2, 1.0, 3.0)  # seconds before the end of a write is tried again
_UNREACHABLE = OpenWrite("unreachable")

Selectors = Mapping[TableRef, Sequence[Selector]]


class SnapshotLoader:
    """Loads facts into a snapshot, answers other questions about the catalog, and marks writes.

    It belongs to the event loop in which it is created, as its snapshot does.
    """

    def __init__(self, settings: Settings, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._default = settings.topology.default or ClusterName("")
        self._writer = str(settings.listen)
        self._pool = ClientPool(
            settings.metastores, settings.metastore_timeout, settings.metastore_login
        )
        self._sync = ViewSync.of(settings)
        self._tracker = ChangeTracker(settings)
        self._partitions = PartitionLoader(snapshot, self._pool)
        remembered = _is_remembered(settings)
        self._functions = SqlFunctions(self._pool)
        self._listing = TableListing(self._pool, self._tracker) if remembered else None
        self._describes = remembered and settings.writers is Writers.VIEWS
        self._tables = TableLoads(
            snapshot, self._pool, self._tracker, self._default, self._describes
        )
        self._crawls = Crawls()

    def close(self) -> None:
        """Closes the connections. Running calls fail."""
        self._pool.close()
        self._sync.close()
        self._tracker.close()

    # facts

    async def load(self, tables: Iterable[TableRef]) -> None:
        """Loads tables that the snapshot lacks. Raises MetastoreDown, UnreadableFacts."""
        refs = tuple(dict.fromkeys(tables))
        await self._tables.wait_for_ahead(refs)
        missing = [ref for ref in refs if not self._knows(ref)]
        await asyncio.gather(*map(self._tables.load, missing))

    async def load_database(self, name: str) -> None:
        """Loads whether the database exists. If the metastore is down, a known answer stays. Raises
        MetastoreDown if none is known."""
        try:
            await self._tables.load_database(name)
        except MetastoreDown:
            try:
                self._snapshot.database_exists(name)
            except NotLoaded:
                raise MetastoreDown(f"database {name}: the metastore is down") from None

    async def tables_in(self, database: str) -> list[TableRef]:
        """The tables and views of the database. Raises MetastoreDown."""

        def read(client: HmsClient) -> list[TableRef]:
            return [TableRef(database, name) for name in client.get_all_tables(database)]

        return await self._pool.run(read)

    @property
    def keeps_lists(self) -> bool:
        """Whether `listed` and `schemas` can return an answer with these settings."""
        return self._describes

    async def listed(
        self, wanted: Callable[[str], bool]
    ) -> list[tuple[str, tuple[ListedTable, ...]]] | None:
        """The present tables of the selected databases; None if they are not known for certain."""
        return None if self._listing is None else await self._listing.tables_of(wanted)

    async def schemas(self, wanted: Callable[[str], bool]) -> list[str] | None:
        """The present selected databases; None if they are not known for certain."""
        return None if self._listing is None else await self._listing.databases_of(wanted)

    async def sql_functions(self) -> Texts:
        """The texts of permanent functions written in SQL, by `db.name`."""
        return await self._functions.texts()

    def forget_functions(self) -> None:
        """Has the functions read again, because a permanent one was changed."""
        self._functions.forget()

    async def table_names(self, database: str) -> Sequence[str] | None:
        """The present tables and views in the metastore's order; None if not known for certain."""
        if self._listing is None:
            return None
        names = await self._listing.names_in(database)
        if names is not None and self._describes:
            self._crawls.list_was_shown(database, names)
        return names

    async def view_names(self, database: str) -> Sequence[str] | None:
        """The present views in the metastore's order; None if not known for certain."""
        return None if self._listing is None else await self._listing.views_in(database)

    async def spark_tables(
        self, database: str, names: Sequence[str]
    ) -> Sequence[SparkTable | None] | None:
        """These tables as Spark describes them; None if not known for certain."""
        return None if self._listing is None else await self._listing.described(database, names)

    def spark_table(self, table: TableRef) -> SparkTable | None:
        """A loaded table as Spark describes it; None if that is not certain now."""
        try:
            record = self._snapshot.record(table)
        except NotLoaded:
            return None
        if record is None or _UNREACHABLE in record.placement.open:
            return None
        unpacked_table = unpacked(record.packed)
        return None if unpacked_table is None else spark_table(unpacked_table)

    async def spark_database(self, name: str) -> SparkDatabase | None:
        """The present database as Spark describes it, with its location in the metastore; None if
        not known for certain. Raises MetastoreDown, NoSuchObject."""
        if not self._describes:
            return None
        return await self._pool.run(lambda client: spark_database(client.get_database(name)))

    async def partition_names(self, table: TableRef, values: Sequence[str] = ()) -> Sequence[str]:
        """The names of the present partitions. `values` has a text for each of the first partition
        columns, empty for any value: then only the names that the metastore finds for them. Raises
        MetastoreDown, NoSuchObject."""
        if values:
            return await self._pool.run(lambda client: client.get_partition_names_ps(table, values))
        return await self._pool.run(lambda client: client.get_partition_names(table))

    async def copies(self, tables: Mapping[TableRef, Collection[str] | None]) -> list[TableCopies]:
        """The copies of these tables as the metastore has them now, to be shown to people: of each
        table, and of the named partitions (None: of all). Tables that do not exist are left out.

        Raises MetastoreDown, UnreadableFacts.
        """
        databases: dict[str, list[str]] = {}
        for ref in tables:
            databases.setdefault(ref.db, []).append(ref.name)

        def read(client: HmsClient) -> list[TableCopies]:
            store = PlacementStore(client, self._default)
            return [
                table_copies(store, table, tables[table.ref])
                for database, names in databases.items()
                for table in client.get_tables(database, names)
            ]

        return await self._pool.run(read)

    async def load_facts(
        self, tables: Iterable[TableRef], selectors: Selectors | None = None
    ) -> frozenset[TableRef]:
        """Updates the facts of the tables and of the selected partitions; of a table without
        selectors, of all partitions.

        Returns the tables whose schema changed: a statement that was analysed with the old schema
        has to be analysed again. If the metastore is down, tables in memory are used without their
        copies, which another process may have made stale. Raises MetastoreDown for a table that is
        not in memory.
        """
        chosen = selectors or {}
        refs = tuple(dict.fromkeys(tables))
        await self._tables.wait_for_ahead(refs)
        unchanged = await self._tracker.unchanged(refs)
        self._read_ahead(refs)
        due = [
            ref
            for ref in refs
            if not (ref in unchanged and self._partitions.is_ready(ref, chosen.get(ref)))
        ]
        if not due:
            return frozenset()
        loads = (self._load_facts(ref, chosen.get(ref), ref in unchanged) for ref in due)
        changed = await asyncio.gather(*loads)
        return frozenset(ref for ref, differs in zip(due, changed, strict=True) if differs)

    async def _load_facts(
        self, ref: TableRef, selectors: Sequence[Selector] | None, unchanged: bool
    ) -> bool:
        """Updates one table. Returns whether its schema changed."""
        known = self._knows(ref)
        before = self._snapshot.table(ref) if known else None
        if not (known and unchanged):
            try:
                await self._tables.load(ref)
            except MetastoreDown:
                if not known:
                    raise
                self._distrust(ref)
        for _ in range(ATTEMPTS):
            if await self._partitions.ensure(ref, selectors):
                return not known or self._snapshot.table(ref) != before
            await self._tables.load(ref)
        raise ChangedMeanwhile(f"{ref} kept changing while its partitions were read")

    def _read_ahead(self, refs: Sequence[TableRef]) -> None:
        """Begins to read the tables that a crawl will need after this one."""
        if len(refs) == 1:
            (ref,) = refs
            following = self._crawls.next_tables(ref.db, ref.name)
            self._tables.read_ahead(
                ref.db, [name for name in following if not self._knows(TableRef(ref.db, name))]
            )

    def _knows(self, ref: TableRef) -> bool:
        try:
            self._snapshot.table(ref)
        except NotLoaded:
            return False
        return True

    def _distrust(self, ref: TableRef) -> None:
        """Sets a mark on the table in memory: the metastore is down, so a write may be running."""
        placement = self._snapshot.placement(ref)
        if placement is not None and _UNREACHABLE not in placement.open:
            distrusted = replace(placement, open=(*placement.open, _UNREACHABLE))
            self._snapshot.place(ref, distrusted)

    # writes

    def new_write(self, targets: Iterable[TableRef | PartitionRef]) -> WriteToken:
        """A write of these targets, with the id that its mark will have."""
        return WriteToken(new_id(), write_targets(targets))

    async def open_write(self, token: WriteToken) -> WriteToken:
        """Marks a write as running, before it starts: from now on every copy of its targets is
        stale (D10).

        The targets may be tables that do not exist yet: these need no mark, but a table that is
        renamed to such a name keeps its mark. Raises MetastoreDown, ChangedMeanwhile; then nothing
        may be written.
        """
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
        """Marks the table. Returns False if it does not exist."""

        def mark(store: PlacementStore) -> Placement:
            return store.open_write(
                target.table, write_id, target.partitions, round(time(), 3), self._writer
            )

        placement = await self._change(mark)
        if placement is not None:
            self._snapshot.place(target.table, placement)
        return placement is not None

    async def close_write(self, token: WriteToken) -> None:
        """Ends a write, also one that failed: gives its targets new ids, and removes them from
        the snapshot.

        Raises MetastoreDown after several attempts: then the copies stay stale until
        `causeway table assign --end-writes`.
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
        """Makes `cluster` the primary of a new table, unless it names one (DC-R8)."""
        await self._change(lambda store: store.claim(table, cluster))
        self._snapshot.invalidate([table])

    async def _change(
        self, change: Callable[[PlacementStore], Placement | None]
    ) -> Placement | None:
        """The placement after the change; None if the table does not exist."""

        def run(client: HmsClient) -> Placement | None:
            try:
                return change(
                    PlacementStore(client, self._default, self._sync, self._sync.exclusive)
                )
            except NoSuchObject:
                return None

        return await self._pool.run(run)


def _is_remembered(settings: Settings) -> bool:
    """Whether questions about the catalog may be answered from memory, the same to all users."""
    if settings.metadata is MetadataSource.AUTOMATIC:
        return not any(login.is_service for login in settings.logins.values())
    return settings.metadata is MetadataSource.MEMORY
