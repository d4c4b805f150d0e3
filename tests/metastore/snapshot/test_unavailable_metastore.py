"""A metastore that hangs, is silent or is down: calls end in time, and copies do not count."""

import asyncio
import socket
import threading

import pytest

from conf.names import TableRef
from conf.topology import Endpoint
from metastore.errors import MetastoreDown
from metastore.snapshot import loader_client
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from tests.metastore.fake import FakeMetastore
from tests.metastore.snapshot.loading import C1, C2, PARTED, REF, copied, make_table, run_scenario


def test_a_hanging_call_does_not_block_others(metastore: FakeMetastore) -> None:
    metastore.add(make_table())
    metastore.add(make_table(ref=PARTED), ("ds=1", {}))
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

    run_scenario(metastore, scenario)


def test_when_the_metastore_is_down_copies_do_not_count(
    metastore: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_client, "CLOSE_PAUSES", (0.01,))
    metastore.add(make_table(copied()))

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

    run_scenario(metastore, scenario)


def test_a_silent_metastore_is_given_up_in_time() -> None:

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        with pytest.raises(MetastoreDown):
            await loader.load([REF])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        run_scenario(Endpoint("127.0.0.1", listener.getsockname()[1]), scenario, timeout=0.1)


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
        run_scenario(Endpoint("127.0.0.1", listener.getsockname()[1]), scenario, timeout=3600)
        thread.join()
