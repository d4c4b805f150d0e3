"""Impersonation through the proxy, allowed and refused."""

import asyncio
import grp
import os
import pwd
import ssl
from pathlib import Path
from typing import Any

import pytest
import uvloop

from conf.settings.security.authentication import Identity, ProxyRule
from conf.settings.security.upstream_auth import Login, Proof
from proxy.limits import Limits
from proxy.server.peers import WorkerGroup
from tests.proxy import slapd
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import Client, World, error_of, play, world
from tests.proxy.web import PATH, web
from tests.secret_files import readable
from thriftcodec.values import MAP, STRING, STRUCT, Pairs, Struct

ALL = frozenset("*")
HUE = Identity(rules={"hue": ProxyRule(ALL, users=frozenset({"zed"}))})


async def refused(client: Client, **configuration: str) -> None:
    failure = error_of(await client.open(5, **configuration))
    assert failure is not None
    assert failure.sqlstate == "28000"
    assert "may not act as" in failure.message


PROXY_USER = "hive.server2.proxy.user"


def test_an_allowed_user_acts_as_the_other_user_in_every_cluster() -> None:
    async def scenario(world: World) -> None:
        hue = await world.client("hue", opened=False)
        assert error_of(await hue.open(5, **{PROXY_USER: "zed"})) is None
        await hue.rows("SELECT 1")
        await hue.rows("SELECT * FROM w")
        for fake in (world.east, world.west):
            assert {user for user, _, _ in fake.log} == {"zed"}
            assert all(PROXY_USER not in each for each in fake.configurations)
        await refused(hue, **{PROXY_USER: "bob"})

    play(scenario, identity=HUE)


@pytest.mark.parametrize("user", ["ann", "zed", "root", "hu", "hue2", "HUE"])
def test_other_users_may_not_impersonate(user: str) -> None:
    async def scenario(world: World) -> None:
        client = await world.client(user, opened=False)
        for key in (PROXY_USER, "set__hiveconf__" + PROXY_USER, PROXY_USER.upper()):
            await refused(client, **{key: "bob"})
        assert error_of(await client.open()) is None
        assert "28000" in str(error_of(await client.execute(f"SET {PROXY_USER}=bob")))
        overlay = Pairs(STRING, STRING, [(PROXY_USER.encode(), b"bob")])
        request: Any = Struct(
            {1: (STRUCT, client.session), 2: (STRING, b"SELECT 1"), 3: (MAP, overlay)}
        )
        failure = error_of(await client.call("ExecuteStatement", request))
        assert failure is not None
        assert failure.sqlstate == "28000"
        assert {each for each, _, _ in world.east.log} <= {user}

    play(scenario, identity=HUE)


def test_hosts_and_groups_come_from_the_name_services() -> None:
    own = pwd.getpwuid(os.getuid()).pw_name
    group = frozenset({"no-such-group", _group_of(own)})
    rules = {
        "here": ProxyRule(frozenset({"localhost"}), groups=group),
        "there": ProxyRule(frozenset({"192.0.2.1", "no-such-host.invalid"}), groups=group),
        "others": ProxyRule(ALL, groups=frozenset({"no-such-group"})),
    }

    async def scenario(world: World) -> None:
        for user in rules:
            client = await world.client(user, opened=False)
            if user == "here":
                assert error_of(await client.open(5, **{PROXY_USER: own})) is None
                await refused(client, **{PROXY_USER: "no-such-user"})
            else:
                await refused(client, **{PROXY_USER: own})

    play(scenario, identity=Identity(rules=rules))


def _group_of(user: str) -> str:
    return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name


def test_handles_belong_to_the_impersonated_user() -> None:
    rules = {"hue": ProxyRule(ALL, users=ALL)}

    async def scenario(world: World) -> None:
        async with web(world.http, "hue") as hue:
            hue.path = f"{PATH}?doAs=zed"
            assert error_of(await hue.open()) is None
            operation = await hue.operation("SELECT 1")
            assert world.east.log[-1][0] == "zed"
            for path in ("?doAs=bob", "", "?doAs=hue"):
                hue.path = PATH + path
                assert "Invalid SessionHandle" in str(error_of(await hue.execute("SELECT 1")))
                failure = error_of(await hue.on("FetchResults", operation))
                assert "Invalid OperationHandle" in str(failure)
            session = hue.session
        binary = await world.client("zed", opened=False)
        binary.session = session
        assert "Invalid SessionHandle" in str(error_of(await binary.execute("SELECT 1")))

    play(scenario, identity=Identity(rules=rules))


def test_handles_belong_to_the_impersonated_user_in_every_worker(tmp_path: Path) -> None:
    rules = Identity(rules={"hue": ProxyRule(ALL, users=ALL)})
    sockets = {number: tmp_path / str(number) for number in range(2)}

    async def main() -> None:
        async with (
            asyncio.timeout(120),
            world(Limits(), identity=rules, workers=WorkerGroup(0, sockets)) as one,
            world(Limits(), identity=rules, workers=WorkerGroup(1, sockets)) as other,
            web(one.http, "hue") as here,
            web(other.http, "hue") as there,
        ):
            here.path = there.path = f"{PATH}?doAs=zed"
            assert error_of(await here.open()) is None
            there.session = here.session
            assert await there.rows("SELECT 1") == 1
            assert {user for user, _, _ in one.east.log} == {"zed"}
            for path in ("?doAs=bob", ""):
                there.path = PATH + path
                assert "Invalid SessionHandle" in str(error_of(await there.execute("SELECT 1")))
            assert other.east.log == []

    uvloop.run(main())


def test_sessions_in_clusters_name_the_end_user_and_authenticate_as_the_service(
    tmp_path: Path,
) -> None:
    secret, ca = tmp_path / "secret", slapd.certificate(tmp_path, "localhost", "IP:127.0.0.1")
    secret.write_text("s3rvice\n")
    login = Login(Proof.PLAIN, "causeway", readable(secret), tls=True, ca=ca)

    def prepared(cluster: FakeCluster) -> None:
        cluster.password = "s3rvice"
        cluster.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cluster.tls.load_cert_chain(ca, tmp_path / "key.pem")

    async def scenario(world: World) -> None:
        world.east.row = b"y" * 5_000
        client = await world.client("ann")
        world.east.counts["SELECT many"] = 1_000
        assert await client.rows("SELECT many") == 1_000
        assert {user for user, _, _ in world.east.log} == {"causeway"}
        assert [each[PROXY_USER] for each in world.east.configurations] == ["ann"]
        secret.write_text("wrong")
        other = await world.client("bob")
        failure = error_of(await other.execute("SELECT 1"))
        assert failure is not None
        assert "refused us" in failure.message
        assert "wrong" not in failure.message

    play(scenario, login=login, prepared=prepared)


@pytest.mark.parametrize("names", ["DNS:elsewhere", "IP:127.0.0.2"])
def test_a_cluster_that_cannot_prove_its_name_is_refused(tmp_path: Path, names: str) -> None:
    ca = slapd.certificate(tmp_path, "localhost", names)

    def prepared(cluster: FakeCluster) -> None:
        cluster.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cluster.tls.load_cert_chain(ca, tmp_path / "key.pem")

    async def scenario(world: World) -> None:
        client = await world.client("ann")
        failure = error_of(await client.execute("SELECT 1"))
        assert failure is not None
        assert failure.sqlstate == "08001"
        assert world.east.log == []

    play(scenario, login=Login(tls=True, ca=ca), prepared=prepared)
