"""The loader against a metastore in memory: changes are seen and loads are shared."""

import asyncio
import threading

import pytest

from metastore.client.types import Table
from metastore.errors import UnreadableFacts
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from tests.metastore.fake import FakeMetastore
from tests.metastore.snapshot.loading import C2, PARTED, REF, copied, make_table, run_scenario


def test_a_change_made_elsewhere_is_seen_by_the_next_statement(metastore: FakeMetastore) -> None:
    metastore.add(make_table(copied()))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([REF])
        assert snapshot.facts(REF).replicas.fresh == {C2}
        metastore.add(make_table(copied().rewritten("w1")))
        assert await loader.load_facts([REF]) == frozenset()
        assert snapshot.facts(REF).replicas.fresh == frozenset()

    run_scenario(metastore, scenario)


def test_a_change_of_schema_is_reported(metastore: FakeMetastore) -> None:
    metastore.add(make_table())

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load([REF])
        assert await loader.load_facts([REF]) == frozenset()
        metastore.add(Table.make(REF, [("id", "bigint")]))
        assert await loader.load_facts([REF]) == {REF}
        del metastore.tables[REF]
        assert await loader.load_facts([REF]) == {REF}
        assert snapshot.facts(REF) is None

    run_scenario(metastore, scenario)


def test_many_callers_share_one_call(metastore: FakeMetastore) -> None:
    metastore.add(make_table(ref=PARTED), *((f"ds={number}", {}) for number in range(10)))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await asyncio.gather(*(loader.load_facts([PARTED]) for _ in range(100)))
        # Those who came while the first was on its way share a second one.
        assert metastore.calls["get_table"] <= 2
        assert metastore.calls["get_partition_names"] == 1
        assert metastore.calls["get_partitions_by_names"] == 1

    run_scenario(metastore, scenario)


def test_cancelling_a_reader_does_not_cancel_the_load(metastore: FakeMetastore) -> None:
    metastore.add(make_table())
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

    run_scenario(metastore, scenario)


def test_unreadable_facts_are_an_error(metastore: FakeMetastore) -> None:
    broken = make_table()
    broken.parameters = {"causeway.copy.C2": "?"}
    metastore.add(broken)
    metastore.add(make_table(ref=PARTED), ("ds=1", {"causeway.copy.C2": "?"}))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for ref in (REF, PARTED):
            with pytest.raises(UnreadableFacts):
                await loader.load_facts([ref])

    run_scenario(metastore, scenario)


def test_databases(metastore: FakeMetastore) -> None:
    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_database("default")
        assert snapshot.database_exists("default")
        await loader.load_database("nowhere")
        assert not snapshot.database_exists("nowhere")

    run_scenario(metastore, scenario)


def test_a_database_is_not_described_where_others_may_write(metastore: FakeMetastore) -> None:
    async def scenario(loader: SnapshotLoader, _: Snapshot) -> None:
        assert await loader.spark_database("default") is None
        assert metastore.calls["get_database"] == 0

    run_scenario(metastore, scenario)


@pytest.mark.parametrize(("kind", "copyable"), [("ICEBERG", False), ("delta", True)])
def test_facts_say_whether_a_table_can_be_copied(
    metastore: FakeMetastore, kind: str, copyable: bool
) -> None:
    table = make_table()
    table.parameters = {**table.parameters, "table_type": kind}
    metastore.add(table)

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([REF])
        facts = snapshot.facts(REF)
        assert facts is not None
        assert facts.copyable is copyable

    run_scenario(metastore, scenario)
