"""Lists of tables: kept while the views tell that nothing changed, read again where it did."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from conf.catalog.spark_table import SparkDatabase
from conf.names import TableRef
from conf.settings.security.upstream_auth import Login, Proof
from conf.settings.settings import MetadataSource, Settings
from metastore.catalog import listing_client
from metastore.catalog.listing_client import FEW_DESCRIBED, LIMIT, TableListing
from metastore.catalog.spark_table import spark_database
from metastore.client.async_client import ClientPool
from metastore.client.changes.change_tracker import ChangeTracker
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Database, Table
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from tests.metastore.writable import C1, TOPOLOGY, WritableMetastore, settings_of, views

Scenario = Callable[[TableListing], Awaitable[None]]
Found = dict[str, dict[str, int]]


@contextmanager
def listing(settings: Settings, limit: int = LIMIT) -> Iterator[tuple[TableListing, ChangeTracker]]:
    """A listing that keeps so many columns and tables, and the tracker that it asks."""
    pool = ClientPool(settings.metastores, settings.metastore_timeout)
    tracker = ChangeTracker(settings)
    try:
        yield TableListing(pool, tracker, limit), tracker
    finally:
        pool.close()
        tracker.close()


def run(settings: Settings, scenario: Scenario, limit: int = LIMIT) -> None:
    async def main() -> None:
        with listing(settings, limit) as (listed, _):
            await scenario(listed)

    asyncio.run(main())


async def found(listed: TableListing, database: str = "") -> Found | None:
    """Numbers of columns by table by database; of all databases without a name."""
    answer = await listed.tables_of(lambda name: database in ("", name))
    if answer is None:
        return None
    return {
        name: {table.name: len(table.columns or ()) for table in tables} for name, tables in answer
    }


def a_table(name: str, columns: int = 1, db: str = "default") -> Table:
    pairs = [(f"c{number}", "int") for number in range(columns)]
    return Table.make(TableRef(db, name), pairs, location=f"hdfs://c1:8020/warehouse/{name}")


def reads(hms: WritableMetastore) -> int:
    return hms.calls["get_table_objects_by_name"] + hms.calls["get_databases"]


def test_unchanged_tables_are_not_read_again(hms, view) -> None:
    hms.add(a_table("t"))

    async def scenario(listed: TableListing) -> None:
        assert await found(listed) == {"default": {"t": 1}}
        before = sum(hms.calls.values())
        for _ in range(3):
            assert await found(listed) == {"default": {"t": 1}}
        assert sum(hms.calls.values()) == before

    run(settings_of(hms, view), scenario)


def _create(client: HmsClient) -> None:
    client.create_table(a_table("u", 2))


def _alter(client: HmsClient) -> None:
    client.alter_table(TableRef("default", "t"), a_table("t", 3))


def _drop(client: HmsClient) -> None:
    client.drop_table(TableRef("default", "t"))


def _create_database(client: HmsClient) -> None:
    client.create_database(Database.make("more", "hdfs://c1:8020/more"))


def _drop_database(client: HmsClient) -> None:
    client.drop_database("default", cascade=True)


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (_create, {"default": {"t": 1, "u": 2}}),
        (_alter, {"default": {"t": 3}}),
        (_drop, {"default": {}}),
        (_create_database, {"default": {"t": 1}, "more": {}}),
        (_drop_database, {}),
    ],
)
def test_the_next_request_sees_a_change(hms, view, change, after: Found) -> None:
    hms.add(a_table("t"))

    async def scenario(listed: TableListing) -> None:
        for _ in range(2):
            assert await found(listed) == {"default": {"t": 1}}
        with HmsClient((view[C1],), 60.0) as client:
            await asyncio.to_thread(change, client)
        assert await found(listed) == after
        before = reads(hms)
        assert await found(listed) == after
        assert await listed.databases_of(lambda name: True) == list(after)
        assert reads(hms) == before

    run(settings_of(hms, view), scenario)


@pytest.mark.parametrize(
    ("change", "after"),
    [(_create, ["t", "u"]), (_alter, ["t"]), (_drop, []), (_drop_database, None)],
)
def test_names_of_tables_are_kept_until_a_change(hms, view, change, after: object) -> None:
    hms.add(a_table("t"))

    async def scenario(listed: TableListing) -> None:
        assert await listed.names_in("default") == ("t",)
        calls = hms.calls["get_all_tables"]
        assert await listed.names_in("default") == ("t",)
        assert hms.calls["get_all_tables"] == calls
        with HmsClient((view[C1],), 60.0) as client:
            await asyncio.to_thread(change, client)
        names = await listed.names_in("default")
        assert (names if names is None else list(names)) == after

    run(settings_of(hms, view), scenario)


def test_names_in_a_database_that_does_not_exist_are_not_known(hms, view) -> None:
    async def scenario(listed: TableListing) -> None:
        assert await listed.names_in("nowhere") is None
        assert await listed.described("nowhere", ["t"]) is None

    run(settings_of(hms, view), scenario)


def test_tables_are_described_in_the_order_of_their_names(hms, view) -> None:
    hms.add(a_table("t"))
    hms.add(a_table("u", 2))

    async def scenario(listed: TableListing) -> None:
        described = await listed.described("default", ["u", "gone", "t"])
        assert described is not None
        counts = [None if each is None else len(each.columns) for each in described]
        assert counts == [2, None, 1]

    run(settings_of(hms, view), scenario)


def test_names_of_databases_need_no_tables(hms, view) -> None:
    hms.add(a_table("t"))

    async def scenario(listed: TableListing) -> None:
        assert await listed.databases_of(lambda name: True) == ["default"]
        assert await listed.databases_of(lambda name: name == "x") == []
        with HmsClient((view[C1],), 60.0) as client:
            await asyncio.to_thread(_create_database, client)
        assert await listed.databases_of(lambda name: True) == ["default", "more"]
        assert not hms.calls["get_table_objects_by_name"]

    run(settings_of(hms, view), scenario)


def test_only_the_changed_table_is_read_again(hms, view) -> None:
    for number in range(5):
        hms.add(a_table(f"t{number}"))

    async def scenario(listed: TableListing) -> None:
        await found(listed)
        asked: list[str] = []
        answer = hms.answer_of("get_table_objects_by_name")
        hms.answers["get_table_objects_by_name"] = lambda each: (
            asked.extend(each.get(2)),
            answer(each),
        )[1]
        with HmsClient((view[C1],), 60.0) as client:
            await asyncio.to_thread(client.alter_table, TableRef("default", "t3"), a_table("t3", 2))
        now = await found(listed)
        assert now is not None
        assert now["default"]["t3"] == 2
        assert asked == ["t3"]

    run(settings_of(hms, view), scenario)


def test_a_change_while_tables_are_read_is_read_again(hms, view) -> None:
    """A change, with its notification, between the reply and the cache's update."""
    hms.add(a_table("t"))

    async def scenario(listed: TableListing, tracker: ChangeTracker) -> None:
        await found(listed)
        with HmsClient((view[C1],), 60.0) as client:
            client.alter_table(TableRef("default", "t"), a_table("t", 2))
        answer = hms.answer_of("get_table_objects_by_name")

        def late(arguments: object) -> object:
            old = answer(arguments)
            hms.answers["get_table_objects_by_name"] = answer
            with HmsClient((view[C1],), 60.0) as client:
                client.alter_table(TableRef("default", "t"), a_table("t", 3))
            look = tracker.update()
            asyncio.run_coroutine_threadsafe(look, loop).result(60.0)
            return old

        loop = asyncio.get_running_loop()
        hms.answers["get_table_objects_by_name"] = late
        assert await found(listed) == {"default": {"t": 2}}
        assert await found(listed) == {"default": {"t": 3}}

    async def main() -> None:
        with listing(settings_of(hms, view)) as (listed, tracker):
            await scenario(listed, tracker)

    asyncio.run(main())


def test_a_failed_reading_is_done_again(hms, view) -> None:
    hms.add(a_table("t"))

    async def scenario(listed: TableListing) -> None:
        def fails(arguments: object) -> object:
            raise AssertionError("an error of the metastore")

        hms.answers["get_table_objects_by_name"] = fails
        assert await found(listed) is None
        del hms.answers["get_table_objects_by_name"]
        assert await found(listed) == {"default": {"t": 1}}

    run(settings_of(hms, view), scenario)


def test_nothing_is_listed_without_the_views(hms: WritableMetastore) -> None:
    hms.add(a_table("t"))
    with views(hms) as view:
        settings = settings_of(hms, view)

    async def scenario(listed: TableListing) -> None:
        assert await found(listed) is None

    run(settings, scenario)


def test_nothing_is_listed_if_writers_may_bypass_the_views(hms, view) -> None:
    hms.add(a_table("t"))

    async def scenario(listed: TableListing) -> None:
        assert await found(listed) is None
        assert reads(hms) == 0

    run(Settings(TOPOLOGY, (hms.endpoint,), views={C1: (view[C1],)}), scenario)


def test_a_request_that_was_too_large_is_not_read_again_for_a_while(hms, view) -> None:
    hms.add(a_table("t", 20))

    async def scenario(listed: TableListing) -> None:
        assert await found(listed) is None
        before = reads(hms)
        assert await found(listed) is None
        assert reads(hms) == before

    run(settings_of(hms, view), scenario, 20)


def test_a_request_that_was_too_large_is_read_again_later(hms, view, monkeypatch) -> None:
    hms.add(a_table("t", 20))
    monkeypatch.setattr(listing_client, "REST", 0.0)

    async def scenario(listed: TableListing) -> None:
        assert await found(listed) is None
        hms.tables.clear()
        hms.add(a_table("t", 19))
        assert await found(listed) == {"default": {"t": 19}}

    run(settings_of(hms, view), scenario, 20)


def three_databases(hms: WritableMetastore) -> None:
    with HmsClient((hms.endpoint,)) as client:
        for name in ("one", "two", "three"):
            client.create_database(Database.make(name, f"hdfs://c1:8020/{name}"))
            hms.add(a_table("t", 7, name))


def test_at_the_limit_the_databases_that_were_used_last_are_kept(hms, view) -> None:
    """Each has 8 of 20 columns and tables: two are kept."""
    three_databases(hms)

    async def scenario(listed: TableListing) -> None:
        for name in ("one", "two", "one", "three"):
            assert await found(listed, name) == {name: {"t": 7}}
        before = reads(hms)
        assert await found(listed, "one") == {"one": {"t": 7}}
        assert reads(hms) == before
        assert await found(listed, "two") == {"two": {"t": 7}}
        assert reads(hms) == before + 1

    run(settings_of(hms, view), scenario, 20)


def test_smaller_requests_are_answered_after_one_that_is_too_large(hms, view) -> None:
    three_databases(hms)

    async def scenario(listed: TableListing) -> None:
        assert await found(listed) is None
        before = reads(hms)
        assert await found(listed) is None
        assert reads(hms) == before
        assert await found(listed, "two") == {"two": {"t": 7}}

    run(settings_of(hms, view), scenario, 20)


@pytest.mark.parametrize("metadata", [MetadataSource.CLUSTER, MetadataSource.AUTOMATIC])
def test_nothing_is_kept_if_the_cluster_has_to_answer(hms, view, metadata) -> None:
    """`automatic`: a cluster that gets the end user's name may check that user's rights."""
    logins = {C1: Login(Proof.PLAIN, "causeway")}
    settings = replace(settings_of(hms, view), metadata=metadata, logins=logins)

    async def main() -> None:
        loader = SnapshotLoader(settings, Snapshot())
        assert await loader.listed(lambda name: True) is None
        assert await loader.schemas(lambda name: True) is None
        loader.close()

    asyncio.run(main())
    assert sum(hms.calls.values()) == 0


def test_a_database_is_described_as_it_is_now(hms, view) -> None:
    async def main() -> None:
        loader = SnapshotLoader(settings_of(hms, view), Snapshot())
        try:
            with HmsClient((hms.endpoint,)) as client:
                client.create_database(Database.make("sales", "hdfs://c1:8020/sales"))
            found = await loader.spark_database("sales")
            assert found is not None
            assert (found.name, found.location) == ("sales", "hdfs://c1:8020/sales")
        finally:
            loader.close()

    asyncio.run(main())


def test_a_database_has_what_spark_shows_of_it() -> None:
    made = Database.make("sales", "hdfs://c1:8020/sales", "of all shops")
    made.set_text(6, "ann")
    made.parameters = {"k": "v"}
    location = "hdfs://c1:8020/sales"
    expected = SparkDatabase("sales", "of all shops", location, "ann", {"k": "v"})
    assert spark_database(made) == expected
    made.location = "hdfs://c1:8020/sales/../x"
    assert spark_database(made).location is None


def test_many_tables_are_described_by_two_calls_in_the_same_order(hms, view) -> None:
    names = [f"t{number:03}" for number in range(FEW_DESCRIBED + 1)]
    for number, name in enumerate(names):
        hms.add(a_table(name, number % 3 + 1))

    async def scenario(listed: TableListing) -> None:
        described = await listed.described("default", names)
        assert described is not None
        columns = [0 if each is None else len(each.columns) for each in described]
        assert columns == [number % 3 + 1 for number in range(len(names))]

    run(settings_of(hms, view), scenario)
    assert hms.calls["get_table_objects_by_name"] == 2
