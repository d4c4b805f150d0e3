"""The loader against a metastore in memory: precise, shared, bounded, honest when it is down."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import pytest

from conf.catalog.tables import NotLoaded
from conf.names import ClusterName, PartitionRef, TableRef
from conf.partitions import PartitionKey, PartitionSet
from conf.placement import Copy, Placement, read_placement, write_placement
from conf.settings.settings import Settings
from conf.topology import Endpoint, Topology
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.errors import MetastoreDown, UnreadableFacts
from metastore.placement.placement_store import PlacementStore
from metastore.snapshot import loader_client
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from tests.metastore.fake import FakeMetastore

C1, C2 = ClusterName("C1"), ClusterName("C2")
REF = TableRef("default", "t")
PARTED = TableRef("default", "p")

Scenario = Callable[[SnapshotLoader, Snapshot], Awaitable[None]]


@dataclass(frozen=True)
class Day:
    day: str

    def select(self, partitions: PartitionSet) -> range | list[int]:
        return list(partitions.rows_with(0, self.day))

    def required(self, keys: Sequence[PartitionKey]) -> list[frozenset[str] | None]:
        return [frozenset({self.day}), *(None for _ in keys[1:])]


class Late(Day):
    """The same, for a condition that names no texts."""

    def required(self, keys: Sequence[PartitionKey]) -> list[frozenset[str] | None]:
        return [None for _ in keys]


def _run(metastore: FakeMetastore | Endpoint, scenario: Scenario, timeout: float = 60) -> None:
    endpoint = metastore if isinstance(metastore, Endpoint) else metastore.endpoint
    settings = Settings(Topology({}, C1), (endpoint,), metastore_timeout=timeout)

    async def run() -> None:
        snapshot = Snapshot()
        loader = SnapshotLoader(settings, snapshot)
        try:
            await scenario(loader, snapshot)
        finally:
            loader.close()

    asyncio.run(run())


def _table(placement: Placement | None = None, ref: TableRef = REF) -> Table:
    keys = [("ds", "string")] if ref == PARTED else []
    parameters = {} if placement is None else write_placement(placement)
    location = f"file:/w/{ref.name}"
    return Table.make(
        ref, [("id", "int")], location=location, partition_keys=keys, parameters=parameters
    )


def _copied() -> Placement:
    return Placement(C1).with_copy(Copy(C2, "file:/c2/t", "0"))


def _stored(metastore: FakeMetastore, ref: TableRef = REF) -> Placement:
    return read_placement(Table(metastore.tables[ref]).parameters, C1)


def _stored_partition(metastore: FakeMetastore, name: str) -> Placement:
    return read_placement(Partition(metastore.partitions[PARTED][name]).parameters, C1)


def test_a_change_made_elsewhere_is_seen_by_the_next_statement(metastore: FakeMetastore) -> None:
    metastore.add(_table(_copied()))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([REF])
        assert snapshot.facts(REF).replicas.fresh == {C2}
        metastore.add(_table(_copied().rewritten("w1")))
        assert await loader.load_facts([REF]) == frozenset()
        assert snapshot.facts(REF).replicas.fresh == frozenset()

    _run(metastore, scenario)


def test_a_change_of_schema_is_reported(metastore: FakeMetastore) -> None:
    metastore.add(_table())

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load([REF])
        assert await loader.load_facts([REF]) == frozenset()
        metastore.add(Table.make(REF, [("id", "bigint")]))
        assert await loader.load_facts([REF]) == {REF}
        del metastore.tables[REF]
        assert await loader.load_facts([REF]) == {REF}
        assert snapshot.facts(REF) is None

    _run(metastore, scenario)


def test_a_stampede_asks_once(metastore: FakeMetastore) -> None:
    metastore.add(_table(ref=PARTED), *((f"ds={number}", {}) for number in range(10)))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await asyncio.gather(*(loader.load_facts([PARTED]) for _ in range(100)))
        # Those who came while the first was on its way share a second one.
        assert metastore.calls["get_table"] <= 2
        assert metastore.calls["get_partition_names"] == 1
        assert metastore.calls["get_partitions_by_names"] == 1

    _run(metastore, scenario)


def test_only_selected_partitions_are_fetched(metastore: FakeMetastore) -> None:
    metastore.add(_table(ref=PARTED), *((f"ds={number}", {}) for number in range(2500)))
    asked: list[int] = []
    answer = metastore.answer_of("get_partitions_by_names")

    def counted(arguments):  # type: ignore[no-untyped-def]
        asked.append(len(arguments.get(3)))
        return answer(arguments)

    metastore.answers["get_partitions_by_names"] = counted

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for _ in range(3):
            await loader.load_facts([PARTED], {PARTED: [Day("7"), Day("8")]})
        assert asked == [2]
        assert snapshot.facts(PARTED, [Day("7")]) is not None
        await loader.load_facts([PARTED])
        assert asked == [2, 1000, 1000, 500]

    _run(metastore, scenario)


def test_other_days_names_are_not_even_read(metastore: FakeMetastore) -> None:
    metastore.add(_table(ref=PARTED), *((f"ds={number}", {}) for number in range(2500)))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for days in (["7", "8"], ["8"], ["8", "9"], ["7", "9"]):
            await loader.load_facts([PARTED], {PARTED: [Day(day) for day in days]})
            placed = snapshot.facts(PARTED, [Day(day) for day in days])
            assert placed is not None
            assert placed.partitions is not None
        assert len(placed.partitions.partitions) == 3
        assert metastore.calls["get_partition_names_ps"] == 3  # a day each
        assert metastore.calls["get_partitions_by_names"] == 2  # of 7 and 8, then of 9
        assert metastore.calls["get_partition_names"] == 0
        with pytest.raises(NotLoaded):
            snapshot.facts(PARTED, [Late("7")])
        await loader.load_facts([PARTED], {PARTED: [Late("7")]})
        assert snapshot.facts(PARTED, [Late("7")]) is not None
        assert metastore.calls["get_partition_names"] == 1

    _run(metastore, scenario)


def test_what_slices_brought_together_is_bounded(
    metastore: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metastore.snapshot.partitions_client.MERGED", 3)
    metastore.add(_table(ref=PARTED), *((f"ds={number}", {}) for number in range(100)))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for number in range(20):
            await loader.load_facts([PARTED], {PARTED: [Day(str(number))]})
            facts = snapshot.facts(PARTED, [Day(str(number))])
            assert facts is not None
            assert facts.partitions is not None
            assert len(facts.partitions.partitions) <= 4

    _run(metastore, scenario)


def test_slices_are_read_again_when_the_table_changed(metastore: FakeMetastore) -> None:
    metastore.add(_table(ref=PARTED), ("ds=1", {}))
    day = {PARTED: [Day("1"), Day("2")]}

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([PARTED], day)
        changed = _table(Placement(C1, facts="another"), PARTED)
        metastore.add(changed, ("ds=1", write_placement(_copied())), ("ds=2", {}))
        await loader.load_facts([PARTED], day)
        facts = snapshot.facts(PARTED, day[PARTED])
        assert facts is not None
        assert facts.partitions is not None
        assert len(facts.partitions.partitions) == 2

    _run(metastore, scenario)


def test_a_uniform_table_needs_names_alone(metastore: FakeMetastore) -> None:
    metastore.add(_table(Placement(C1, exceptions=frozenset()), PARTED), ("ds=1", {}))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([PARTED])
        assert metastore.calls["get_partitions_by_names"] == 0
        assert snapshot.facts(PARTED).partitions.replicas[0].primary == C1

    _run(metastore, scenario)


def test_only_the_partitions_that_a_table_names_as_exceptions_are_read(
    metastore: FakeMetastore,
) -> None:
    own = write_placement(Placement(C1).with_copy(Copy(C2, "file:/c2", "0/0")))
    days = [(f"ds={day}", own if day in (3, 7) else {}) for day in range(100)]
    metastore.add(_table(Placement(C1, exceptions=frozenset({"ds=3", "ds=7"})), PARTED), *days)
    asked: list[int] = []
    with HmsClient([metastore.endpoint], 60) as client:
        PlacementStore(client, C1).change_partitions(PARTED, ["ds=9"], lambda _, old: old.with_copy(
            Copy(C2, "file:/c9", old.version)
        ))  # fmt: skip

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        metastore.before = lambda method: asked.append(method == "get_partitions_by_names")
        await loader.load_facts([PARTED])
        placed = snapshot.facts(PARTED).partitions
        fresh = [C2 in placed.replicas[group].fresh for group in placed.groups]
        assert [day for day, is_fresh in enumerate(fresh) if is_fresh] == [3, 7, 9]

    _run(metastore, scenario)
    assert sum(asked) == 1
    assert _stored(metastore, PARTED).exceptions == {"ds=3", "ds=7", "ds=9"}


def test_a_write_is_marked_before_and_ended_after(metastore: FakeMetastore) -> None:
    metastore.add(_table(_copied()))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([REF])
        token = await loader.open_write(loader.new_write([REF]))
        assert _stored(metastore).writing
        assert snapshot.facts(REF).replicas.stale == {C2}
        await loader.close_write(token)
        assert not _stored(metastore).writing
        await loader.load_facts([REF])
        assert snapshot.facts(REF).replicas.stale == {C2}

    _run(metastore, scenario)


def test_a_write_waits_for_pending_changes_of_the_views(metastore: FakeMetastore) -> None:
    metastore.add(_table(_copied()))
    view = {C1: (metastore.endpoint,), C2: (metastore.endpoint,)}
    settings = Settings(Topology({}, C1), (metastore.endpoint,), views=view)

    async def run() -> None:
        loader = SnapshotLoader(settings, Snapshot())
        token = await loader.open_write(loader.new_write([REF]))
        assert metastore.calls["causeway_settle"] == 1  # one address
        await loader.close_write(token)
        assert metastore.calls["causeway_settle"] == 2
        loader.close()

    asyncio.run(run())
    assert _stored(metastore).open == ()


def test_a_write_of_one_partition_leaves_other_copies_fresh(metastore: FakeMetastore) -> None:
    own = write_placement(Placement(C1).with_copy(Copy(C2, "file:/c2", "0/0")))
    metastore.add(_table(ref=PARTED), ("ds=1", own), ("ds=2", own))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        async def fresh(day: str) -> bool:
            await loader.load_facts([PARTED], {PARTED: [Day(day)]})
            placed = snapshot.facts(PARTED, [Day(day)]).partitions
            (row,) = placed.partitions.rows_with(0, day)
            return C2 in placed.replicas[placed.groups[row]].fresh

        token = await loader.open_write(loader.new_write([PartitionRef(PARTED, (("ds", "2"),))]))
        assert (await fresh("1"), await fresh("2")) == (True, False)
        await loader.close_write(token)
        assert (await fresh("1"), await fresh("2")) == (True, False)
        assert _stored_partition(metastore, "ds=1").write == "0"
        token = await loader.open_write(loader.new_write([PARTED]))
        assert await fresh("1") is False
        await loader.close_write(token)
        assert await fresh("1") is False

    _run(metastore, scenario)


def test_a_write_of_a_uniform_table_changes_no_partition(metastore: FakeMetastore) -> None:
    metastore.add(_table(Placement(C1, exceptions=frozenset()), PARTED), ("ds=1", {}))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        token = await loader.open_write(loader.new_write([PartitionRef(PARTED, (("ds", "1"),))]))
        await loader.close_write(token)
        assert metastore.calls["alter_partitions_with_environment_context"] == 0
        assert _stored(metastore, PARTED).write != "0"  # ends a copy that had begun
        assert _stored(metastore, PARTED).uniform

    _run(metastore, scenario)


def test_a_renamed_table_loses_its_mark_under_its_new_name(metastore: FakeMetastore) -> None:
    metastore.add(_table(_copied()))
    new = TableRef("default", "t2")

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        token = await loader.open_write(loader.new_write([REF, new]))
        renamed = Table(metastore.tables.pop(REF))
        renamed.set_text(1, "t2")
        metastore.add(renamed)
        await loader.close_write(token)
        assert not _stored(metastore, new).writing

    _run(metastore, scenario)


def test_a_new_table_is_claimed_once(metastore: FakeMetastore) -> None:
    metastore.add(_table())

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.claim(REF, C2)
        await loader.claim(REF, C1)
        assert _stored(metastore).primary == C2
        await loader.claim(TableRef("default", "gone"), C2)

    _run(metastore, scenario)


def test_a_hanging_call_does_not_block_others(metastore: FakeMetastore) -> None:
    metastore.add(_table())
    metastore.add(_table(ref=PARTED), ("ds=1", {}))
    hanging = threading.Event()
    metastore.before = lambda method: method != "get_partition_names" or hanging.wait(60) or None

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        slow = asyncio.ensure_future(loader.load_facts([PARTED]))
        await loader.load([PARTED])
        for _ in range(20):
            await loader.load_facts([REF])
        assert not slow.done()
        hanging.set()
        await slow

    _run(metastore, scenario)


def test_cancelling_a_reader_does_not_cancel_the_load(metastore: FakeMetastore) -> None:
    metastore.add(_table())
    asked, go_on = threading.Event(), threading.Event()

    def before(method: str) -> None:
        asked.set()
        go_on.wait(60)

    metastore.before = before

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        first = asyncio.ensure_future(loader.load_facts([REF]))
        await asyncio.to_thread(asked.wait)
        second = asyncio.ensure_future(loader.load_facts([REF]))
        await asyncio.sleep(0)
        first.cancel()
        go_on.set()
        await second
        assert snapshot.table(REF) is not None

    _run(metastore, scenario)


def test_when_the_metastore_is_down_copies_do_not_count(
    metastore: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_client, "CLOSE_PAUSES", (0.01,))
    metastore.add(_table(_copied()))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([REF])
        metastore.stop()
        await loader.load_facts([REF])
        replicas = snapshot.facts(REF).replicas
        assert (replicas.primary, replicas.fresh, replicas.stale) == (C1, frozenset(), {C2})
        with pytest.raises(MetastoreDown):
            await loader.load_facts([TableRef("default", "other")])
        with pytest.raises(MetastoreDown):
            await loader.open_write(loader.new_write([REF]))
        with pytest.raises(MetastoreDown):
            await loader.load_database("default")

    _run(metastore, scenario)


def test_a_silent_metastore_is_given_up_in_time() -> None:

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        with pytest.raises(MetastoreDown):
            await loader.load([REF])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        _run(Endpoint("127.0.0.1", listener.getsockname()[1]), scenario, timeout=0.1)


def test_closing_ends_a_call_that_hangs() -> None:
    accepted = threading.Event()

    def accept(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1)
            accepted.set()
            while connection.recv(1 << 16):
                pass

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        hanging = asyncio.ensure_future(loader.load([REF]))
        await asyncio.to_thread(accepted.wait, 10)
        loader.close()
        with pytest.raises(MetastoreDown):
            await hanging

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener,))
        thread.start()
        # Much longer than the test may take: only closing ends the call.
        _run(Endpoint("127.0.0.1", listener.getsockname()[1]), scenario, timeout=3600)
        thread.join()


def test_unreadable_facts_are_an_error(metastore: FakeMetastore) -> None:
    broken = _table()
    broken.parameters = {"causeway.copy.C2": "?"}
    metastore.add(broken)
    metastore.add(_table(ref=PARTED), ("ds=1", {"causeway.copy.C2": "?"}))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for ref in (REF, PARTED):
            with pytest.raises(UnreadableFacts):
                await loader.load_facts([ref])

    _run(metastore, scenario)


def test_databases(metastore: FakeMetastore) -> None:
    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_database("default")
        assert snapshot.database_exists("default")
        await loader.load_database("nowhere")
        assert not snapshot.database_exists("nowhere")

    _run(metastore, scenario)


def test_many_partitions_are_chosen_outside_the_event_loop(
    metastore: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A predicate remembers what it chose, so the event loop's own questions take no time."""
    monkeypatch.setattr("metastore.snapshot.partitions_client.MANY", 3)
    metastore.add(_table(ref=PARTED), *((f"ds={day}", {}) for day in range(5)))
    first: list[bool] = []

    @dataclass(frozen=True)
    class Noting(Late):
        def select(self, partitions: PartitionSet) -> range | list[int]:
            first.append(threading.current_thread() is threading.main_thread())
            return super().select(partitions)

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        noting = Noting("3")
        for _ in range(2):
            await loader.load_facts([PARTED], {PARTED: [noting]})
        assert first.count(False) == 1

    _run(metastore, scenario)


def test_partitions_are_asked_for_by_values(metastore: FakeMetastore) -> None:
    days = [f"ds=2026-01-0{day}" for day in (1, 2)]
    metastore.add(_table(ref=PARTED), *((name, {}) for name in days))

    async def scenario(loader: SnapshotLoader, _: Snapshot) -> None:
        assert sorted(await loader.partition_names(PARTED)) == days
        assert list(await loader.partition_names(PARTED, ["2026-01-02"])) == days[1:]
        assert metastore.calls["get_partition_names_ps"] == 1

    _run(metastore, scenario)


def test_a_database_is_not_described_where_others_may_write(metastore: FakeMetastore) -> None:
    async def scenario(loader: SnapshotLoader, _: Snapshot) -> None:
        assert await loader.spark_database("default") is None
        assert metastore.calls["get_database"] == 0

    _run(metastore, scenario)


@pytest.mark.parametrize(("kind", "copyable"), [("ICEBERG", False), ("delta", True)])
def test_facts_say_whether_a_table_can_be_copied(
    metastore: FakeMetastore, kind: str, copyable: bool
) -> None:
    table = _table()
    table.parameters = {**table.parameters, "table_type": kind}
    metastore.add(table)

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([REF])
        facts = snapshot.facts(REF)
        assert facts is not None
        assert facts.copyable is copyable

    _run(metastore, scenario)
