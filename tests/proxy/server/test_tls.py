"""TLS on both transports: certificates, versions, and a new one while sessions go on."""

import asyncio
import os
import shlex
import socket
import ssl
import subprocess
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.stack.java import find_java
from conf.errors import BadCertificate
from conf.server_certificate import Certificate
from conf.settings.security.transports import Tls, TlsVersion, Transport, Transports
from conf.topology import Endpoint
from proxy.limits import Limits
from proxy.protocol.framing import client_negotiation
from tests.proxy.certificates import Made, made
from tests.proxy.fakes import Client, World, column_length, error_of, play, until
from tests.proxy.web import basic, post, web
from tests.secret_files import readable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(scope="module")
def ours() -> Made:
    return made()


def transports(
    keystore: Path, password: str = "", oldest: TlsVersion = TlsVersion.V1_2
) -> Transports:
    return Transports(Transport.ALL, http_port=0, tls=Tls(readable(keystore), password, oldest))


@asynccontextmanager
async def binary(endpoint: Endpoint, context: ssl.SSLContext) -> "AsyncIterator[Client]":
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port, ssl=context)
    try:
        writer.write(client_negotiation("ann", "pw"))
        assert await reader.readexactly(5) == b"\5\0\0\0\0"
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("kind", ["pem", "locked", "p12"])
def test_both_transports_with_tls(kind: str, ours: Made, tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        world.west.counts["SELECT * FROM w"] = 5000
        async with binary(world.endpoint, ours.trusting()) as client:
            await client.open()
            operation = await client.operation("SELECT * FROM w")
            assert column_length(await client.on("FetchResults", operation, rows=5000)) == 5000
        async with web(world.http, tls=ours.trusting()) as client:
            assert error_of(await client.open()) is None
            assert "; Secure; HttpOnly" in (client.last.header("Set-Cookie") or "")
            operation = await client.operation("SELECT * FROM w")
            assert column_length(await client.on("FetchResults", operation, rows=5000)) == 5000

    if kind == "pem":
        there = transports(ours.pem(tmp_path / "k"))
    elif kind == "locked":
        there = transports(ours.pem(tmp_path / "k", "secret"), "secret")
    else:
        there = transports(ours.p12(tmp_path / "k", "secret"), "secret")
    play(scenario, transports=there)


def test_a_rejection_arrives_over_tls(ours: Made, tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        async with web(world.http, tls=ours.trusting()) as client:
            assert (await client.say(post(b"x"))).status == 401
            reply = await client.say(post(b"", Authorization=basic("ann"), Content_Length="9" * 15))
            assert (reply.status, reply.header("Connection")) == (413, "close")
            assert await client.reader.read() == b""
        async with web(world.http, tls=ours.trusting()) as client:
            client.headers["Connection"] = "close"
            assert error_of(await client.open()) is None
            assert await client.reader.read() == b""

    play(scenario, transports=transports(ours.pem(tmp_path / "k")))


def test_an_older_tls_version_is_refused(ours: Made, tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            async with web(world.http, tls=ours.trusting(ssl.TLSVersion.TLSv1_2)):
                pass
        async with web(world.http, tls=ours.trusting()) as client:
            assert error_of(await client.open()) is None

    play(scenario, transports=transports(ours.pem(tmp_path / "k"), oldest=TlsVersion.V1_3))


def test_silent_and_plain_text_clients_are_closed(ours: Made, tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as silent, web(world.endpoint) as plain:
            plain.writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert b"HTTP" not in await plain.reader.read()
            assert await silent.reader.read() == b""

    play(scenario, Limits(handshake=0.2), transports=transports(ours.pem(tmp_path / "k")))


async def _half_said(world: World, exits: ExitStack) -> asyncio.StreamReader:
    """A client that begins its handshake and then sends nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
    exits.callback(lambda: writer.transport.abort())  # a dropped writer closes the connection
    writer.write(b"\x16\x03\x01\x02\x00\x01")
    return reader


async def _ends(reader: asyncio.StreamReader) -> bool:
    """Whether the connection ended without any bytes."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


async def _reply(world: World, ours: Made) -> bytes:
    """The first reply of the SASL negotiation over TLS."""
    address = world.endpoint.host, world.endpoint.port
    reader, writer = await asyncio.open_connection(*address, ssl=ours.trusting())
    try:
        writer.write(client_negotiation("ann", "pw"))
        return await reader.read(5000)
    finally:
        writer.transport.abort()


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits",
    [
        Limits(new_connections=20, handshake=3.0),
        Limits(new_connections_per_address=20, handshake=3.0),
    ],
)
def test_connections_in_their_handshake_count(limits: Limits, ours: Made, tmp_path: Path) -> None:
    """A flood of handshakes is bounded, keeps no other client out, and times out."""

    async def scenario(world: World) -> None:
        with ExitStack() as exits:
            flood = [await _half_said(world, exits) for _ in range(320)]
            ended = [asyncio.ensure_future(_ends(each)) for each in flood]
            await until(lambda: sum(each.done() for each in ended) >= 300)
            assert (await _reply(world, ours))[:1] == b"\5"
            assert not any(each.done() for each in ended[-18:])  # those that came last
            assert all(await asyncio.gather(*ended))
            async with binary(world.endpoint, ours.trusting()) as client:
                assert error_of(await client.open()) is None

    play(scenario, limits, transports=transports(ours.pem(tmp_path / "k")))


def test_too_many_tls_connections_receive_the_reason(ours: Made, tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        async with binary(world.endpoint, ours.trusting()) as client:
            assert error_of(await client.open()) is None
            reply = await _reply(world, ours)
            assert reply[:1] == b"\4"
            assert b"[CW207] " in reply

    play(scenario, Limits(client_connections=1), transports=transports(ours.pem(tmp_path / "k")))


def test_handshakes_are_cancelled_at_the_end(ours: Made, tmp_path: Path) -> None:
    with socket.socket() as half:

        async def scenario(world: World) -> None:
            half.connect(("127.0.0.1", world.endpoint.port))
            half.sendall(b"\x16")
            async with binary(world.endpoint, ours.trusting()) as client:
                assert error_of(await client.open()) is None

        play(scenario, Limits(handshake=60.0), transports=transports(ours.pem(tmp_path / "k")))


def test_a_new_certificate_keeps_existing_connections(ours: Made, tmp_path: Path) -> None:
    newer = made()
    certificate = Certificate(Tls(readable(ours.pem(tmp_path / "k"))))
    before = certificate.context

    async def scenario() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=certificate.context)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=ours.trusting())
        newer.pem(tmp_path / "n").rename(tmp_path / "k")
        certificate.refresh()
        assert certificate.context is before
        other, other_writer = await asyncio.open_connection("127.0.0.1", port, ssl=newer.trusting())
        for each, its in ((reader, writer), (other, other_writer)):
            its.write(b"abc")
            assert await each.readexactly(3) == b"abc"
            its.transport.abort()
        (tmp_path / "k").write_text("-----BEGIN nothing")
        certificate.refresh()  # the failure is logged, and changes nothing
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=newer.trusting())
        writer.transport.abort()
        (tmp_path / "k").unlink()
        certificate.refresh()
        server.close()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.transport.abort()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("data", "password", "words"),
    [
        (None, "", "No such file"),
        (b"\xfe\xed\xfe\xed\0\0\0\2", "", "a JKS keystore"),
        (b"\xce\xce\xce\xce\0\0\0\2", "", "a JCEKS keystore"),
        (b"nonsense", "", "neither PEM nor PKCS12"),
        (b"-----BEGIN CERTIFICATE-----\n", "", "k: "),
        ("locked", "wrong", "k: "),
        ("p12", "wrong", "neither PEM nor PKCS12 under this password"),
    ],
)
def test_an_unusable_certificate_prevents_the_start(
    data: bytes | str | None, password: str, words: str, ours: Made, tmp_path: Path
) -> None:
    path = tmp_path / "k"
    if data == "locked":
        ours.pem(path, "secret")
    elif data == "p12":
        ours.p12(path, "secret")
    elif isinstance(data, bytes):
        path.write_bytes(data)
    with pytest.raises(BadCertificate, match=words) as caught:
        Certificate(Tls(readable(path), password))
    assert os.fspath(path) in str(caught.value)
    assert "secret" not in str(caught.value)


def keytool(*words: str | Path) -> None:
    program = find_java().parent / "keytool"
    subprocess.run([program, *words], check=True, capture_output=True, timeout=60)


def trusting_keytools(folder: Path, store: Path) -> ssl.SSLContext:
    keytool("-exportcert", "-rfc", "-alias", "c", "-keystore", store, "-storepass", "s3cret!",
            "-file", folder / "ca.pem")  # fmt: skip
    return ssl.create_default_context(cafile=str(folder / "ca.pem"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_keystores_of_javas_keytool(kind: str, tmp_path: Path) -> None:
    """PKCS12 is loaded; for JKS the error has the command that converts it to PKCS12."""
    store, password = tmp_path / "keystore", tmp_path / "password"
    password.write_text("s3cret!\n")
    keytool("-genkeypair", "-alias", "c", "-keyalg", "EC", "-dname", "CN=c", "-ext",
            "san=ip:127.0.0.1", "-storetype", kind, "-keystore", store, "-storepass", "s3cret!",
            "-keypass", "s3cret!")  # fmt: skip
    tls = Tls(readable(store), password_file=readable(password))
    if kind == "JKS":
        with pytest.raises(BadCertificate, match="a JKS keystore") as caught:
            Certificate(tls)
        command = str(caught.value).split("`")[1]
        keytool(*shlex.split(command)[1:], "-srcstorepass", "s3cret!", "-deststorepass", "s3cret!")
        tls = Tls(readable(store.with_suffix(".p12")), password_file=readable(password))

    async def scenario(world: World) -> None:
        async with web(world.http, tls=trusting_keytools(tmp_path, store)) as client:
            assert error_of(await client.open()) is None

    play(scenario, transports=Transports(Transport.ALL, http_port=0, tls=tls))


def test_the_password_may_be_in_a_file(ours: Made, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    tls = Tls(readable(ours.p12(tmp_path / "k", "one")), password_file=readable(secret))
    for text in (b"one\n", b"one"):
        secret.write_bytes(text)
        Certificate(tls)
    for wrong in (b"two", b"", b"\xff"):
        secret.write_bytes(wrong)
        with pytest.raises(BadCertificate):
            Certificate(tls)
    secret.unlink()
    with pytest.raises(BadCertificate, match="secret: No such file"):
        Certificate(tls)
