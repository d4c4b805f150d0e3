"""Clients with a ticket get tokens of the views, and others log in with these."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from conf.names import TableRef
from conf.placement import Copy, Placement, write_placement
from conf.secrets import SecretFile
from conf.settings.security.authentication import Identity, ProxyRule, Qop
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.view_access import ViewAccess
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from metastore.errors import MetastoreDown, MetastoreRefused
from saslauth.tokens.delegation_token import token_of_text
from saslauth.tokens.token_identifier import read_identifier
from tests.metastore.view.server.clients.secured_callers import EAST, VIEW, WEST, access, call
from tests.metastore.writable import C1, C2, WritableMetastore, views
from tests.proxy.kdc import OURS, Kdc
from tests.secret_files import private
from thriftcodec.values import STRING

pytestmark = pytest.mark.slow

REF = TableRef("default", "t")
HOME, AWAY = "hdfs://c1:8020/warehouse/t", "hdfs://c2:8020/copies/t"
GET, RENEW, CANCEL = (f"{verb}_delegation_token" for verb in ("get", "renew", "cancel"))
ANYWHERE = ProxyRule(frozenset("*"), users=frozenset({"ann"}))


@pytest.fixture
def issuing(realm: Kdc, tmp_path: Path) -> ViewAccess:
    keys = private(tmp_path / "token-keys", "k" * 40)
    return replace(access(realm), token_keys=SecretFile(keys))


@pytest.fixture
def view(issuing: ViewAccess, hms: WritableMetastore) -> Iterator[Mapping[str, Endpoint]]:
    made = Table.make(REF, [("a", "int")], location=HOME)
    made.parameters = write_placement(Placement(C1, copies=(Copy(C2, AWAY, "0"),)))
    hms.add(made)
    identity = Identity(rules={"spark-west": ANYWHERE})
    with views(hms, access=issuing, identity=identity) as listening:
        yield {name: Endpoint("localhost", each.port) for name, each in listening.items()}


def token(realm: Kdc, where: Endpoint, caller: str | MetastoreLogin, owner: str) -> str:
    named = {1: (STRING, owner), 2: (STRING, VIEW)}
    return str(call(realm, where, caller, GET, named))


def by_token(tmp_path: Path, text: str) -> MetastoreLogin:
    file = SecretFile(private(tmp_path / "token", text))
    return MetastoreLogin(True, VIEW, token=file)


def test_a_token_speaks_for_the_cluster_of_its_principal(
    realm: Kdc, hms: WritableMetastore, view: Mapping[str, Endpoint], tmp_path: Path
) -> None:
    east = by_token(tmp_path, token(realm, view[C2], EAST, "spark-east"))
    with HmsClient((view[C2],), 20.0, login=east) as client:
        assert client.get_table(REF).location == AWAY
    with HmsClient((view[C1],), 20.0, login=east) as other, pytest.raises(MetastoreDown) as refused:
        other.get_table(REF)
    assert f"{EAST} may not speak for cluster c1" in str(refused.value)
    assert set(hms.users) == {"spark-east"}


def test_a_token_for_another_user(
    realm: Kdc, hms: WritableMetastore, view: Mapping[str, Endpoint], tmp_path: Path
) -> None:
    """As `spark-submit --proxy-user` asks for it: the rules of impersonation say who may."""
    ann = by_token(tmp_path, token(realm, view[C1], WEST, "ann"))
    with HmsClient((view[C1],), 20.0, login=ann) as client:
        assert client.get_table(REF).location == HOME
    assert hms.users[-1] == "ann"
    for principal, where, owner in ((WEST, C1, "bob"), (EAST, C2, "ann"), (EAST, C2, "spark-west")):
        with pytest.raises(MetastoreRefused, match=r"CW358.*may not act as"):
            token(realm, view[where], principal, owner)


def test_a_token_is_renewed_but_not_cancelled(realm: Kdc, view: Mapping[str, Endpoint]) -> None:
    text = token(realm, view[C1], WEST, "")
    token_says = read_identifier(token_of_text(text).identifier)
    assert (token_says.owner, token_says.renewer) == ("spark-west", VIEW)
    assert token_says.real_user == WEST
    named = {1: (STRING, text)}
    assert call(realm, view[C1], WEST, RENEW, named) == token_says.ends
    with pytest.raises(MetastoreRefused, match=r"CW358.*cannot be cancelled. This one ends at 20"):
        call(realm, view[C1], WEST, CANCEL, named)
    for method in (RENEW, CANCEL):
        with pytest.raises(MetastoreRefused, match=r"CW358.*not the text of a delegation token"):
            call(realm, view[C1], WEST, method, {1: (STRING, "x")})


def test_callers_that_get_no_token(
    realm: Kdc, view: Mapping[str, Endpoint], tmp_path: Path
) -> None:
    with pytest.raises(MetastoreRefused, match=r"CW358.*speaks for every cluster"):
        token(realm, view[C1], OURS, "causeway")
    own = by_token(tmp_path, token(realm, view[C1], WEST, "ann"))
    with pytest.raises(MetastoreRefused, match=r"CW358.*by a token gets no other one"):
        token(realm, view[C1], own, "ann")


def test_a_token_that_is_not_good_is_refused(
    realm: Kdc, hms: WritableMetastore, issuing: ViewAccess, tmp_path: Path
) -> None:
    def refused(where: Endpoint, text: str) -> None:
        own = by_token(tmp_path, text)
        why = "refused the log-in: Authentication failed"
        with (
            HmsClient((where,), 20.0, login=own) as client,
            pytest.raises(MetastoreDown, match=why),
        ):
            client.get_all_databases()

    ending = replace(issuing, token_lifetime=0.001)
    with views(hms, access=ending) as listening:
        where = Endpoint("localhost", listening[C1].port)
        refused(where, token(realm, where, WEST, ""))
    keys = issuing.token_keys
    assert keys is not None
    with views(hms, access=issuing) as listening:
        where = Endpoint("localhost", listening[C1].port)
        text = token(realm, where, WEST, "")
        private(keys.path, "n" * 40)
        refused(where, text)
    assert hms.users == []


def test_protection_that_the_view_insists_on(
    realm: Kdc, hms: WritableMetastore, issuing: ViewAccess, tmp_path: Path
) -> None:
    with views(hms, access=replace(issuing, qop=Qop.AUTH_INT)) as listening:
        where = Endpoint("localhost", listening[C1].port)
        own = by_token(tmp_path, token(realm, where, WEST, ""))
        with HmsClient((where,), 20.0, login=own) as client:
            assert client.get_all_databases() == ["default"]
    with views(hms, access=replace(issuing, qop=Qop.AUTH_CONF)) as listening:
        where = Endpoint("localhost", listening[C1].port)
        with HmsClient((where,), 20.0, login=own) as client, pytest.raises(MetastoreDown):
            client.get_all_databases()
