"""Logins to clusters with a password from a file, and with tickets of a real KDC."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from conf.errors import BadSetting
from conf.names import ClusterName
from conf.secrets import SecretFile
from conf.settings.security.authentication import KerberosService, Qop
from conf.settings.security.upstream_auth import Login, Proof
from conf.topology import Endpoint
from proxy.errors import WireError
from proxy.upstream.credentials import CredentialsByCluster, UpstreamCredentials
from proxy.upstream.upstream_connection import UpstreamConnection
from saslauth.errors import SaslFailed
from saslauth.negotiation import BAD, COMPLETE, OK
from tests.proxy import kdc
from tests.proxy.kdc import OURS, SERVERS, Kdc
from tests.saslauth.acceptors import accepting
from tests.secret_files import readable

HERE = Endpoint("localhost", 1)


def words(credentials: UpstreamCredentials, user: str = "ann") -> tuple[str, bytes, bool]:
    async def replies() -> tuple[str, bytes, bool]:
        conversation = credentials.conversation(HERE, user)
        word = await conversation.answer(None)
        return conversation.mechanism, word, conversation.complete

    return asyncio.run(replies())


def test_only_the_users_name_is_sent_if_no_login_is_configured(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("one\r\n")
    login = Login(Proof.PLAIN, "svc", readable(tmp_path / "secret"))
    credentials = CredentialsByCluster({ClusterName("c"): login})
    assert words(credentials.of(ClusterName("other"))) == ("PLAIN", b"\0ann\0causeway", True)
    assert words(credentials.of(ClusterName("c"))) == ("PLAIN", b"\0svc\0one", True)
    assert words(CredentialsByCluster({}, login).of(ClusterName("upstream")))[1] == b"\0svc\0one"


def test_the_password_is_read_at_each_connection(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("one")
    credentials = UpstreamCredentials(Login(Proof.PLAIN, "svc", readable(secret)))
    secret.write_text("two")
    assert words(credentials)[1] == b"\0svc\0two"
    for text in (b"", b"\xff", None):
        secret.unlink()
        if text is not None:
            secret.write_bytes(text)
        with pytest.raises(WireError, match="we have no password"):
            words(credentials)
    with pytest.raises(BadSetting):
        UpstreamCredentials(Login(Proof.PLAIN, "svc", readable(secret)))
    (tmp_path / "ca").write_text("x")
    with pytest.raises(BadSetting):
        UpstreamCredentials(Login(tls=True, ca=tmp_path / "ca"))


class Unproved:
    """Only one side, the server or the client, considers the negotiation complete."""

    mechanism = "GSSAPI"

    def __init__(self, complete: bool) -> None:
        self.complete = complete

    async def answer(self, challenge: bytes | None) -> bytes:
        return b"word"


@pytest.mark.parametrize(
    ("status", "complete", "why"),
    [(COMPLETE, False, "did not prove who it is"), (OK, True, "goes on"), (BAD, True, "refused")],
)
def test_a_server_that_does_not_authenticate_itself_is_refused(
    status: int, complete: bool, why: str
) -> None:
    async def scenario() -> None:
        over = asyncio.Event()

        async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(bytes((status, 0, 0, 0, 2)) + b"no")
            with suppress(ConnectionError):
                await reader.read()
            writer.transport.abort()
            over.set()

        credentials = UpstreamCredentials(Login())
        credentials.conversation = lambda endpoint, user: Unproved(complete)  # type: ignore
        async with await asyncio.start_server(server, "127.0.0.1", 0) as listening:
            where = Endpoint("127.0.0.1", listening.sockets[0].getsockname()[1])
            with pytest.raises(WireError, match=why):
                await UpstreamConnection.connect(
                    ClusterName("c"), where, "a", lambda: None, credentials
                )
            await over.wait()

    uvloop.run(scenario())


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    pytest.importorskip("gssapi", reason="the extra [kerberos] is not installed")
    with kdc.running(tmp_path_factory.mktemp("kdc")) as running, pytest.MonkeyPatch.context() as to:
        for name, value in running.environment.items():
            to.setenv(name, value)
        yield running


def login(realm: Kdc, server: str = "spark/_HOST@EXAMPLE.COM", user: str = OURS) -> Login:
    return Login(Proof.KERBEROS, user, SecretFile(realm.keytab(OURS)), server)


@pytest.mark.slow
@pytest.mark.parametrize("qop", Qop)
def test_both_sides_authenticate_by_kerberos(realm: Kdc, qop: Qop) -> None:
    """Both sides then protect their messages as the server requires."""

    async def scenario() -> str | None:
        conversation = UpstreamCredentials(login(realm)).conversation(HERE, "ann")
        server = accepting(
            KerberosService(SERVERS, SecretFile(realm.keytab(SERVERS))), None, qop
        ).sasl()
        challenge: bytes | None = None
        for _ in range(5):
            word = await conversation.answer(challenge)
            challenge, user = server.step(word)
            if user is not None:
                assert conversation.complete
                ours, theirs = conversation.layer, server.layer
                assert (ours is None) is (theirs is None) is (qop is Qop.AUTH)
                if ours is not None and theirs is not None:
                    assert theirs.unwrap(ours.wrap(b"question")) == b"question"
                    assert ours.unwrap(theirs.wrap(b"answer")) == b"answer"
                    with pytest.raises(SaslFailed):
                        ours.unwrap(b"answer")
                return user
            assert not conversation.complete
        return None

    assert asyncio.run(scenario()) == "causeway"


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [{"server": "spark/elsewhere@EXAMPLE.COM"}, {"user": "nobody@EXAMPLE.COM"}],
    ids=["no such server", "no such key"],
)
def test_unknown_principals_are_refused(realm: Kdc, wrong: dict[str, str]) -> None:
    with pytest.raises(WireError, match="the negotiation failed"):
        words(UpstreamCredentials(login(realm, **wrong)))


@pytest.mark.slow
@pytest.mark.parametrize("challenge", [b"", b"x", bytes(100)])
def test_a_server_without_the_key_is_refused(realm: Kdc, challenge: bytes) -> None:
    async def scenario() -> None:
        conversation = UpstreamCredentials(login(realm)).conversation(HERE, "ann")
        await conversation.answer(None)
        with pytest.raises(WireError):
            await conversation.answer(challenge)
        assert not conversation.complete

    asyncio.run(scenario())
