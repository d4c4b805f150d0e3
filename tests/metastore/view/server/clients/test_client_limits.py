"""Clients of the view that say nothing take nothing from the others, nor from the metastore."""

import os
import socket
import time
from contextlib import ExitStack, suppress
from dataclasses import replace

import pytest

from conf.settings.view_limits import ViewLimits
from conf.topology import Endpoint
from metastore.client.connection import Connection
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.view.server.clients.client_limits import ClientLimits
from metastore.view.server.clients.upstream_connection import UpstreamSlots
from tests.metastore.writable import C1, WritableMetastore, views
from thriftcodec.values import LIST, STRING, Items, Struct

FEW = ViewLimits(clients=4, clients_per_address=3)


class TestPlaces:
    def test_a_new_client_replaces_the_silent_client_that_is_connected_for_longest(self) -> None:
        limits, gone = ClientLimits(FEW), []
        first = limits.admit("a", lambda: gone.append("first"))
        assert first is not None
        first.silent = False
        assert limits.admit("a", lambda: gone.append("second"))
        assert limits.admit("a", lambda: gone.append("third"))
        assert limits.admit("a", lambda: gone.append("fourth"))
        assert gone == ["second"]
        assert len(limits) == 3

    def test_those_that_have_made_a_call_stay(self) -> None:
        limits = ClientLimits(FEW)
        for _ in range(3):
            slot = limits.admit("a", _never)
            assert slot is not None
            slot.silent = False
        assert limits.admit("a", _never) is None
        assert limits.admit("b", _never)

    def test_an_address_at_its_limit_takes_no_place_of_another_one(self) -> None:
        limits, gone = ClientLimits(FEW), []
        assert limits.admit("b", lambda: gone.append("b"))
        for _ in range(20):
            assert limits.admit("a", lambda: gone.append("a"))
        assert set(gone) == {"a"}
        assert limits.admit("c", _never)  # replaces the first, because all slots are taken
        assert gone[-1] == "b"

    def test_a_slot_is_freed_once(self) -> None:
        limits = ClientLimits(FEW)
        slot = limits.admit("a", _never)
        assert slot is not None
        limits.leave(slot)
        limits.leave(slot)
        assert len(limits) == 0
        assert all(limits.admit("a", _never) for _ in range(3))


def _never() -> None:
    raise AssertionError("this client is not to go")


def test_connections_to_the_metastore_are_counted() -> None:
    slots = UpstreamSlots(1)
    slots.take()
    with pytest.raises(MetastoreDown, match="in use"):
        slots.take()
    slots.give_back()
    slots.take()


def silent(endpoint: Endpoint, count: int) -> list[socket.socket]:
    return [socket.create_connection((endpoint.host, endpoint.port), 60) for _ in range(count)]


def closed(connection: socket.socket) -> bool:
    with connection:
        connection.settimeout(60)
        return connection.recv(1) == b""


def databases(endpoint: Endpoint) -> list[str]:
    client = HmsClient((endpoint,), timeout=60.0)
    try:
        return client.get_all_databases()
    finally:
        client.close()


def upstream_connections(hms: WritableMetastore) -> int:
    return hms.open_connections


def test_silent_clients_have_no_connection_to_the_metastore(hms: WritableMetastore) -> None:
    with views(hms) as view:
        before = upstream_connections(hms)
        opened = silent(view[C1], 50)
        assert databases(view[C1]) == ["default"]
        assert upstream_connections(hms) <= before + 1
        for each in opened:
            each.close()


@pytest.mark.slow
def test_2500_silent_clients_take_nothing_of_the_metastore(hms: WritableMetastore) -> None:
    """With the limits that are the default: one client in each metastore's thread stopped it."""
    with views(hms, limits=ViewLimits()) as view:
        before = upstream_connections(hms)
        opened = silent(view[C1], 2_500)
        assert databases(view[C1]) == ["default"]
        assert upstream_connections(hms) <= before + 1
        for each in opened:
            each.close()


def test_the_metastore_is_asked_from_a_process_with_more_than_1024_open_files(
    hms: WritableMetastore,
) -> None:
    """As that of a proxy or view with a thousand clients."""
    with views(hms) as view, ExitStack() as exits:
        for _ in range(1_100):
            exits.callback(os.close, os.dup(0))
        assert databases(view[C1]) == ["default"]


def test_silent_clients_at_the_limit_do_not_keep_others_out(hms: WritableMetastore) -> None:
    with views(hms, limits=FEW) as view:
        opened = silent(view[C1], 10)
        assert databases(view[C1]) == ["default"]
        assert all(closed(each) for each in opened[:5])
        for each in opened:
            each.close()


def test_a_client_that_never_calls_is_disconnected(hms: WritableMetastore) -> None:
    with views(hms, limits=replace(FEW, first_call=0.05)) as view:
        (never,) = silent(view[C1], 1)
        assert closed(never)


def test_a_client_with_half_a_request_is_disconnected(hms: WritableMetastore) -> None:
    with views(hms, limits=replace(FEW, request=0.05)) as view:
        (half,) = silent(view[C1], 1)
        half.sendall(b"\x80\x01\x00\x01\x00\x00\x00\x11get_all")
        assert closed(half)


def test_an_idle_client_frees_its_connection_and_keeps_its_user(
    hms: WritableMetastore,
) -> None:
    introduced: list[str] = []
    hms.before = introduced.append
    with views(hms, limits=replace(FEW, upstream_idle=0.05)) as view:
        connection = Connection(view[C1], 60.0)
        try:
            ugi = Struct({1: (STRING, "ann"), 2: (LIST, Items(STRING))})
            with suppress(MetastoreRefused):  # this metastore knows no such call
                connection.call("set_ugi", ugi, {1: "MetaException"}, 60.0)
            _until(lambda: upstream_connections(hms) == 0)
            connection.call("get_all_databases", Struct(), {1: "MetaException"}, 60.0)
        finally:
            connection.close()
    assert introduced == ["set_ugi", "set_ugi", "get_all_databases"]


def _until(condition: object) -> None:
    assert callable(condition)
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
