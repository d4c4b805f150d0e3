"""Passwords, filters and TLS with a real slapd; no typed name changes a query's meaning."""

import dataclasses
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conf.secrets import SecretFile
from conf.settings.security.authentication import Auth, Identity, Ldap
from proxy.auth.ldap.ldap_client import LdapPasswords
from proxy.auth.ldap.ldap_queries import normal
from saslauth.errors import AuthBackendUnavailable, BadCredentials
from tests.proxy import slapd
from tests.proxy.fakes import World, play
from tests.proxy.slapd import ADMIN, ADMIN_PASSWORD, BASE, GROUPS, PASSWORDS, PEOPLE, Slapd
from tests.proxy.web import post, web
from tests.secret_files import private

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with slapd.running(tmp_path_factory.mktemp("slapd")) as running:
        yield running


def settings(server: Slapd, **more: Any) -> Ldap:
    given: dict[str, Any] = {"urls": (server.url,), "user_patterns": (f"uid=%s,{PEOPLE}",)}
    given |= {"group_patterns": (f"cn=%s,{GROUPS}",)}
    return Ldap(**(given | more))


SERVICE = {"base": BASE, "bind_dn": ADMIN, "bind_password": ADMIN_PASSWORD}
WHOLE = {**SERVICE, "user_patterns": (f"uid=%s,{BASE}",)}


@pytest.mark.parametrize("more", [{}, SERVICE, WHOLE], ids=["by pattern", "by search", "below"])
def test_only_the_right_password_is_accepted(server: Slapd, more: dict[str, Any]) -> None:
    backend = LdapPasswords(settings(server, **more))
    for user in ("ann", "bob", "o(d)*"):
        assert backend.check(user, PASSWORDS[user]) == user
        for wrong in ("", "x", PASSWORDS[user] + "x", "\0", "\0" + PASSWORDS[user]):
            with pytest.raises(BadCredentials):
                backend.check(user, wrong)


@pytest.mark.parametrize("more", [{}, WHOLE], ids=["by pattern", "by search"])
@pytest.mark.parametrize(
    "user",
    [
        "*",
        "a*",
        "ann)(uid=*",
        "ann)(|(uid=*",
        "ann\\2a",
        f"ann,{PEOPLE}",
        f"uid=ann,{PEOPLE}",
        "ann,ou=people",
        "ann+cn=ann",
        " ann",
        "ann ",
        "ann\0",
        "\\61nn",
        "#616e6e",
        "",
        "ann@example.com",
        "ann/x",
    ],
)
def test_special_characters_in_a_name_match_no_other_user(
    server: Slapd, user: str, more: dict[str, Any]
) -> None:
    with pytest.raises(BadCredentials):
        LdapPasswords(settings(server, **more)).check(user, PASSWORDS["ann"])


def test_several_dn_patterns_and_a_domain(server: Slapd) -> None:
    patterns = (f"uid=%s,{PEOPLE}", f"uid=%s,ou=old,{BASE}")
    assert LdapPasswords(settings(server, user_patterns=patterns)).check("zed", PASSWORDS["zed"])
    with pytest.raises(BadCredentials):
        LdapPasswords(settings(server)).check("zed", PASSWORDS["zed"])
    searched = LdapPasswords(settings(server, **WHOLE, domain="Example.com"))
    assert searched.check("ann@example.COM", PASSWORDS["ann"]) == "ann"
    with pytest.raises(BadCredentials):
        searched.check("ann@example.org", PASSWORDS["ann"])


MEMBER = {"groups": frozenset({"analysts"}), "group_membership": "member"}
MEMBER_OF = {"groups": frozenset({"analysts"}), "user_membership": "memberOf"}
QUERY = {"base": BASE, "query": "(&(objectClass=groupOfNames)(cn=analysts))"}
PERSONS = {"base": BASE, "query": "(&(objectClass=inetOrgPerson)(|(uid=ann)(uid=amy)))"}


@pytest.mark.parametrize("service", [{}, SERVICE], ids=["as the user", "as a service"])
@pytest.mark.parametrize(
    "more",
    [
        {"users": frozenset({"ann", "amy"})},
        MEMBER,
        MEMBER_OF,
        MEMBER | {"users": frozenset({"ann"})},
        QUERY,
        PERSONS,
    ],
    ids=["user filter", "group's members", "user's groups", "both", "query of a group", "query"],
)
def test_user_and_group_filters(
    server: Slapd, more: dict[str, Any], service: dict[str, Any]
) -> None:
    backend = LdapPasswords(settings(server, **{**service, **more}))
    assert backend.check("ann", PASSWORDS["ann"]) == "ann"
    with pytest.raises(BadCredentials):
        backend.check("bob", PASSWORDS["bob"])
    with pytest.raises(BadCredentials):
        backend.check("ann", PASSWORDS["bob"])


def test_all_filters_have_to_accept_the_user(server: Slapd) -> None:
    with pytest.raises(BadCredentials, match="user filter"):
        LdapPasswords(settings(server, **MEMBER, users=frozenset({"bob"}))).check(
            "ann", PASSWORDS["ann"]
        )


def test_the_next_server_is_used_if_one_does_not_answer(server: Slapd) -> None:
    gone = f"ldap://127.0.0.1:{slapd.free_port()}"
    assert LdapPasswords(settings(server, urls=(gone, server.url))).check("ann", PASSWORDS["ann"])
    with pytest.raises(AuthBackendUnavailable):
        LdapPasswords(settings(server, urls=(gone,))).check("ann", PASSWORDS["ann"])


def test_a_wrong_service_password_does_not_count_as_a_failure(server: Slapd) -> None:
    wrong = dataclasses.replace(settings(server, **SERVICE), bind_password="x")
    with pytest.raises(AuthBackendUnavailable):
        LdapPasswords(wrong).check("ann", PASSWORDS["ann"])


def test_the_service_password_is_read_from_its_file_for_each_log_in(
    server: Slapd, tmp_path: Path
) -> None:
    path = private(tmp_path / "bindpw", "before")
    found = settings(server, base=BASE, bind_dn=ADMIN, bind_password_file=SecretFile(path))
    with pytest.raises(AuthBackendUnavailable):
        LdapPasswords(found).check("ann", PASSWORDS["ann"])
    private(path, f"{ADMIN_PASSWORD}\n")
    assert LdapPasswords(found).check("ann", PASSWORDS["ann"]) == "ann"
    path.chmod(0o644)
    with pytest.raises(AuthBackendUnavailable, match="cannot be read"):
        LdapPasswords(found).check("ann", PASSWORDS["ann"])


@pytest.mark.parametrize("start", [True, False], ids=["StartTLS", "ldaps"])
def test_tls_is_verified(server: Slapd, start: bool, tmp_path: Path) -> None:
    scheme, port = ("ldap", server.port) if start else ("ldaps", server.secure)

    def check(host: str, ca: Path | None) -> str:
        urls = (f"{scheme}://{host}:{port}",)
        ldap = settings(server, urls=urls, start_tls=start, ca=ca)
        return LdapPasswords(ldap).check("ann", PASSWORDS["ann"])

    assert check("localhost", server.ca) == "ann"
    with pytest.raises(AuthBackendUnavailable):
        check("127.0.0.1", server.ca)  # not the certificate's name
    with pytest.raises(AuthBackendUnavailable):
        check("localhost", None)  # an authority that is not trusted
    other = slapd.certificate(tmp_path, "localhost", "DNS:localhost")
    with pytest.raises(AuthBackendUnavailable):
        check("localhost", other)


def test_no_secret_is_in_repr_or_log(server: Slapd, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ldap = settings(server, **SERVICE)
    for user, password in (("ann", PASSWORDS["ann"]), ("bob", PASSWORDS["ann"])):
        try:
            LdapPasswords(ldap).check(user, password)
        except BadCredentials as error:
            reply = repr(error)
    text = caplog.text + repr(ldap) + reply
    assert PASSWORDS["ann"] not in text
    assert ADMIN_PASSWORD not in text


def test_a_client_logs_in_with_ldap(server: Slapd) -> None:
    identity = Identity(frozenset((Auth.LDAP,)), settings(server, **MEMBER))

    async def scenario(world: World) -> None:
        for user, let_in in (("ann", True), ("bob", False), ("ann)(uid=*", False)):
            password = PASSWORDS.get(user, PASSWORDS["ann"])
            client = await world.client(user, let_in, let_in, password)
            if let_in:
                assert await client.rows("SELECT 1") == 1
            else:
                reason = b"Error validating the login"
                reply = await client.reader.read()
                assert reply == b"\3" + len(reason).to_bytes(4, "big") + reason
        assert {user for user, _, _ in world.east.log} == {"ann"}

    play(scenario, identity=identity)


def test_a_silent_directory_does_not_block_other_clients() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"ldap://127.0.0.1:{silent.getsockname()[1]}"
        ldap = Ldap((url,), user_patterns=(f"uid=%s,{PEOPLE}",))

        async def scenario(world: World) -> None:
            waiting = [await world.client("ann", opened=False, greeted=False) for _ in range(40)]
            async with web(world.http, None) as other:
                assert (await other.say(post(b"x"))).status == 401
            assert not any(each.reader.at_eof() for each in waiting)  # they wait still
            for each in waiting:
                each.close()

        play(scenario, identity=Identity(frozenset((Auth.LDAP,)), ldap))


@pytest.mark.parametrize("more", [{}, SERVICE, WHOLE], ids=["by pattern", "by search", "below"])
@pytest.mark.parametrize("typed", ["ann", "ANN", "Ann", "\uff41\uff4e\uff4e", "aNN"])
def test_the_user_has_the_directorys_own_name(
    server: Slapd, typed: str, more: dict[str, Any]
) -> None:
    entries: list[str] = []
    backend = LdapPasswords(settings(server, **more))
    assert backend.check(typed, PASSWORDS["ann"], entries.append) == "ann"
    assert entries == ([normal(f"uid=ann,{PEOPLE}")] if more else [])
    with pytest.raises(BadCredentials):
        backend.check(typed, "wrong", entries.append)


def test_sessions_and_clusters_receive_the_directorys_own_name(server: Slapd) -> None:
    identity = Identity(frozenset((Auth.LDAP,)), settings(server))

    async def scenario(world: World) -> None:
        first = await world.client("ann", password=PASSWORDS["ann"])
        other = await world.client("\uff21NN", opened=False, password=PASSWORDS["ann"])
        other.session = first.session  # of the same user
        assert await other.rows("SELECT 1") == 1
        assert {user for user, _, _ in world.east.log} == {"ann"}

    play(scenario, identity=identity)
