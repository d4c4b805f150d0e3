"""Clients of a view log in by tickets of a real KDC, and speak for their own cluster alone."""

import asyncio
import logging
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.check import services, targets
from conf.auth_to_local import parse_rules
from conf.names import TableRef
from conf.placement import Copy, Placement, write_placement
from conf.secrets import SecretFile
from conf.settings.security.authentication import Qop
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.view_tls import ViewTls
from conf.settings.view_limits import ViewLimits
from conf.topology import Endpoint
from metastore.client.changes.feed_client import FeedClient
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.view.errors import FactsUnavailable
from metastore.view.locks.peer_client import PeerClient
from metastore.view.methods import CLUSTER_FIELD
from saslauth.negotiation import OK, START, sasl_message
from tests.metastore.view.server.clients.secured_callers import (
    EAST,
    VIEW,
    WEST,
    access,
    call,
    client,
    login,
)
from tests.metastore.writable import C1, C2, WritableMetastore, views
from tests.proxy import certificates
from tests.proxy import kdc as kdcs
from tests.proxy.kdc import OURS, REALM, Kdc
from thriftcodec.values import LIST, STRING, strings

pytest.importorskip("gssapi", reason="the extra [kerberos] is not installed")
pytestmark = pytest.mark.slow

REF = TableRef("default", "t")
HOME, AWAY = "hdfs://c1:8020/warehouse/t", "hdfs://c2:8020/copies/t"


@pytest.fixture(params=[Qop.AUTH, Qop.AUTH_CONF])
def view(
    request: pytest.FixtureRequest, realm: Kdc, hms: WritableMetastore
) -> Iterator[Mapping[str, Endpoint]]:
    with views(hms, access=access(realm, request.param)) as listening:
        yield {name: Endpoint("localhost", each.port) for name, each in listening.items()}


def test_tls_is_beneath_sasl(realm: Kdc, hms: WritableMetastore, tmp_path: Path) -> None:
    keystore = certificates.made().pem(tmp_path / "keystore.pem")
    tls = ViewTls(True, SecretFile(keystore))
    with views(hms, access=access(realm), tls=tls) as listening:
        where = Endpoint("localhost", listening[C1].port)
        both = replace(login(realm, OURS), tls=True, truststore=keystore)
        with HmsClient((where,), 20.0, login=both) as own:
            assert own.get_databases("*") == ["default"]

        async def ask() -> None:
            feed, peer = FeedClient(where, 20.0, both), PeerClient(where, login=both)
            assert (await feed.changes()) is not None
            lock = await peer.lock("o", [REF])
            assert lock is not None
            await lock.release(())
            peer.close()
            feed.close()

        asyncio.run(ask())
        with client(realm, where, OURS) as plain, pytest.raises(MetastoreDown):
            plain.get_all_databases()


def test_a_caller_sees_its_own_cluster(realm: Kdc, hms: WritableMetastore, view) -> None:
    made = Table.make(REF, [("a", "int")], location=HOME)
    made.parameters = write_placement(Placement(C1, copies=(Copy(C2, AWAY, "0"),)))
    hms.add(made)
    large = TableRef("default", "large")
    with client(realm, view[C1], WEST) as west, client(realm, view[C2], EAST) as east:
        assert west.get_table(REF).location == HOME
        assert east.get_table(REF).location == AWAY
        sent = Table.make(large, [("a", "int")], location=HOME + "arge")
        sent.parameters = {"comment": "x" * 300_000}
        west.create_table(sent)
        assert west.get_table(large).parameters["comment"] == "x" * 300_000


@pytest.mark.parametrize(
    ("cluster", "principal"), [(C2, WEST), (C1, EAST), (C1, f"ann@{REALM}"), ("default", EAST)]
)
def test_a_caller_of_another_cluster_is_refused_by_name(
    realm: Kdc, view, cluster: str, principal: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "causeway.view")
    kept = realm.keytab(principal) if "/" in principal else realm.keytab("ann")
    login = MetastoreLogin(True, VIEW, principal, SecretFile(kept))
    refused = pytest.raises(MetastoreDown, match=r"CW358.* may not speak for")
    with HmsClient((view[cluster],), 20.0, login=login) as other, refused:
        other.get_all_databases()
    (record,) = [each for each in caplog.records if "caller refused" in each.message]
    fields = record.fields  # type: ignore[attr-defined]
    assert (fields["user"], fields["address"]) == (principal, "127.0.0.1")


def test_a_caller_does_not_name_another_cluster(realm: Kdc, view) -> None:
    named = {1: (STRING, "c2")}
    with pytest.raises(MetastoreRefused, match=r"CW358.*cluster c2"):
        call(realm, view[C1], WEST, "use_cluster", named)
    on_cluster = {CLUSTER_FIELD: (STRING, "c2")}
    with pytest.raises(MetastoreRefused, match=r"CW358.*cluster c2"):
        call(realm, view[C1], WEST, "get_all_databases_on_cluster", on_cluster)
    call(realm, view[C1], WEST, "use_cluster", {1: (STRING, "c1")})
    call(realm, view[C1], OURS, "use_cluster", named)


@pytest.mark.parametrize("method", ["get_delegation_token", "get_master_keys", "set_ugi"])
def test_calls_that_give_more_than_the_ticket_are_refused(realm: Kdc, view, method: str) -> None:
    fields: dict[int, Any] = {1: (STRING, "bob"), 2: (STRING, "bob")}
    if method == "set_ugi":
        fields[2] = (LIST, strings(("hdfs",)))
    for principal in (WEST, OURS):
        with pytest.raises(MetastoreRefused, match="CW358"):
            call(realm, view[C1], principal, method, fields)


def test_the_metastore_is_told_who_asks(realm: Kdc, hms: WritableMetastore) -> None:
    rules = parse_rules(r"RULE:[2:$1@$0](spark-.*)s/.*/spark/ DEFAULT")
    with views(hms, access=access(realm), rules=rules) as listening:
        where = Endpoint("localhost", listening[C1].port)
        for principal in (WEST, OURS):
            with client(realm, where, principal) as caller:
                caller.get_all_databases()
    assert hms.users == ["spark", "causeway"]


def test_causeways_own_programs_log_in(realm: Kdc, view) -> None:
    """Locks and changes are theirs: a cluster's Spark has neither."""
    where, ours = view[C1], login(realm, OURS)

    async def scenario() -> None:
        feed, refused = FeedClient(where, 20.0, ours), FeedClient(where, 20.0, login(realm, EAST))
        assert await feed.changes() is not None
        assert await feed.changes() is not None
        assert await refused.changes() is None
        peer, west = PeerClient(where, login=ours), PeerClient(where, login=login(realm, WEST))
        held = await peer.lock("me", [REF])
        assert held is not None
        await held.release([])
        with pytest.raises(FactsUnavailable, match="CW358"):
            await west.lock("me", [REF])
        with pytest.raises(FactsUnavailable):
            await PeerClient(where).lock("me", [REF])
        for each in (feed, peer, west):
            each.close()
        await asyncio.sleep(0.1)

    asyncio.run(scenario())
    with ViewSync([where], 20.0, logins={where: ours}) as sync:
        sync(REF)
        with sync.exclusive(REF) as holds:
            assert holds()
    with ViewSync([where], 20.0, logins={where: login(realm, WEST)}) as sync:
        with pytest.raises(MetastoreDown, match="CW358"):
            sync(REF)
        with pytest.raises(MetastoreDown, match="CW358"), sync.exclusive(REF):
            pass


def test_a_check_of_the_configuration_logs_in(realm: Kdc, view) -> None:
    files = {name: f"hdfs://{name}:8020" for name in (C1, C2)}
    found = services.view(targets.View(C1, view[C1], files, login(realm, OURS)), 20.0)
    assert "the default database is in hdfs://c1:8020" in found.text
    with pytest.raises(MetastoreDown, match="CW358"):
        services.view(targets.View(C1, view[C1], files, login(realm, EAST)), 20.0)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x80\x01\x00\x01\x00\x00\x00\x04name",
        sasl_message(START, b"PLAIN") + sasl_message(OK, b"\0ann\0ann"),
        sasl_message(START, b"DIGEST-MD5") + sasl_message(OK, b""),
        sasl_message(START, b"GSSAPI") + sasl_message(OK, b"x"),
        sasl_message(START, b"GSSAPI") + sasl_message(OK, b"") * 20,
        b"\x01\x7f\xff\xff\xff",
    ],
)
def test_without_a_ticket_nothing_is_answered(hms: WritableMetastore, view, sent: bytes) -> None:
    with socket.create_connection((view[C1].host, view[C1].port), 20.0) as connection:
        connection.sendall(sent)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    assert received[:1] in (b"", b"\x03")
    assert hms.users == []


def test_a_silent_client_is_closed(realm: Kdc, hms: WritableMetastore) -> None:
    limits = replace(ViewLimits(), first_call=0.5)
    with views(hms, access=access(realm), limits=limits) as listening:
        for sent in (b"", sasl_message(START, b"GSSAPI"), b"\x01\0"):
            with socket.create_connection(("localhost", listening[C1].port), 20.0) as connection:
                connection.sendall(sent)
                started = time.monotonic()
                assert connection.recv(100) == b""
                assert time.monotonic() - started < 10


def test_a_weaker_protection_than_configured_is_refused(realm: Kdc, hms, tmp_path: Path) -> None:
    """Ours takes the least that is offered, so it has auth-int where that is the least."""
    with views(hms, access=access(realm, Qop.AUTH_INT)) as listening:
        where = Endpoint("localhost", listening[C1].port)
        with client(realm, where, WEST) as west:
            assert west.get_all_databases() == ["default"]


def test_a_connection_outlives_its_ticket(tmp_path: Path, hms: WritableMetastore) -> None:
    with (
        kdcs.running(tmp_path, "3s", (VIEW, WEST)) as short,
        pytest.MonkeyPatch.context() as to,
    ):
        for name, value in short.environment.items():
            to.setenv(name, value)
        with views(hms, access=access(short, Qop.AUTH_CONF)) as listening:
            where = Endpoint("localhost", listening[C1].port)
            with client(short, where, WEST) as west:
                assert west.get_all_databases() == ["default"]
                time.sleep(4)
                assert west.get_all_databases() == ["default"]
            with client(short, where, WEST) as later:
                assert later.get_all_databases() == ["default"]
