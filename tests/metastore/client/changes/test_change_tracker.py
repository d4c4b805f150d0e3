"""`snapshot.writers = views`: the views are asked what changed, the metastore only for that."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, closing

import pytest

from conf.names import TableRef
from conf.placement import Copy
from conf.settings.settings import Settings, Writers
from conf.topology import Endpoint
from metastore.client.changes.change_tracker import ChangeTracker
from metastore.client.changes.notifying_client import EVERYTHING
from metastore.client.changes.view_sync import ViewSync
from metastore.client.connection import Connection
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Changes, Partition, Table
from metastore.placement.placement_store import PlacementStore
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from metastore.view.server.shared import Shared
from tests.metastore.snapshot.loading import run
from tests.metastore.view.server.view_calls import AWAY, HOME, KEYS, REF, placed, table
from tests.metastore.writable import (
    C1,
    C2,
    TOPOLOGY,
    WritableMetastore,
    pairs_of_addresses,
    settings_of,
    views,
)
from thriftcodec.values import STRING, STRUCT, Struct


async def asked(hms: WritableMetastore, loader: SnapshotLoader) -> int:
    """How often the metastore is asked for the table by one statement."""
    before = hms.calls["get_table"]
    await loader.load_facts([REF])
    return hms.calls["get_table"] - before


def test_an_unchanged_table_costs_the_metastore_nothing(hms, view) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        assert await asked(hms, loader) == 1
        assert await asked(hms, loader) == 1  # the first look says that anything may have changed
        for _ in range(3):
            assert await asked(hms, loader) == 0
        assert snapshot.facts(REF).replicas.fresh == {C2}

    run(settings_of(hms, view), scenario)


def _alter(hms: WritableMetastore, view: Mapping[str, Endpoint]) -> None:
    with HmsClient((view[C1],), 60.0) as client:
        client.alter_table(REF, table({}))


def _mark(hms: WritableMetastore, view: Mapping[str, Endpoint]) -> None:
    """As another proxy does."""
    sync = ViewSync([view[C2]], 60.0)
    with HmsClient((hms.endpoint,), 60.0) as client:
        PlacementStore(client, C1, sync).open_write(REF, "w", None, 0, "other")
    sync.close()


def _rewrite(hms: WritableMetastore, view: Mapping[str, Endpoint]) -> None:
    connection = Connection(view["default"], 60.0)
    event = Struct({3: (STRING, "default"), 4: (STRING, "t")})
    connection.call("fire_listener_event", Struct({1: (STRUCT, event)}), {}, 60.0)
    connection.close()


def _anything(hms: WritableMetastore, view: Mapping[str, Endpoint]) -> None:
    """As after a program that may have changed whatever it wanted."""
    with HmsClient((hms.endpoint,), 60.0) as client, ViewSync([view[C2]], 60.0) as tell:
        client.alter_table(REF, table({}))
        tell(EVERYTHING)


@pytest.mark.parametrize("change", [_alter, _mark, _rewrite, _anything])
def test_the_next_statement_sees_a_change(hms, view, change: Callable[..., None]) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for _ in range(3):
            await loader.load_facts([REF])
        assert snapshot.facts(REF).replicas.fresh == {C2}
        await asyncio.to_thread(change, hms, view)
        assert await asked(hms, loader) == 1
        assert snapshot.facts(REF).replicas.fresh == frozenset()
        assert await asked(hms, loader) == 0

    run(settings_of(hms, view), scenario)


def test_the_next_statement_sees_a_new_partition(hms, view) -> None:
    hms.add(table(placed(), KEYS), ("ds=1", {}))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for _ in range(3):
            await loader.load_facts([REF])
        new = Partition.make(table({}, KEYS), ["2"], HOME + "/ds=2", {})
        with HmsClient((view[C1],), 60.0) as client:
            await asyncio.to_thread(client.add_partitions, REF, [new])
        await loader.load_facts([REF])
        facts = snapshot.facts(REF)
        assert len(facts.partitions.partitions) == 2

    run(settings_of(hms, view), scenario)


def test_a_change_while_the_table_is_read_is_not_missed(hms, view) -> None:
    """It is done between the metastore's answer and our keeping of it."""
    hms.add(table(placed(Copy(C2, AWAY, "0"))))

    async def scenario() -> None:
        with closing(ChangeTracker(settings_of(hms, view))) as tracker:
            await tracker.update()
            tracker.was_read(REF, tracker.reading())
            assert await tracker.unchanged([REF])
            began = tracker.reading()
            await asyncio.to_thread(_alter, hms, view)
            assert not await tracker.unchanged([REF])
            tracker.was_read(REF, began)
            assert not await tracker.unchanged([REF])

    asyncio.run(scenario())


def test_without_a_view_tables_are_read_from_the_metastore(hms: WritableMetastore) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    with views(hms) as view:
        settings = settings_of(hms, view)

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for _ in range(4):
            assert await asked(hms, loader) == 1

    run(settings, scenario)


def test_a_restarted_view_reports_everything(hms: WritableMetastore) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for _ in range(3):
            await loader.load_facts([REF])
        await asyncio.to_thread(first.close)
        with views(hms, listen=one):
            assert await asked(hms, loader) == 1
            assert await asked(hms, loader) == 0

    with ExitStack() as first:
        one = first.enter_context(views(hms))
        run(settings_of(hms, one), scenario)


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The positions from which views were asked for changes."""
    positions: list[int] = []
    answer = Shared.touched

    def touched(shared: Shared, since: int) -> Changes:
        positions.append(since)
        return answer(shared, since)

    monkeypatch.setattr(Shared, "touched", touched)
    return positions


def test_one_of_the_views_of_a_process_is_called_once_for_all_tables(hms, view, questions) -> None:
    refs = [TableRef("default", name) for name in ("a", "b", "c")]
    for ref in refs:
        hms.add(Table.make(ref, [("x", "int")], location=HOME, parameters=placed()))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for _ in range(3):
            await loader.load_facts(refs)
        questions.clear()
        await loader.load_facts(refs)
        assert len(questions) == 1

    run(settings_of(hms, view), scenario)


def test_a_view_of_each_process_is_called(hms, questions) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    with views(hms) as one, views(hms) as other:
        settings = settings_of(hms, {C1: one[C1], C2: other[C2]})

        async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
            for _ in range(3):
                await loader.load_facts([REF])
            questions.clear()
            assert await asked(hms, loader) == 0
            assert len(questions) == 2
            await asyncio.to_thread(_mark, hms, other)
            assert await asked(hms, loader) == 1

        run(settings, scenario)


def test_each_view_is_called_after_the_connection_to_its_process_is_lost(
    hms: WritableMetastore,
) -> None:
    """Two views of one process, of which another one takes over the second."""
    hms.add(table(placed(Copy(C2, AWAY, "0"))))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for _ in range(3):
            await loader.load_facts([REF])
        await asyncio.to_thread(first.close)
        with views(hms, listen={**one, C1: Endpoint("127.0.0.1", 0)}) as other:
            await asked(hms, loader)  # C1's view does not answer any more
            await asyncio.to_thread(_mark, hms, other)
            assert await asked(hms, loader) == 1

    with ExitStack() as first:
        one = first.enter_context(views(hms))
        run(settings_of(hms, one), scenario)


def test_by_default_no_client_is_trusted(hms, view) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    settings = Settings(TOPOLOGY, (hms.endpoint,), views={C1: (view[C1],)})

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for _ in range(4):
            assert await asked(hms, loader) == 1

    run(settings, scenario)


def test_a_view_that_has_ended_is_left_out(hms) -> None:
    """At first anything may have changed; then the other one's changes are all."""
    hms.add(table({}))
    known = pairs_of_addresses()
    settings = Settings(TOPOLOGY, (hms.endpoint,), views=known, writers=Writers.VIEWS)

    def process(number: int) -> AbstractContextManager[Mapping[str, Endpoint]]:
        listen = {str(name): each[number] for name, each in known.items()}
        return views(hms, peers=known, listen=listen, writers=Writers.VIEWS)

    with process(1), ExitStack() as first:
        first.enter_context(process(0))

        async def scenario(loader: SnapshotLoader, _: Snapshot) -> None:
            await asked(hms, loader)
            await asked(hms, loader)
            assert await asked(hms, loader) == 0
            await asyncio.to_thread(first.close)
            assert await asked(hms, loader) == 1
            assert await asked(hms, loader) == 0
            with HmsClient((known[C1][1],), 60.0) as client:
                await asyncio.to_thread(client.alter_table, REF, table({"k": "v"}))
            assert await asked(hms, loader) == 1
            assert await asked(hms, loader) == 0

        run(settings, scenario)
