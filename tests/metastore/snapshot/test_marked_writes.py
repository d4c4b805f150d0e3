"""Writes are marked in the metastore before they run, and get their id when they end."""

import asyncio

from conf.names import PartitionRef, TableRef
from conf.placement import Copy, Placement, write_placement
from conf.settings.settings import Settings
from conf.topology import Topology
from metastore.client.types import Table
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from tests.metastore.fake import FakeMetastore
from tests.metastore.snapshot.loading import (
    C1,
    C2,
    PARTED,
    REF,
    Day,
    copied,
    make_table,
    run_scenario,
    stored,
    stored_partition,
)


def test_a_write_is_marked_before_and_ended_after(metastore: FakeMetastore) -> None:
    metastore.add(make_table(copied()))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([REF])
        token = await loader.open_write(loader.new_write([REF]))
        assert stored(metastore).writing
        assert snapshot.facts(REF).replicas.stale == {C2}
        await loader.close_write(token)
        assert not stored(metastore).writing
        await loader.load_facts([REF])
        assert snapshot.facts(REF).replicas.stale == {C2}

    run_scenario(metastore, scenario)


def test_a_write_waits_for_pending_changes_of_the_views(metastore: FakeMetastore) -> None:
    metastore.add(make_table(copied()))
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
    assert stored(metastore).open == ()


def test_a_write_of_one_partition_leaves_other_copies_fresh(metastore: FakeMetastore) -> None:
    own = write_placement(Placement(C1).with_copy(Copy(C2, "file:/c2", "0/0")))
    metastore.add(make_table(ref=PARTED), ("ds=1", own), ("ds=2", own))

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
        assert stored_partition(metastore, "ds=1").write == "0"
        token = await loader.open_write(loader.new_write([PARTED]))
        assert await fresh("1") is False
        await loader.close_write(token)
        assert await fresh("1") is False

    run_scenario(metastore, scenario)


def test_a_write_of_a_uniform_table_changes_no_partition(metastore: FakeMetastore) -> None:
    metastore.add(make_table(Placement(C1, exceptions=frozenset()), PARTED), ("ds=1", {}))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        token = await loader.open_write(loader.new_write([PartitionRef(PARTED, (("ds", "1"),))]))
        await loader.close_write(token)
        assert metastore.calls["alter_partitions_with_environment_context"] == 0
        assert stored(metastore, PARTED).write != "0"  # ends a copy that had begun
        assert stored(metastore, PARTED).uniform

    run_scenario(metastore, scenario)


def test_a_renamed_table_loses_its_mark_under_its_new_name(metastore: FakeMetastore) -> None:
    metastore.add(make_table(copied()))
    new = TableRef("default", "t2")

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        token = await loader.open_write(loader.new_write([REF, new]))
        renamed = Table(metastore.tables.pop(REF))
        renamed.set_text(1, "t2")
        metastore.add(renamed)
        await loader.close_write(token)
        assert not stored(metastore, new).writing

    run_scenario(metastore, scenario)


def test_a_new_table_is_claimed_once(metastore: FakeMetastore) -> None:
    metastore.add(make_table())

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.claim(REF, C2)
        await loader.claim(REF, C1)
        assert stored(metastore).primary == C2
        await loader.claim(TableRef("default", "gone"), C2)

    run_scenario(metastore, scenario)
