"""Two processes of the view over one metastore in memory, through sockets."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import pytest

from cli.stack.stack import free_ports
from conf.placement import Copy, OpenWrite, Placement, read_placement, write_mark
from conf.settings.settings import Writers
from conf.topology import Endpoint
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.placement.placement_store import PlacementStore
from tests.metastore.view.server.view_calls import AWAY, REF, placed, table
from tests.metastore.writable import C1, C2, WritableMetastore, pairs_of_addresses, views

ALTER = "alter_table_with_environment_context"
Views = tuple[Mapping[str, Endpoint], Mapping[str, Endpoint]]


@pytest.fixture
def both(hms: WritableMetastore) -> Iterator[Views]:
    with two(hms) as started:
        yield started


class two:
    """Two processes that know each other, each with the endpoints of two clusters."""

    def __init__(self, hms: WritableMetastore, cache: float = 0.0) -> None:
        self._hms = hms
        self._cache = cache
        self._stack = ExitStack()

    def __enter__(self) -> Views:
        known = pairs_of_addresses()
        first, second = (
            self._stack.enter_context(
                views(
                    self._hms,
                    peers=known,
                    cache=self._cache,
                    writers=Writers.VIEWS if self._cache else Writers.ANY,
                    listen={str(name): each[number] for name, each in known.items()},
                )
            )
            for number in (0, 1)
        )
        return first, second

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def stored(hms: WritableMetastore) -> Placement:
    return read_placement(Table(hms.tables[REF]).parameters, C1)


def held_up(hms: WritableMetastore, acts: list[Callable[[], None]], method: str = ALTER) -> None:
    """Runs the acts at once, but holds the first one before its call until the others wait."""
    arrived, go_on = threading.Event(), threading.Event()

    def hold(called: str) -> None:
        if called == method and not arrived.is_set():
            arrived.set()
            assert go_on.wait(60)

    hms.before = hold
    threads = [threading.Thread(target=act) for act in acts]
    threads[0].start()
    assert arrived.wait(60)
    for each in threads[1:]:
        each.start()
    threads[-1].join(0.4)
    assert threads[-1].is_alive()
    go_on.set()
    for each in threads:
        each.join(60)
        assert not each.is_alive()


def alter(endpoint: Endpoint, **parameters: str) -> Callable[[], None]:
    def run() -> None:
        with HmsClient((endpoint,), 60) as client:
            client.alter_table(REF, table(parameters))

    return run


def test_the_second_alter_reads_the_facts_of_the_first(hms, both: Views) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    held_up(hms, [alter(both[0][C1], k="1"), alter(both[1][C1], k="2")])
    now = stored(hms)
    assert now.write != "0"
    assert now.replicas().stale == {C2}
    assert Table(hms.tables[REF]).parameters["k"] == "2"


def test_a_mark_that_a_proxy_puts_beside_an_alter_of_the_second_view_stays(hms, both) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))

    def mark() -> None:
        every = [*both[0].values(), *both[1].values()]
        with HmsClient((hms.endpoint,), 60) as client, ViewSync(every, 60) as sync:
            store = PlacementStore(client, C1, sync, sync.exclusive)
            store.open_write(REF, "w", None, 0, "proxy")

    held_up(hms, [alter(both[1][C1]), mark])
    assert [each.id for each in stored(hms).open] == ["w"]


def test_two_proxies_put_their_marks_at_once(hms, both, monkeypatch) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    every = [*both[0].values(), *both[1].values()]

    def mark(name: str) -> Callable[[], None]:
        def run() -> None:
            with HmsClient((hms.endpoint,), 60) as client, ViewSync(every, 60) as sync:
                store = PlacementStore(client, C1, sync, sync.exclusive)
                store.open_write(REF, name, None, 0, "proxy")

        return run

    monkeypatch.setattr("metastore.placement.placement_store.table_lock", lambda _: ExitStack())
    held_up(hms, [mark("a"), mark("b")])
    assert [each.id for each in stored(hms).open] == ["a", "b"]


def test_the_other_process_forgets_a_table_before_the_client_has_its_reply(hms) -> None:
    hms.add(table({"k": "old"}))
    with two(hms, cache=60.0) as (first, second), HmsClient((second[C1],), 60) as reader:
        assert reader.get_table(REF).parameters["k"] == "old"
        alter(first[C1], k="new")()
        assert reader.get_table(REF).parameters["k"] == "new"
        assert str(REF) in reader.touched(0).tables or reader.touched(0).everything


@pytest.mark.slow
def test_a_lost_owner_keeps_its_lock_for_a_moment(hms, both) -> None:
    lost, other = HmsClient((both[0][C1],), 60), HmsClient((both[0][C2],), 60)
    with other:
        process = lost.lock(REF, "a")
        lost.close()
        began = time.monotonic()
        assert other.lock(REF, "b") == process
        moment = time.monotonic() - began
        assert moment > 0.8
        other.unlock()
        began = time.monotonic()
        for _ in range(20):  # a lock that was given back is not kept
            other.lock(REF, "b")
            other.unlock()
        assert time.monotonic() - began < 20 * moment


def test_waiting_for_a_lock_ends(hms, both) -> None:
    with HmsClient((both[0][C1],), 60) as one, HmsClient((both[0][C1],), 0.3) as other:
        one.lock(REF, "a")
        with pytest.raises((MetastoreRefused, MetastoreDown)):
            other.lock(REF, "b")


def test_a_change_is_refused_if_a_view_does_not_answer(hms) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        where = Endpoint("127.0.0.1", silent.getsockname()[1])
        sync = ViewSync([where], 0.3)
        with pytest.raises(MetastoreDown), sync.exclusive(REF):
            pass
        sync.close()


def test_changes_wait_once_when_no_view_runs() -> None:
    """A process that ran a moment ago may have sent a change."""
    sync = ViewSync(free_ports(1), 5.0, grace=0.5)
    began = time.monotonic()
    with sync.exclusive(REF) as holds:
        assert holds()
    first = time.monotonic() - began
    with sync.exclusive(REF):
        pass
    assert first >= 0.5
    assert time.monotonic() - began - first < 0.4
    sync.close()


def test_a_writer_detects_that_the_view_with_its_lock_has_ended(hms) -> None:
    with ExitStack() as stack:
        (where,) = free_ports(1)
        stack.enter_context(views(hms, listen={str(C1): where}))
        sync = ViewSync([where], 5.0, grace=0.2)
        with sync.exclusive(REF) as holds:
            assert holds()
            stack.close()
            assert not holds()
        sync.close()


def test_a_started_view_answers_after_changes_of_before_have_ended(hms) -> None:
    hms.add(table({}))
    began = time.monotonic()
    with views(hms, grace=0.6) as listening, HmsClient((listening[C1],), 60) as client:
        client.get_table(REF)
        assert time.monotonic() - began > 0.6


def test_a_running_write_is_marked_by_each_view_for_the_owner_of_the_lock(hms, both) -> None:
    """The view that adds a mark while a store has the table's lock does not wait for it."""
    mark = write_mark(OpenWrite("w", 5, "proxy", None))
    hms.add(table(placed() | mark))
    every = [*both[0].values(), *both[1].values()]
    with HmsClient((hms.endpoint,), 60) as client, ViewSync(every, 10) as sync:
        PlacementStore(client, C1, sync, sync.exclusive).close_write(REF, "w", None)
    assert stored(hms).open == ()
