"""A crawl of a database: its tables are read from the metastore before they are asked for."""

import asyncio
from collections.abc import Awaitable, Callable

from conf.catalog.tables import NotLoaded
from conf.names import TableRef
from conf.settings.settings import Settings, Writers
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from metastore.snapshot.crawls import CHUNK, WINDOW
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from tests.metastore.writable import C1, C2, TOPOLOGY, WritableMetastore

REFS = [TableRef("default", f"t{number:03}") for number in range(100)]
Scenario = Callable[[SnapshotLoader, Snapshot], Awaitable[None]]


def made(ref: TableRef, column: str = "id") -> Table:
    return Table.make(ref, [(column, "int")], location=f"file:/w/{ref.name}")


def crawl(hms: WritableMetastore, view: object, scenario: Scenario) -> None:
    """Runs the scenario with a hundred tables whose names were shown to a client."""
    for ref in REFS:
        hms.add(made(ref))
    own = {C1: (view[C1],), C2: (view[C2],)}
    settings = Settings(TOPOLOGY, (hms.endpoint,), views=own, writers=Writers.VIEWS)

    async def main() -> None:
        snapshot = Snapshot()
        loader = SnapshotLoader(settings, snapshot)
        try:
            await loader.table_names("default")
            await loader.load_facts([REFS[0]])  # the first look says that anything may have changed
            await scenario(loader, snapshot)
        finally:
            loader.close()

    asyncio.run(main())


def test_most_tables_of_a_crawl_are_read_several_in_a_call(hms, view) -> None:
    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        hms.calls.clear()
        for ref in REFS:
            await loader.load_facts([ref])
            assert snapshot.record(ref) is not None
        assert hms.calls["get_table"] == 1
        assert hms.calls["get_table_objects_by_name"] == -(-(len(REFS) - 2) // CHUNK)

    crawl(hms, view, scenario)


def test_a_table_that_changes_after_it_was_read_ahead_is_read_again(hms, view) -> None:
    last = REFS[WINDOW]

    def alter() -> None:
        with HmsClient((view[C1],), 60.0) as client:
            client.alter_table(last, made(last, "new"))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([REFS[0]])
        await loader.load_facts([REFS[1]])
        await loader.load_facts([REFS[WINDOW - 1]])  # waits for the reads of its chunk
        await asyncio.to_thread(alter)
        await loader.load_facts([last])
        assert [each.name for each in snapshot.table(last).columns] == ["new"]

    crawl(hms, view, scenario)


def test_one_that_is_gone_or_has_unreadable_facts_does_not_keep_the_others_away(hms, view) -> None:
    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        unreadable = made(REFS[3])
        unreadable.parameters = {"causeway.primary": "C1", "causeway.copies": "{"}
        hms.add(unreadable)
        del hms.tables[REFS[4]]
        hms.calls.clear()
        for ref in (REFS[0], REFS[1], REFS[2], REFS[5]):
            await loader.load_facts([ref])
        assert hms.calls["get_table"] == 1
        await loader.load_facts([REFS[4]])
        assert snapshot.record(REFS[4]) is None

    crawl(hms, view, scenario)


def test_a_failed_read_ahead_is_left_to_the_read_of_each_table(hms, view) -> None:
    def fail(method: str) -> None:
        if method == "get_table_objects_by_name":
            raise ConnectionError

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        hms.before = fail
        for ref in REFS[:20]:
            await loader.load_facts([ref])
            assert snapshot.record(ref) is not None

    crawl(hms, view, scenario)


def test_no_table_is_read_ahead_without_a_list(hms, view) -> None:
    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for ref in REFS[50:60]:
            await loader.load_facts([TableRef("other", ref.name)])
        try:
            snapshot.record(TableRef("other", REFS[61].name))
        except NotLoaded:
            return
        raise AssertionError("it was read")

    crawl(hms, view, scenario)
