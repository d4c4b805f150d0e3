"""The server's side of DIGEST-MD5, with the client's."""

import re
from collections.abc import Collection

import pytest

from conf.settings.security.authentication import Qop
from saslauth.errors import BadCredentials, SaslFailed
from saslauth.tokens.delegation_token import DelegationToken
from saslauth.tokens.digest_md5_client import DigestMd5Client
from saslauth.tokens.digest_md5_server import DigestMd5Server

TOKEN = DelegationToken(b"who", b"secret")


def password_of(identifier: bytes) -> bytes:
    if identifier != TOKEN.identifier:
        raise BadCredentials("not known")
    return TOKEN.password


def server(protections: Collection[Qop] = (Qop.AUTH, Qop.AUTH_INT)) -> DigestMd5Server:
    return DigestMd5Server(password_of, protections)


def response(to: DigestMd5Server, token: DelegationToken = TOKEN) -> tuple[DigestMd5Client, bytes]:
    """A client, and its answer to the server's challenge."""
    client = DigestMd5Client(token)
    challenge, name = to.step(client.step(None))
    assert name is None
    return client, client.step(challenge)


@pytest.mark.parametrize("least", [Qop.AUTH, Qop.AUTH_INT])
def test_each_side_proves_that_it_has_the_token(least: Qop) -> None:
    ours = server([each for each in Qop if each is not Qop.AUTH or least is Qop.AUTH])
    client, answer = response(ours)
    proof, name = ours.step(answer)
    assert name == "d2hv"  # Base64 of the identifier
    client.step(proof)
    assert client.complete
    if least is Qop.AUTH:
        assert (client.layer, ours.layer) == (None, None)
        return
    assert client.layer is not None
    assert ours.layer is not None
    assert ours.layer.unwrap(client.layer.wrap(b"request")) == b"request"
    assert client.layer.unwrap(ours.layer.wrap(b"reply")) == b"reply"


@pytest.mark.parametrize(
    "token", [DelegationToken(b"who", b"Secret"), DelegationToken(b"whom", b"secret")]
)
def test_another_token_is_refused(token: DelegationToken) -> None:
    ours = server()
    _, answer = response(ours, token)
    with pytest.raises(BadCredentials):
        ours.step(answer)
    assert ours.layer is None


def test_an_answer_is_valid_only_for_its_challenge() -> None:
    ours, other = server(), server()
    _, answer = response(ours)
    response(other)
    with pytest.raises(BadCredentials, match="another challenge"):
        other.step(answer)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (rb"qop=auth\b", b"qop=auth-conf"),
        (rb"qop=auth\b", b"qop=auth-int"),
        (rb"nc=\d+", b"nc=00000002"),
        (b'realm="default"', b'realm="other"'),
        (b"null/default", b"hive/default"),
        (rb'cnonce="[^"]*"', b'cnonce=""'),
        (rb'username="[^"]*"', b'username="wh o"'),
        (rb'username="[^"]*"', b'username=""'),
        (rb'username="[^"]*",', b""),
        (rb"response=\w+", b"response="),
        (rb"response=\w+,", b""),
        (b"charset", b'authzid="root",charset'),
        (b"charset=utf-8", b"charset"),
    ],
)
def test_a_changed_answer_is_refused(written: bytes, instead: bytes) -> None:
    ours = server()
    _, answer = response(ours)
    changed, count = re.subn(written, instead, answer)
    assert count == 1
    with pytest.raises(BadCredentials):
        ours.step(changed)


def test_without_an_answer_nothing_is_proved() -> None:
    ours = server()
    ours.step(b"")
    for answer in (b"", b"\xff", b"username"):
        with pytest.raises(BadCredentials):
            ours.step(answer)


def test_impossible_sizes_of_messages_are_refused() -> None:
    ours = server((Qop.AUTH_INT,))
    _, answer = response(ours)
    for size in (b"x", b"16", b"1" * 10):
        with pytest.raises(BadCredentials):
            ours.step(re.sub(rb"maxbuf=\d+", b"maxbuf=" + size, answer))


def test_confidentiality_is_not_offered() -> None:
    with pytest.raises(BadCredentials, match="auth-conf"):
        server((Qop.AUTH_CONF,))
    challenge, _ = server((Qop.AUTH_INT, Qop.AUTH_CONF)).step(b"")
    assert b'qop="auth-int"' in challenge
    with pytest.raises(SaslFailed):
        DigestMd5Client(TOKEN).step(challenge.replace(b"auth-int", b"auth-conf"))
