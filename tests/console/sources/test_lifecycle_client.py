"""The lifecycle's REST API as the console asks it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import Mock

import pytest

from cli.lifecycle.lifecycle_port import LifecyclePort, LifecycleServer
from conf.settings.lifecycle import Lifecycle
from conf.settings.security.operator_access import OperatorAccess
from conf.settings.security.transports import Transports
from conf.topology import Endpoint
from console.errors import Refused, SourceDown
from console.sources import lifecycle_client
from console.sources.lifecycle_client import LifecycleClient
from database.errors import StoreUnavailable
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.operations import Operations
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from tests.console.fake_sources import settings_of
from tests.pipeline.scheduler.fake_actions import (
    FEED_KEY,
    FIRST,
    FakeActions,
    schedule,
    store_with_entities,
)
from tests.secret_files import private, readable

T = TypeVar("T")
Ask = Callable[[Callable[[LifecycleClient], Awaitable[Any]]], Any]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Asks a server whose feed failed at one time."""
    store = store_with_entities(tmp_path / "l.db")
    schedule(store, FEED_KEY)
    actions = FakeActions()
    actions.fail = lambda task: "no space left" if task.instance.nominal == FIRST else None
    clock, token = SetClock(FIRST), private(tmp_path / "token", "secret\n")
    own = Lifecycle(port=Endpoint("127.0.0.1", 0), token=readable(token))
    with SchedulerServer(store, actions, clock, "one", SchedulerOptions()) as scheduler:
        scheduler.until_idle(60)
        operations = Operations(store, scheduler, clock, "ann", lambda _: None)
        server = LifecycleServer(operations, lambda *_: None, Transports())
        with LifecyclePort(server, own, OperatorAccess()) as port:
            assert port.listening is not None
            settings = settings_of(
                lifecycle__port=str(port.listening.port), lifecycle__token__file=str(token)
            )
            yield lambda call: asyncio.run(_asked(LifecycleClient(settings), call))


async def change(client: LifecycleClient, action: str, parameters: dict[str, str]) -> Any:
    return await client.change_instances("feed", "clicks", action, parameters)


async def _asked(client: LifecycleClient, call: Callable[[LifecycleClient], Awaitable[T]]) -> T:
    return await call(client)


def test_entities_instances_lag_log_and_retention(ask: Ask) -> None:
    assert {each["name"] for each in ask(lambda x: x.entities())} == {
        "c1",
        "c2",
        "clicks",
        "summary",
    }
    assert all("<" in each["document"] for each in ask(lambda x: x.documents()))
    assert ("feed", "clicks") in ask(lambda x: x.parsed_entities())
    assert {each["action"] for each in ask(lambda x: x.lag())} == {"replicate"}
    plans = ask(lambda x: x.retention("clicks"))
    assert [each["cluster"] for each in plans] == ["c1", "c2"]
    log = ask(lambda x: x.log("feed", "clicks", "2013-09-25T00:00Z"))
    assert any("no space left" in each["message"] for each in log)


def test_a_failure_of_the_server_is_not_a_refusal(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, expected in (
        (StoreUnavailable("lifecycle: disk full"), r"127\.0\.0\.1:\d+: \[CW726\] .*disk full"),
        (ZeroDivisionError(), r"127\.0\.0\.1:\d+: \[CW\d+\] "),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Operations, "entities", Mock(side_effect=error))
            with pytest.raises(SourceDown, match=expected):
                ask(lambda x: x.entities())


def test_all_pages_of_instances_are_read(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle_client, "_PAGE", 4)
    copying = [("action", "replicate")]
    found, more = ask(lambda x: x.instances(copying))
    assert (len(found), more) == (19, False)
    assert len({each["instance"] for each in found}) == 19
    monkeypatch.setattr(lifecycle_client, "MAX_INSTANCES", 8)
    found, more = ask(lambda x: x.instances(copying))
    assert (len(found), more) == (8, True)


def test_an_instance_is_killed_and_rerun_and_an_entity_is_suspended(ask: Ask) -> None:
    failed = {"start": "2013-09-25T00:00Z", "action": "replicate"}
    for action, state in (("kill", "KILLED"), ("rerun", "WAITING")):
        done = ask(partial(change, action=action, parameters=failed))
        assert [each["state"] for each in done["changed"]] == [state]
    assert "suspended" in ask(lambda x: x.change_entity("feed", "clicks", "suspend"))
    with pytest.raises(Refused, match="SUSPENDED"):
        ask(lambda x: x.change_entity("feed", "clicks", "suspend"))
    with pytest.raises(Refused):
        ask(lambda x: x.change_instances("feed", "no/one", "kill", failed))


def test_a_lifecycle_that_is_not_there_is_named() -> None:
    with pytest.raises(SourceDown, match=r"lifecycle\.port"):
        asyncio.run(LifecycleClient(settings_of()).entities())
