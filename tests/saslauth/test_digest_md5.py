"""Digests of RFC 2831's example and of Hadoop's form, and messages with a MAC."""

from base64 import b64encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saslauth.errors import SaslFailed
from saslauth.tokens.delegation_token import DelegationToken
from saslauth.tokens.digest_md5 import DigestExchange, IntegrityLayer, directives, session_key
from saslauth.tokens.digest_md5_client import DigestMd5Client

TOKEN = DelegationToken(b"who", b"secret")
CHALLENGE = 'realm="default",nonce="abc",qop="{qop}",charset=utf-8,algorithm=md5-sess'


def test_the_proofs_equal_those_of_the_rfcs_example() -> None:
    key = session_key("chris", "secret", "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk", "elwood.innosoft.com")
    exchange = DigestExchange(
        key, "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk", "auth", "imap/elwood.innosoft.com"
    )
    assert exchange.response() == "d388dad90d4bbd760a152321f2143af7"
    assert exchange.rspauth() == "ea40f60335c427b5527b84dbabcdfffd"


def test_directives_are_read_with_their_escapes() -> None:
    assert directives(b'a="x\\"y, z" , B=1,c=""') == {"a": 'x"y, z', "b": "1", "c": ""}
    assert directives(b"") == {}


@pytest.mark.parametrize("bad", [b"a", b"a=1 b=2", b'a="', b"a=1,a=2", b"\xff=1", b"=1", b",,"])
def test_malformed_directives_are_refused(bad: bytes) -> None:
    with pytest.raises(SaslFailed):
        directives(bad)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(SaslFailed):
        directives(data)


def answered(qop: str = "auth", maxbuf: str = "") -> tuple[DigestMd5Client, DigestExchange]:
    """A client after its response, and the server's view of it."""
    client = DigestMd5Client(TOKEN)
    assert client.step(None) == b""
    challenge = CHALLENGE.format(qop=qop) + (f",maxbuf={maxbuf}" if maxbuf else "")
    found = directives(client.step(challenge.encode()))
    user, password = (b64encode(each).decode() for each in (b"who", b"secret"))
    assert found["username"] == user
    key = session_key(user, password, "abc", found["cnonce"])
    exchange = DigestExchange(key, "abc", found["cnonce"], found["qop"])
    assert found["response"] == exchange.response()
    assert found["digest-uri"] == "null/default"
    return client, exchange


def test_the_client_proves_that_it_has_the_token_and_so_does_the_server() -> None:
    client, exchange = answered("auth-conf,auth")
    assert not client.complete
    assert client.step(f"rspauth={exchange.rspauth()}".encode()) == b""
    assert client.complete
    assert client.layer is None


@pytest.mark.parametrize("proof", ["", "rspauth=x", "rspauth={response}"])
def test_a_server_without_the_token_is_refused(proof: str) -> None:
    client, exchange = answered()
    with pytest.raises(SaslFailed, match="did not prove that it has"):
        client.step(proof.format(response=exchange.response()).encode())
    assert not client.complete


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (CHALLENGE.format(qop="auth-conf"), "requires 'auth-conf'"),
        (CHALLENGE.format(qop="auth").replace("default", "other"), "another realm"),
        (CHALLENGE.format(qop="auth").replace("md5-sess", "md5"), "not a challenge"),
        (CHALLENGE.format(qop="auth").replace("abc", 'a\\"b'), "not a challenge"),
        (CHALLENGE.format(qop="auth") + ",maxbuf=x", "not a size"),
        ("", "not a challenge"),
    ],
)
def test_a_challenge_that_cannot_be_answered(challenge: str, why: str) -> None:
    with pytest.raises(SaslFailed, match=why):
        DigestMd5Client(TOKEN).step(challenge.encode())


def test_messages_with_integrity() -> None:
    client, exchange = answered("auth-int", "1000")
    client.step(f"rspauth={exchange.rspauth()}".encode())
    ours, theirs = client.layer, IntegrityLayer(exchange.key, False, 1000)
    assert ours is not None
    assert ours.room == 984
    first, second = ours.wrap(b"one"), ours.wrap(b"two")
    assert theirs.unwrap(first) == b"one"
    for bad in (first, b"", second[:-1], b"x" + second[1:]):
        with pytest.raises(SaslFailed):
            theirs.unwrap(bad)
    assert theirs.unwrap(second) == b"two"
    assert ours.unwrap(theirs.wrap(b"three")) == b"three"
    with pytest.raises(SaslFailed):
        theirs.unwrap(theirs.wrap(b"mine"))
    with pytest.raises(SaslFailed):
        IntegrityLayer(exchange.key, True, 16)


def test_no_secret_is_in_the_repr() -> None:
    assert "secret" not in repr(TOKEN)
    assert "who" not in repr(TOKEN)
