"""Carries out `causeway_write`: marks for writes that a cluster's Spark makes past the proxy (D10,
D15)."""

import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial

from conf.errors import CausewayError
from conf.names import TableRef
from metastore.errors import MetastoreDown
from metastore.view.errors import FactsUnavailable
from metastore.view.inbound.version_updates import Context
from metastore.view.server.shared import Shared
from metastore.view.spark_writes.copy_folders import RunLookup
from metastore.view.spark_writes.folder_index import Folder, FolderIndex
from metastore.view.spark_writes.reported_writes import ReportedWrite
from metastore.view.spark_writes.spark_writes import (
    Marking,
    SparkWrite,
    check_folders,
    close_mark,
    end_copies,
    has_mark,
    open_mark,
    touched_tables,
)

Change = Callable[[TableRef], Awaitable[bool]]
"""Changes a table's facts; returns whether it changed anything."""


class DirectWriter:
    """Carries out the reports of one client, whose connection is `source`. `run` runs lookups at
    the metastore. `owner` is the owner of locks that the client may have taken already."""

    def __init__(
        self,
        run: RunLookup,
        shared: Shared,
        context: Context,
        source: object = None,
        owner: str = "",
    ) -> None:
        self._source = source
        self._owner = owner
        self._run = run
        self._shared = shared
        self._context = context

    async def report(self, write: SparkWrite) -> None:
        """Carries out one report: a write begins, still runs, or has ended. Raises OutsidePrimary,
        FactsUnavailable."""
        if not write.id:
            await self._end_copies(write)
        elif write.ended:
            await self._end(write)
        else:
            await self._begin(write)

    async def prepare(self, write: SparkWrite) -> bool:
        """Records that a write runs, before its tables are marked. Returns whether it touches
        folders of other tables, which `report` has to mark.

        From now on a table whose copy is published in its folders gets its mark. Raises
        OutsidePrimary, FactsUnavailable.
        """
        self._shared.writes.begin(write, self._context.view, self._source)
        try:
            index = await self._index()
            check_folders(write, index, self._context.view)
        except BaseException:
            self._shared.writes.abandon(write)
            raise
        return bool(touched_tables(write, index, self._context.view))

    def abandon(self, write: SparkWrite) -> bool:
        """Forgets a write whose end is unknown. Its marks stay; returns whether it has any."""
        return self._shared.writes.abandon(write)

    async def end_dead(self, dead: ReportedWrite) -> None:
        """Removes the marks of a writer that has ended without a report.

        Raises MetastoreDown, FactsUnavailable.
        """
        await self._locked(dead.marked, partial(self._take_back, dead.write))
        self._shared.writes.end(dead.write)

    async def settle(self, table: TableRef) -> None:
        """Repairs the marks of a table after another process wrote its facts: sets those of running
        writes again, and removes those of ended ones. Raises MetastoreDown.
        """
        running, ended = self._shared.writes.all(), self._shared.writes.ended(table)
        if not running and not ended:
            return
        try:
            index = await self._index()
            for each in running:
                folders = touched_tables(each.write, index, each.view).get(table)
                if folders is not None and table not in each.covered:
                    await self._mark_again(each, table, folders)
            for write in ended:
                await self._locked([table], partial(self._take_back, write))
        except FactsUnavailable as error:  # the client must not take the marks for repaired
            raise MetastoreDown(str(error)) from error

    async def _begin(self, write: SparkWrite) -> None:
        # Recorded before the index is read, so that copies that are published now get its mark.
        is_repeated = write.id in self._shared.writes
        running = self._shared.writes.begin(write, self._context.view, self._source)
        try:
            index = await self._index()
            check_folders(write, index, self._context.view)
            touched = touched_tables(write, index, self._context.view)
            await self._locked(touched, lambda ref: self._open(running, ref, touched[ref]))
        except CausewayError:
            if not is_repeated:  # the guard refuses the statement, so nothing is written
                self._shared.writes.end(write)
                with suppress(CausewayError):
                    await self._close(write, {ref: [] for ref in running.marked})
            raise

    async def _open(self, running: ReportedWrite, ref: TableRef, folders: list[Folder]) -> bool:
        if running.write.id not in self._shared.writes:
            return False  # the write ended while this waited for the table's lock
        since = round(time.time(), 3)
        marking = await self._run(open_mark(running.write, ref, folders, self._context, since))
        if marking is Marking.COVERED:
            running.covered.add(ref)
        elif marking is not Marking.NO_TABLE:
            running.marked.add(ref)
        return marking is Marking.PUT

    async def _mark_again(
        self, running: ReportedWrite, ref: TableRef, folders: list[Folder]
    ) -> None:
        if self._shared.writes.is_silent(running) and ref in running.marked:
            if not await self._run(has_mark(running.write, ref, self._context)):
                running.marked.discard(ref)  # an operator removed the mark
                running.covered.add(ref)
            return
        await self._locked([ref], lambda _: self._open(running, ref, folders))

    async def _end(self, write: SparkWrite) -> None:
        known = self._shared.writes.end(write)
        index = await self._index()
        touched = touched_tables(write, index, self._context.view)
        if known is not None:
            touched = {ref: [] for ref in known.marked} | touched
            touched = {ref: each for ref, each in touched.items() if ref not in known.covered}
        await self._close(write, touched)

    async def _close(self, write: SparkWrite, touched: dict[TableRef, list[Folder]]) -> None:
        await self._locked(
            touched, lambda ref: self._run(close_mark(write, ref, touched[ref], self._context))
        )

    async def _take_back(self, write: SparkWrite, ref: TableRef) -> bool:
        """Removes the write's mark if another process has written it back."""
        if await self._run(has_mark(write, ref, self._context)):
            return await self._run(close_mark(write, ref, [], self._context))
        return False

    async def _end_copies(self, write: SparkWrite) -> None:
        """Makes copies stale for a guard that gives its writes no ids."""
        index = await self._index()
        check_folders(write, index, self._context.view)
        touched = touched_tables(write, index, self._context.view)
        await self._locked(
            touched, lambda ref: self._run(end_copies(write, ref, touched[ref], self._context))
        )

    async def _index(self) -> FolderIndex:
        return await self._shared.folders.current(self._run, self._context.view)

    async def _locked(self, tables: Iterable[TableRef], change: Change) -> None:
        refs = sorted(tables)
        if not refs:
            return
        async with self._shared.locks.exclusive(refs, self._owner) as held:
            for ref in refs:
                try:
                    changed = await change(ref)
                except BaseException:
                    self._shared.changed((ref,))  # a part of the change may be done
                    held.changed.append(ref)
                    raise
                if changed:
                    self._shared.changed((ref,))
                    held.changed.append(ref)
