"""Checks of other servers, with servers of a few lines."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.check import services, targets
from cli.check.report import CheckFinding, Level, error, ok
from conf.errors import BadSetting
from conf.names import ClusterName
from conf.secrets import SecretFile
from conf.settings.operating import ZooKeeper
from conf.settings.security.authentication import Jwt, Ldap
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.operator_issuer import OperatorIssuer
from conf.settings.security.upstream_auth import Login, Proof
from conf.topology import Endpoint
from metastore.errors import MetastoreDown
from proxy.errors import ClusterLost
from saslauth.errors import AuthBackendUnavailable
from tests.metastore.fake import FakeMetastore, Refused
from tests.openid_issuer import running_issuer
from tests.proxy import slapd
from tests.proxy.fake_cluster import FakeCluster
from tests.secret_files import private
from thriftcodec.values import I64, LIST, STRING, STRUCT, Items, Struct

C1, C2 = ClusterName("c1"), ClusterName("c2")
NOWHERE = Endpoint("127.0.0.1", 1)


class Hive3(FakeMetastore):
    def _get_metastore_db_uuid(self, arguments: Struct) -> tuple[int, Any]:
        raise Refused(1, "no uuid yet")


class Hive4(FakeMetastore):
    def answer(self, method: str, arguments: Struct) -> tuple[int, Any] | None:
        if method == "get_table":
            raise AttributeError(method)
        return super().answer(method, arguments)

    def _get_table_req(self, arguments: Struct) -> tuple[int, Any]:
        raise Refused(2, "no such table")


class AView(FakeMetastore):
    def _causeway_touched(self, arguments: Struct) -> tuple[int, Any]:
        fields = {1: (I64, 0), 2: (LIST, Items(STRING, [])), 3: (STRING, "feed")}
        return STRUCT, Struct(fields)


@pytest.fixture(params=[(FakeMetastore, "2.3"), (Hive3, "3.0"), (Hive4, "4.0")])
def hive(request: pytest.FixtureRequest) -> Iterator[tuple[FakeMetastore, str]]:
    kind, version = request.param
    running = kind()
    yield running, version
    running.stop()


def test_a_metastore_says_which_calls_it_has(hive: tuple[FakeMetastore, str]) -> None:
    running, version = hive
    finding = services.metastore(targets.Metastore(running.endpoint), 60.0)
    assert finding == ok(f"it has the calls of Hive {version}; 1 databases")


def test_a_metastore_that_is_down() -> None:
    with pytest.raises(MetastoreDown):
        services.metastore(targets.Metastore(NOWHERE), 60.0)


def seen(running: FakeMetastore, filesystems: dict[ClusterName, str]) -> CheckFinding:
    """The check of a view of c1, whose default database is in file:/w."""
    try:
        return services.view(targets.View(C1, running.endpoint, filesystems), 60.0)
    finally:
        running.stop()


def test_a_view_of_its_cluster() -> None:
    found = seen(AView(), {C1: "file:///w", C2: "hdfs://c2"})
    assert found == ok("the default database is in file:/w")


def test_clusters_may_share_a_file_system() -> None:
    assert seen(AView(), {C1: "file:///", C2: "file:///"}).level is Level.OK


def test_the_view_of_another_cluster_is_an_error() -> None:
    found = seen(AView(), {C1: "hdfs://c1", C2: "file:///w"})
    assert found == error("the view of cluster c2 answers: the default database is in file:/w")


def test_a_metastore_in_the_place_of_a_view_is_an_error() -> None:
    found = seen(FakeMetastore(), {C1: "file:///w"})
    assert found == error("a metastore answers, not a view of `causeway metastore serve`")


def asked(login: Login, **changes: Any) -> CheckFinding:
    """The check of a Thrift Server with these attributes."""

    async def ask() -> CheckFinding:
        fake = FakeCluster(C1)
        for name, value in changes.items():
            setattr(fake, name, value)
        await fake.start()
        try:
            target = targets.ThriftServer(C1, fake.endpoint, login)
            return await services.thrift_server(target, 60.0)
        finally:
            await fake.stop()

    return asyncio.run(ask())


def test_a_thrift_server_with_a_guard() -> None:
    finding = asked(Login(), checks=True)
    assert finding.level is Level.OK
    assert finding.text.endswith("; the guard checks claims")


def test_a_thrift_server_without_a_guard_is_a_warning() -> None:
    finding = asked(Login())
    assert finding.level is Level.WARNING
    assert "no guard" in finding.text


def test_the_login_is_that_of_the_settings(tmp_path: Path) -> None:
    secret = SecretFile(private(tmp_path / "password", "s3cret\n"))
    login = Login(Proof.PLAIN, "svc", secret)
    assert asked(login, password="s3cret", checks=True).level is Level.OK
    with pytest.raises(ClusterLost, match="refused us") as caught:
        asked(login, password="another")
    assert "s3cret" not in str(caught.value)


def test_a_thrift_server_that_is_down() -> None:
    target = targets.ThriftServer(C1, NOWHERE, Login())
    with pytest.raises(ClusterLost, match="not reachable"):
        asyncio.run(services.thrift_server(target, 60.0))


def test_keys_of_tokens(tmp_path: Path) -> None:
    empty = tmp_path / "jwks"
    empty.write_text('{"keys": []}')
    finding = services.token_keys(targets.TokenKeys(Jwt(jwks=str(empty))), 60.0)
    assert finding == error("no key that Causeway can use")
    with pytest.raises(AuthBackendUnavailable):
        services.token_keys(targets.TokenKeys(Jwt(jwks=str(tmp_path / "none"))), 60.0)


def test_an_issuer_of_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with running_issuer() as running:
        found = services.issuer(targets.Issuer(OperatorIssuer(running.url)), 60.0)
        assert found == ok("1 keys")
        running.configuration = {"issuer": "https://other.example"}
        with pytest.raises(AuthBackendUnavailable, match="is that of the issuer"):
            services.issuer(targets.Issuer(OperatorIssuer(running.url)), 60.0)
    with pytest.raises(AuthBackendUnavailable, match="refused"):
        services.issuer(targets.Issuer(OperatorIssuer(f"http://{NOWHERE}")), 60.0)


def test_zookeeper_that_does_not_answer() -> None:
    finding = services.quorum(targets.Quorum(ZooKeeper(quorum=str(NOWHERE))), 0.2)
    assert finding.level is Level.ERROR
    assert finding.text.startswith("no answer")


def test_any_other_listener() -> None:
    metastore = FakeMetastore()
    try:
        found = services.listener(targets.Listener(metastore.endpoint), 60.0)
    finally:
        metastore.stop()
    assert found == ok("it accepts connections")
    with pytest.raises(OSError, match="refused"):
        services.listener(targets.Listener(NOWHERE), 60.0)


def test_an_ldap_server_that_is_down() -> None:
    url = f"ldap://{NOWHERE}"
    with pytest.raises(AuthBackendUnavailable, match="LDAPSocketOpenError"):
        services.ldap_server(targets.LdapServer(Ldap(urls=(url,)), url), 60.0)


@pytest.mark.slow
def test_bind_password_of_an_ldap_server_is_checked(tmp_path: Path) -> None:
    with slapd.running(tmp_path) as server:
        anonymous = Ldap(urls=(server.url,))
        found = services.ldap_server(targets.LdapServer(anonymous, server.url), 60.0)
        assert found == ok("it accepts connections")
        ours = Ldap(urls=(server.url,), bind_dn=slapd.ADMIN, bind_password=slapd.ADMIN_PASSWORD)
        found = services.ldap_server(targets.LdapServer(ours, server.url), 60.0)
        assert found == ok(f"bound as {slapd.ADMIN}")
        wrong = Ldap(urls=(server.url,), bind_dn=slapd.ADMIN, bind_password="wrong")
        with pytest.raises(AuthBackendUnavailable, match="rejects the password"):
            services.ldap_server(targets.LdapServer(wrong, server.url), 60.0)


def test_a_log_in_whose_token_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    token = SecretFile(private(tmp_path / "token", "no token"))
    target = targets.Metastore(Endpoint("127.0.0.1", 1), MetastoreLogin(True, token=token))
    with pytest.raises(BadSetting, match="a delegation token"):
        services.metastore(target, 1.0)
