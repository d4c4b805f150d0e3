"""Facts written beside an old client's alter, at the worst moment, through real views (D10)."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from conf.placement import (
    Copy,
    Placement,
    read_partition_placement,
    read_placement,
    write_placement,
)
from conf.topology import Endpoint
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.errors import ChangedMeanwhile, MetastoreDown
from metastore.placement.placement_store import PlacementStore
from tests.metastore.view.server.view_calls import AWAY, HOME, KEYS, REF, placed, table
from tests.metastore.writable import C1, C2, WritableMetastore

MOMENT = 0.5  # seconds in which a writer that does not wait is certainly done


def crossing(
    hms: WritableMetastore, view: Mapping[str, Endpoint], method: str, alter: Callable[[], None]
) -> Callable[[Callable[[PlacementStore], object]], None]:
    """Runs a change of facts between a view's question and its client's alter."""

    def run(change: Callable[[PlacementStore], object]) -> None:
        arrived, go_on = threading.Event(), threading.Event()

        def hold(called: str) -> None:
            if called == method and not arrived.is_set():
                arrived.set()
                assert go_on.wait(60)

        hms.before = hold
        client = threading.Thread(target=alter)
        client.start()
        assert arrived.wait(60)
        writer = threading.Thread(target=_changed, args=(hms, view, change))
        writer.start()
        writer.join(MOMENT)
        go_on.set()
        client.join(60)
        writer.join(60)
        assert not client.is_alive()
        assert not writer.is_alive()

    return run


def _changed(
    hms: WritableMetastore, view: Mapping[str, Endpoint], change: Callable[[PlacementStore], object]
) -> None:
    with HmsClient((hms.endpoint,), 60.0) as client, ViewSync(view.values(), 60.0) as sync:
        change(PlacementStore(client, C1, sync))


def stored(hms: WritableMetastore) -> Placement:
    return read_placement(Table(hms.tables[REF]).parameters, C1)


@pytest.fixture
def altered(hms: WritableMetastore, view: Mapping[str, Endpoint]) -> Iterator[HmsClient]:
    with HmsClient((view[C1],), 60) as client:
        yield client


def test_a_mark_put_beside_an_alter_stays(hms, view, altered: HmsClient) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    run = crossing(
        hms,
        view,
        "alter_table_with_environment_context",
        lambda: altered.alter_table(REF, table({"k": "v"})),
    )
    run(lambda facts: facts.open_write(REF, "w", None, 0, "proxy"))
    assert [mark.id for mark in stored(hms).open] == ["w"]
    assert Table(hms.tables[REF]).parameters["k"] == "v"


def test_a_mark_taken_away_beside_an_alter_is_gone(hms, view, altered: HmsClient) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0")) | _marks()))
    run = crossing(
        hms,
        view,
        "alter_table_with_environment_context",
        lambda: altered.alter_table(REF, table({})),
    )
    run(lambda facts: facts.close_write(REF, "w", None))
    now = stored(hms)
    assert now.open == ()
    assert now.replicas().stale == {C2}


def test_the_end_of_a_partition_s_write_stays(hms, view, altered: HmsClient) -> None:
    """The view read the partition while the write was marked, so it left its id alone."""
    copied = placed(Copy(C2, AWAY + "/1", "0/0"))
    hms.add(table(placed() | _marks("ds=1"), KEYS), ("ds=1", copied))
    sent = Partition.make(table({}, KEYS), ["1"], HOME + "/ds=1", {"rows": "5"})
    run = crossing(
        hms,
        view,
        "alter_partitions_with_environment_context",
        lambda: altered.alter_partitions(REF, [sent]),
    )
    run(lambda facts: facts.close_write(REF, "w", frozenset(["ds=1"])))
    own = Partition(hms.partitions[REF]["ds=1"]).parameters
    assert own["rows"] == "5"
    assert read_partition_placement(own, stored(hms), "ds=1").replicas().fresh == frozenset()


def test_a_copy_published_beside_an_alter_of_its_data_is_stale(
    hms, view, altered: HmsClient
) -> None:
    """We send back the id that the partition had before; the view has yet to tell of its own."""
    hms.add(table(placed(), KEYS), ("ds=1", placed()))
    sent = Partition.make(table({}, KEYS), ["1"], HOME + "/ds=1", {"rows": "5"})
    telling, go_on = threading.Event(), threading.Event()
    client = threading.Thread(target=altered.alter_partitions, args=(REF, [sent]))

    def hold(called: str) -> None:
        begun = client.ident is not None and not telling.is_set()
        if begun and called == "alter_table_with_environment_context":
            telling.set()
            assert go_on.wait(60)

    def change(_: str, old: Placement) -> Placement:
        client.start()
        assert telling.wait(60)
        threading.Timer(MOMENT, go_on.set).start()
        return old.with_copy(Copy(C2, AWAY, "0/0"))

    def publish(facts: PlacementStore) -> None:
        with pytest.raises(ChangedMeanwhile):
            facts.change_partitions(REF, ["ds=1"], change)

    hms.before = hold
    _changed(hms, view, publish)
    client.join(60)
    own = Partition(hms.partitions[REF]["ds=1"]).parameters
    assert read_partition_placement(own, stored(hms), "ds=1").replicas().fresh == frozenset()


def _marks(*partitions: str) -> dict[str, str]:
    marked = Placement(C1).opened("w", partitions or None)
    return {key: value for key, value in write_placement(marked).items() if "open" in key}


def test_a_stopped_view_has_no_pending_changes() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        unused_endpoint = Endpoint("127.0.0.1", unused.getsockname()[1])
    sync = ViewSync([unused_endpoint], 60.0)
    sync(REF)
    sync.close()


def test_a_metastore_that_is_no_view_has_no_pending_changes(hms: WritableMetastore) -> None:
    sync = ViewSync([hms.endpoint], 60.0)
    sync(REF)
    sync(REF)
    sync.close()


def test_a_view_that_does_not_answer_is_an_error() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        sync = ViewSync([Endpoint("127.0.0.1", silent.getsockname()[1])], 0.2)
        with pytest.raises(MetastoreDown):
            sync(REF)
        sync.close()
