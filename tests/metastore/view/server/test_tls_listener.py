"""The view over TLS, through sockets: its callers, and clients that speak something else."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from conf.names import TableRef
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.view_tls import ViewTls
from conf.settings.view_limits import ViewLimits
from conf.topology import Endpoint
from metastore.client.changes.feed_client import FeedClient
from metastore.client.changes.view_sync import ViewSync
from metastore.client.connection import Connection
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.view.errors import FactsUnavailable
from metastore.view.locks.peer_client import PeerClient
from tests.metastore.writable import C1, WritableMetastore, views
from tests.proxy.certificates import Made, made
from tests.secret_files import readable
from thriftcodec.values import Struct

REF = TableRef("default", "t")


@pytest.fixture(scope="module")
def ours() -> Made:
    return made()


@pytest.fixture
def tls(ours: Made, tmp_path: Path) -> ViewTls:
    return ViewTls(True, readable(ours.pem(tmp_path / "keystore.pem")))


@pytest.fixture
def view(hms: WritableMetastore, tls: ViewTls) -> Iterator[Endpoint]:
    with views(hms, tls=tls) as listening:
        yield listening[C1]


def trusting(certificate: Made, path: Path) -> MetastoreLogin:
    path.write_bytes(certificate.certificate.public_bytes(Encoding.PEM))
    return MetastoreLogin(tls=True, truststore=path)


@pytest.fixture
def login(ours: Made, tmp_path: Path) -> MetastoreLogin:
    return trusting(ours, tmp_path / "ca.pem")


def databases(endpoint: Endpoint, login: MetastoreLogin) -> list[str]:
    with HmsClient((endpoint,), 10.0, login=login) as client:
        client.get_database("default")
        return client.get_databases("*")


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def has_ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True


def test_calls_locks_and_the_feed_go_over_tls(view: Endpoint, login: MetastoreLogin) -> None:
    assert databases(view, login) == ["default"]
    with (
        closing(ViewSync((view,), 10.0, logins={view: login})) as sync,
        sync.exclusive(REF) as held,
    ):
        assert held()

    async def ask() -> None:
        feed = FeedClient(view, 10.0, login)
        assert (await feed.changes()) is not None
        assert feed.feed
        feed.close()
        peer = PeerClient(view, login=login)
        lock = await peer.lock("o", [REF])
        assert lock is not None
        await lock.release(())
        peer.close()

    asyncio.run(ask())


def test_a_certificate_of_another_authority_is_refused(view: Endpoint, tmp_path: Path) -> None:
    other = trusting(made(), tmp_path / "other")
    with pytest.raises(MetastoreDown, match=r"no TLS handshake: .*certificate verify failed"):
        databases(view, other)
    peer = PeerClient(view, login=other)
    with pytest.raises(FactsUnavailable, match=r"no TLS handshake: .*certificate verify failed"):
        asyncio.run(peer.lock("o", [REF]))


def test_a_client_without_tls_learns_why_at_once(
    view: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    started = time.monotonic()
    with (
        closing(Connection(view, 10.0)) as plain,
        pytest.raises(MetastoreRefused, match=r"This metastore view speaks TLS only"),
    ):
        plain.call("get_all_databases", Struct(), {}, 10.0)
    assert time.monotonic() - started < 5
    until(lambda: "no TLS handshake" in caplog.text)


def test_a_client_with_tls_learns_at_once_that_the_view_has_none(
    hms: WritableMetastore, login: MetastoreLogin, caplog: pytest.LogCaptureFixture
) -> None:
    started = time.monotonic()
    with views(hms) as listening:
        with pytest.raises(MetastoreDown, match="no TLS handshake"):
            databases(listening[C1], login)
        assert time.monotonic() - started < 5
        until(lambda: "the client speaks TLS, and view.use.SSL is not true" in caplog.text)
        assert databases(listening[C1], MetastoreLogin()) == ["default"]


def test_a_handshake_that_never_ends_is_ended(
    hms: WritableMetastore,
    tls: ViewTls,
    login: MetastoreLogin,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with views(hms, tls=tls, limits=ViewLimits(handshake=0.3)) as listening:
        silent = socket.create_connection((listening[C1].host, listening[C1].port), 20)
        with silent:
            silent.sendall(b"\x16\x03\x01\x02\x00\x01")
            assert has_ended(silent)
        until(lambda: "no TLS handshake within 0.3 s" in caplog.text)
        assert databases(listening[C1], login) == ["default"]


def test_clients_count_before_their_handshake(
    hms: WritableMetastore, tls: ViewTls, login: MetastoreLogin
) -> None:
    """The next client of the address takes the place of one that has not made a call."""
    limits = ViewLimits(handshake=60.0, clients_per_address=1)
    with views(hms, tls=tls, limits=limits) as listening:
        where = listening[C1].host, listening[C1].port
        with socket.create_connection(where, 20) as first:
            first.sendall(b"\x16\x03\x01\x02\x00\x01")
            assert databases(listening[C1], login) == ["default"]
            assert has_ended(first)


def test_a_port_probe_is_no_line_in_the_log(
    view: Endpoint, login: MetastoreLogin, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "causeway.view")
    socket.create_connection((view.host, view.port), 20).close()
    until(lambda: "went away before TLS had begun" in caplog.text)
    assert databases(view, login) == ["default"]
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.slow
def test_a_changed_certificate_is_served(
    view: Endpoint, login: MetastoreLogin, tmp_path: Path
) -> None:
    assert databases(view, login) == ["default"]
    new = made()
    new.pem(tmp_path / "keystore.pem")
    time.sleep(1.1)
    assert databases(view, trusting(new, tmp_path / "new-ca.pem")) == ["default"]
    with pytest.raises(MetastoreDown, match="certificate verify failed"):
        databases(view, login)


def test_connections_end_with_the_server(
    hms: WritableMetastore, tls: ViewTls, login: MetastoreLogin
) -> None:
    with views(hms, tls=tls) as listening:
        client = HmsClient((listening[C1],), 10.0, login=login)
        client.get_database("default")
        open_one = client.open_connection
        assert open_one is not None
        assert open_one.idle()
    until(lambda: not open_one.idle())
    client.close()
