"""Connections in users' names: whose log-in each has, and how long a token is kept."""

import asyncio
from typing import Any

import pytest

from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client import user_streams as module
from metastore.client.user_streams import UserStreams
from metastore.errors import MetastoreRefused
from saslauth.tokens.delegation_token import DelegationToken

HERE = Endpoint("hms", 9083)
LOGIN = MetastoreLogin(True, "hive/_HOST@R", "causeway/_HOST@R")


class World:
    """A metastore that knows some tokens; `opened` has the token of each connection."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.known: set[bytes] = set()
        self.issued: list[str] = []
        self.opened: list[bytes | None] = []
        monkeypatch.setattr(module, "monotonic", lambda: self.now)
        monkeypatch.setattr(module, "delegation_token", self.issue)
        monkeypatch.setattr(module, "open_streams", self.open)
        monkeypatch.setattr(module, "DigestMd5Client", lambda token: token)

    def issue(self, endpoint: Endpoint, seconds: float, login: MetastoreLogin, user: str) -> Any:
        if user == "forbidden":
            raise MetastoreRefused("no delegation token for user forbidden")
        token = f"{user}{len(self.issued)}".encode()
        self.issued.append(user)
        self.known.add(token)
        return DelegationToken(token, b"p")

    async def open(self, endpoint: Endpoint, login: MetastoreLogin, own: Any = None) -> Any:
        if own is not None and own.identifier not in self.known:
            raise PermissionError("the server does not know the token")
        self.opened.append(None if own is None else own.identifier)
        return None, None


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def opened(streams: UserStreams, *users: str | None) -> None:
    async def scenario() -> None:
        for user in users:
            await streams.open(HERE, user, 60.0)

    asyncio.run(scenario())


def test_a_users_connection_has_a_token_and_causeways_has_none(world: World) -> None:
    streams = UserStreams(LOGIN)
    opened(streams, "ann", None, "causeway", "bob", "ann")
    assert world.opened == [b"ann0", None, None, b"bob1", b"ann0"]


def test_without_sasl_the_metastore_believes_user_names(world: World) -> None:
    opened(UserStreams(MetastoreLogin()), "ann", None)
    assert world.opened == [None, None]


def test_a_token_is_replaced_after_a_while(world: World) -> None:
    streams = UserStreams(LOGIN)
    opened(streams, "ann")
    world.now = 1001.0
    opened(streams, "ann", "ann")
    assert world.opened == [b"ann0", b"ann1", b"ann1"]


def test_a_token_that_a_restarted_metastore_does_not_know_is_replaced(world: World) -> None:
    streams = UserStreams(LOGIN)
    opened(streams, "ann")
    world.known.clear()
    opened(streams, "ann", "ann")
    assert world.opened == [b"ann0", b"ann1", b"ann1"]


def test_a_refused_user_has_no_connection(world: World) -> None:
    with pytest.raises(MetastoreRefused, match="forbidden"):
        opened(UserStreams(LOGIN), "forbidden")
    assert world.opened == []


def test_the_number_of_tokens_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 2)
    streams = UserStreams(LOGIN)
    opened(streams, "ann", "bob", "eve", "ann")
    assert world.issued == ["ann", "bob", "eve", "ann"]
