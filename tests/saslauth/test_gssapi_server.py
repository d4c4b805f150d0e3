"""Tickets of a real KDC over SASL GSSAPI and SPNEGO, accepted and rejected."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from conf.settings.security.authentication import KerberosService, Qop
from saslauth.errors import BadCredentials, SaslFailed
from saslauth.gssapi_server import GssapiServer
from tests.proxy import kdc
from tests.proxy.kdc import REALM, SERVERS, SERVICE, WEB, Kdc
from tests.saslauth.acceptors import accepting

gssapi = pytest.importorskip("gssapi", reason="the extra [kerberos] is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    with kdc.running(tmp_path_factory.mktemp("kdc")) as running, pytest.MonkeyPatch.context() as to:
        for name, value in running.environment.items():
            to.setenv(name, value)
        yield running


@pytest.fixture
def tickets(realm: Kdc) -> GssapiServer:
    return accepting(
        KerberosService(SERVICE, SecretFile(realm.keytab(SERVICE))),
        KerberosService(WEB, SecretFile(realm.keytab(WEB))),
    )


def initiator(realm: Kdc, user: str, service: str = SERVICE, **more: Any) -> Any:
    name = gssapi.Name(service, gssapi.NameType.kerberos_principal)
    credentials = gssapi.Credentials(usage="initiate", store={"ccache": realm.ccache(user)})
    return gssapi.SecurityContext(name=name, creds=credentials, usage="initiate", **more)


def sasl(
    context: Any, acceptor: Any, answer: bytes = b"\1\0\0\0", offered: bytes = b"\1\0\0\0"
) -> str | None:
    """Runs a client of RFC 4752; returns the user's name."""
    token = context.step() or b""
    while not context.complete:
        token, user = acceptor.step(token)
        assert user is None
        token = context.step(token) or b""
    offer, user = acceptor.step(token)
    assert user is None
    assert context.unwrap(offer).message == offered
    reply, user = acceptor.step(context.wrap(answer, False).message)
    assert reply == b""
    return str(user) if user else None


@pytest.mark.parametrize(("user", "name"), [("ann", "ann"), ("admin/ops", "admin")])
@pytest.mark.parametrize("mutual", [True, False])
def test_sasl_negotiation_returns_the_user(
    realm: Kdc, tickets: GssapiServer, user: str, name: str, mutual: bool
) -> None:
    flags = gssapi.RequirementFlag.integrity
    flags |= gssapi.RequirementFlag.mutual_authentication if mutual else 0
    assert sasl(initiator(realm, user, flags=flags), tickets.sasl()) == name
    own = f"{user}@{REALM}".encode()
    assert sasl(initiator(realm, user), tickets.sasl(), b"\1\0\0\0" + own) == name


@pytest.mark.parametrize(
    "answer",
    [
        b"\1\0\0\0bob",
        b"\1\0\0\0bob@EXAMPLE.COM",
        b"\1\0\0\0ann",
        b"\4\0\xff\xff",
        b"\2\0\xff\xff",
        b"\0\0\0\0",
        b"\1\0",
        b"",
    ],
)
def test_another_authorisation_id_or_layer_is_rejected(
    realm: Kdc, tickets: GssapiServer, answer: bytes
) -> None:
    with pytest.raises(BadCredentials):
        sasl(initiator(realm, "ann"), tickets.sasl(), answer)


@pytest.mark.parametrize("qop", [Qop.AUTH_INT, Qop.AUTH_CONF])
def test_changed_repeated_or_plain_messages_are_rejected(realm: Kdc, qop: Qop) -> None:
    tickets = accepting(KerberosService(SERVICE, SecretFile(realm.keytab(SERVICE))), None, qop)
    context, acceptor = initiator(realm, "ann"), tickets.sasl()
    assert acceptor.layer is None
    answer, offer = bytes((qop.bit, 1, 0, 0)), bytes((qop.bit, 255, 255, 255))
    assert sasl(context, acceptor, answer, offer) == "ann"
    layer, secret = acceptor.layer, qop is Qop.AUTH_CONF
    assert layer is not None
    assert 60_000 < layer.room < 65_536  # the client's limit minus the bytes that wrapping adds
    wrapped = layer.wrap(b"SELECT secrets")
    assert (b"SELECT secrets" in wrapped) is not secret
    assert context.unwrap(wrapped).message == b"SELECT secrets"
    good = context.wrap(b"fine", secret).message
    assert layer.unwrap(good) == b"fine"
    for bad in (good, good[:-1] + bytes((good[-1] ^ 1,)), b"", b"SELECT 1"):
        with pytest.raises(SaslFailed):
            layer.unwrap(bad)


def test_a_weaker_layer_than_configured_is_rejected(realm: Kdc) -> None:
    tickets = accepting(
        KerberosService(SERVICE, SecretFile(realm.keytab(SERVICE))), None, Qop.AUTH_CONF
    )
    offer = b"\4\xff\xff\xff"
    for answer in (b"\1\0\0\0", b"\2\0\xff\xff", b"\4\0\0\0", b"\4\0\0\1"):
        with pytest.raises(BadCredentials):
            sasl(initiator(realm, "ann"), tickets.sasl(), answer, offer)
    context, acceptor = initiator(realm, "ann"), tickets.sasl()
    assert sasl(context, acceptor, b"\4\0\xff\xff", offer) == "ann"
    assert acceptor.layer is not None
    with pytest.raises(SaslFailed, match="not encrypted"):
        acceptor.layer.unwrap(context.wrap(b"open", False).message)


@pytest.mark.parametrize("chosen", Qop)
def test_a_client_chooses_among_several_layers(realm: Kdc, chosen: Qop) -> None:
    service = KerberosService(SERVICE, SecretFile(realm.keytab(SERVICE)))
    context, acceptor = initiator(realm, "ann"), accepting(service, None, *Qop).sasl()
    limit = b"\0\0\0" if chosen is Qop.AUTH else b"\1\0\0"
    answer = bytes((chosen.bit,)) + limit
    assert sasl(context, acceptor, answer, b"\7\xff\xff\xff") == "ann"
    assert (acceptor.layer is None) is (chosen is Qop.AUTH)
    if acceptor.layer is not None:
        wrapped = context.wrap(b"open", False).message
        if chosen is Qop.AUTH_CONF:
            with pytest.raises(SaslFailed, match="not encrypted"):
                acceptor.layer.unwrap(wrapped)
        else:
            assert acceptor.layer.unwrap(wrapped) == b"open"
    both = accepting(service, None, Qop.AUTH_INT, Qop.AUTH_CONF)
    with pytest.raises(BadCredentials):
        sasl(initiator(realm, "ann"), both.sasl(), b"\1\0\0\0", b"\6\xff\xff\xff")


def test_a_ticket_of_another_service_is_rejected(realm: Kdc, tickets: GssapiServer) -> None:
    for service in (SERVERS, WEB):
        with pytest.raises(BadCredentials):
            tickets.sasl().step(initiator(realm, "ann", service).step())


@pytest.mark.parametrize("token", [b"x", b"\x60\x82", bytes(1000)])
def test_malformed_tickets_are_rejected(tickets: GssapiServer, token: bytes) -> None:
    for context in (tickets.sasl(), tickets.spnego()):
        with pytest.raises(BadCredentials):
            context.step(token)


def test_an_empty_token_is_rejected(tickets: GssapiServer) -> None:
    assert tickets.spnego().step(b"")[1] is None  # a request for the server's hint
    with pytest.raises(BadCredentials):
        tickets.sasl().step(b"")


def test_an_unwrapped_last_token_is_rejected(realm: Kdc, tickets: GssapiServer) -> None:
    context, acceptor = initiator(realm, "ann"), tickets.sasl()
    context.step(acceptor.step(context.step())[0])
    acceptor.step(b"")
    with pytest.raises(BadCredentials):
        acceptor.step(b"\1\0\0\0")


def test_tokens_of_another_context_are_rejected(realm: Kdc, tickets: GssapiServer) -> None:
    first, acceptor = initiator(realm, "ann"), tickets.sasl()
    first.step(acceptor.step(first.step())[0])
    acceptor.step(b"")
    second, other = initiator(realm, "bob"), tickets.sasl()
    second.step(other.step(second.step())[0])
    other.step(b"")
    with pytest.raises(BadCredentials):
        other.step(first.wrap(b"\1\0\0\0", False).message)


def test_spnego_accepts_tickets_of_both_services(realm: Kdc, tickets: GssapiServer) -> None:
    spnego = gssapi.OID.from_int_seq("1.3.6.1.5.5.2")
    for chosen in (spnego, gssapi.MechType.kerberos):
        for service in (WEB, SERVICE):
            context = initiator(realm, "ann", service, mech=chosen)
            reply, user = tickets.spnego().step(context.step())
            assert user == "ann"
            context.step(reply)
            assert context.complete
        with pytest.raises(BadCredentials):
            tickets.spnego().step(initiator(realm, "ann", SERVERS, mech=chosen).step())


def test_a_keytab_without_keys_of_the_principal_is_a_bad_setting(
    realm: Kdc, tmp_path: Path
) -> None:
    for keytab in (realm.keytab("ann"), tmp_path / "none"):
        with pytest.raises(BadSetting, match=r"no keys|No such file"):
            accepting(KerberosService(SERVICE, SecretFile(keytab)))
    without = accepting(KerberosService(SERVICE, SecretFile(realm.keytab(SERVICE))))
    with pytest.raises(BadCredentials):
        without.spnego().step(initiator(realm, "ann", WEB).step())
