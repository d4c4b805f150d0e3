"""Reads tables and databases from the metastore into the snapshot.

Equal loads that wait are shared. The next tables of a crawl are read ahead, several in one call.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

from conf.names import ClusterName, TableRef
from metastore.catalog.describe import describe
from metastore.catalog.sizes import known_size
from metastore.catalog.spark_table import packed
from metastore.client.async_client import ClientPool
from metastore.client.changes.change_tracker import ChangeTracker
from metastore.client.metastore_client import HmsClient, batches
from metastore.client.single_flight import SingleFlight
from metastore.client.types import Table
from metastore.errors import ChangedMeanwhile, MetastoreError, NoSuchObject, UnreadableFacts
from metastore.placement.open_formats import why_not_copied
from metastore.placement.placement_store import PlacementStore
from metastore.snapshot.crawls import CHUNK
from metastore.snapshot.snapshot import LoadToken, Snapshot, TableRecord

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

ATTEMPTS = 5
MOST_AHEAD = 256  # tables of all crawls that are read ahead at the same time


class TableLoads:
    """The loads of tables and databases. Belongs to one event loop. With `keeps_objects` a record
    has the whole object of its table, packed."""

    def __init__(
        self,
        snapshot: Snapshot,
        pool: ClientPool,
        tracker: ChangeTracker,
        default: ClusterName,
        keeps_objects: bool,
    ) -> None:
        self._snapshot = snapshot
        self._pool = pool
        self._tracker = tracker
        self._default = default
        self._keeps_objects = keeps_objects
        self._tables: SingleFlight[TableRef, bool] = SingleFlight(self._read_table)
        self._databases: SingleFlight[str, bool] = SingleFlight(self._read_database)
        self._ahead: dict[TableRef, asyncio.Task[None]] = {}

    async def load(self, table: TableRef) -> None:
        """Loads the table as it is after the call.

        Raises MetastoreDown, UnreadableFacts, ChangedMeanwhile.
        """
        await _until_kept(self._tables, table)

    async def load_database(self, name: str) -> None:
        """Loads whether the database exists. Raises MetastoreDown, ChangedMeanwhile."""
        await _until_kept(self._databases, name)

    def read_ahead(self, database: str, names: Sequence[str]) -> None:
        """Begins to read these tables, one chunk after the other. Errors are ignored: `load` will
        raise them."""
        before: asyncio.Task[None] | None = None
        for chunk in batches(names, CHUNK):
            refs = [TableRef(database, name) for name in chunk]
            refs = [ref for ref in refs if ref not in self._ahead]
            if not refs or len(self._ahead) + len(refs) > MOST_AHEAD:
                continue
            before = asyncio.ensure_future(self._read_chunk(database, refs, before))
            self._ahead.update(dict.fromkeys(refs, before))

    async def wait_for_ahead(self, tables: Iterable[TableRef]) -> None:
        """Waits until those of the tables that are being read ahead are read."""
        if self._ahead and (reads := {self._ahead[ref] for ref in tables if ref in self._ahead}):
            await asyncio.wait(reads)

    async def _read_chunk(
        self, database: str, refs: Sequence[TableRef], before: "asyncio.Task[None] | None"
    ) -> None:
        """Reads the tables of a chunk that exist, after the chunk before."""

        def read(client: HmsClient) -> list[tuple[TableRef, TableRecord]]:
            store, records = PlacementStore(client, self._default), []
            for table in client.get_tables(database, [ref.name for ref in refs]):
                with suppress(UnreadableFacts):
                    records.append((table.ref, self._record(store, table)))
            return records

        try:
            if before is not None:
                await asyncio.wait((before,))
            tokens = {ref: self._snapshot.begin(ref) for ref in refs}
            began = self._tracker.reading()
            try:
                records = await self._pool.run(read)
            finally:
                for ref, token in tokens.items():
                    self._snapshot.end(ref, token)
            for ref, record in records:
                if self._snapshot.put_table(ref, record, tokens[ref]):
                    self._tracker.was_read(ref, began)
        except MetastoreError:
            pass
        finally:
            for ref in refs:
                del self._ahead[ref]

    def _record(self, store: PlacementStore, table: Table) -> TableRecord:
        """The record of a table. Raises UnreadableFacts."""
        return TableRecord(
            describe(table),
            store.placement(table),
            packed=packed(table) if self._keeps_objects else b"",
            size=known_size(table.parameters),
            copyable=why_not_copied(table) is None,
        )

    def _read_table(self, ref: TableRef) -> "asyncio.Future[bool]":
        def read(client: HmsClient) -> TableRecord | None:
            try:
                return self._record(PlacementStore(client, self._default), client.get_table(ref))
            except NoSuchObject:
                return None

        began = self._tracker.reading()

        def keep(record: TableRecord | None, token: LoadToken) -> bool:
            kept = self._snapshot.put_table(ref, record, token)
            if kept:
                self._tracker.was_read(ref, began)
            return kept

        return self._load(ref, read, keep)

    def _read_database(self, name: str) -> "asyncio.Future[bool]":
        def read(client: HmsClient) -> bool:
            try:
                client.get_database(name)
            except NoSuchObject:
                return False
            return True

        return self._load(
            name, read, lambda exists, token: self._snapshot.put_database(name, exists, token)
        )

    def _load(
        self,
        key: TableRef | str,
        read: Callable[[HmsClient], T],
        keep: Callable[[T, LoadToken], bool],
    ) -> "asyncio.Future[bool]":
        """Starts a load. Its result is whether `keep` kept what `read` returned."""
        token = self._snapshot.begin(key)
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def on_loaded(loaded: "asyncio.Future[T]") -> None:
            self._snapshot.end(key, token)
            if loaded.cancelled():
                kept.cancel()
            elif (error := loaded.exception()) is not None:
                kept.set_exception(error)
                kept.exception()  # retrieve it, so that asyncio does not log it
            else:
                kept.set_result(keep(loaded.result(), token))

        self._pool.submit(read).add_done_callback(on_loaded)
        return kept


async def _until_kept(loads: SingleFlight[K, bool], key: K) -> None:
    """Loads until the snapshot keeps the result, because it was not invalidated during the load."""
    for _ in range(ATTEMPTS):
        if await loads.ask(key):
            return
    raise ChangedMeanwhile(f"{key} kept changing while it was read")
