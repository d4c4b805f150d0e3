"""What each effect does to a session, and who it may act as."""

import pytest

from conf.names import ClusterName
from conf.tables import ViewText
from conf.topology import Cluster, Endpoint, Topology
from dialect.statement import (
    CacheTable,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    Known,
    ResetVariables,
    SetVariable,
    UseDatabase,
)
from proxy.errors import NotYourself
from proxy.session.session import SessionState
from router.request import Bound

EAST, WEST = ClusterName("east"), ClusterName("west")
TOPOLOGY = Topology(
    {
        EAST: Cluster(EAST, "file:/e", (Endpoint("e", 1), Endpoint("e", 2))),
        WEST: Cluster(WEST, "file:/w", (Endpoint("w", 1),)),
    },
    EAST,
)
VIEW = ViewText("SELECT 1", "default")


def opened(**configuration: str) -> SessionState:
    named = {key.replace("__", ":"): value for key, value in configuration.items()}
    return SessionState.opened("ann", 5, named, TOPOLOGY)


def test_the_clients_map() -> None:
    state = SessionState.opened(
        "ann",
        5,
        {"use:database": "Sales", "set:hivevar:x": "1", "set:hiveconf:a.b": "2", "ignored": "3"},
        TOPOLOGY,
    )
    assert state.database == "sales"
    assert state.variables == {"x": "1", "a.b": "2"}


def test_use_and_set() -> None:
    state = opened()
    assert state.took(UseDatabase("D"), "USE D", None) == 1
    assert state.took(SetVariable("hivevar:x", "1"), "SET hivevar:x=1", EAST) == 2
    state.took(SetVariable("a", "2"), "SET a=2", EAST)
    namespace = state.namespace()
    assert namespace.database == "d"
    assert dict(namespace.variables) == {"x": "1", "a": "2"}
    state.took(ResetVariables("a"), "RESET a", EAST)
    assert state.variables == {"x": "1"}
    state.took(ResetVariables(), "RESET", EAST)
    assert (state.variables, state.database) == ({}, "d")


def test_a_namespace_does_not_change_later() -> None:
    state = opened()
    before = state.namespace()
    state.took(CreateTempView("V", VIEW), "CREATE ..", EAST)
    assert before.temp_views == {}
    assert state.namespace().temp_views == {"v": VIEW}


def test_a_temporary_table_holds_its_statements() -> None:
    state = opened()
    state.took(CreateTempTable("T"), "CACHE TABLE t AS ..", WEST)
    assert state.bound(Known("select", temps=("t",))) == Bound(
        WEST, "the temporary table t is in west"
    )
    assert state.bound(Known("select", temps=("v",))) is None
    assert [entry.sql for entry in state.journal.since(0, EAST)] == []
    state.took(DropTemp("t"), "DROP VIEW t", WEST)
    assert state.bound(Known("select", temps=("t",))) is None
    assert [entry.sql for entry in state.journal.since(0, EAST)] == []
    assert len(state.journal.since(0, WEST)) == 2


def test_a_view_takes_a_tables_name_and_back() -> None:
    state = opened()
    state.took(CreateTempTable("t"), "..", WEST)
    state.took(CreateTempView("t", VIEW), "..", EAST)
    assert (state.homes, set(state.temp_views)) == ({}, {"t"})
    state.took(CreateTempTable("t"), "..", WEST)
    assert (state.homes, set(state.temp_views)) == ({"t": WEST}, set())


def test_a_cached_table_is_a_hint() -> None:
    state = opened()
    assert state.took(CacheTable("t"), "CACHE TABLE t", EAST) is None
    assert state.journal.last == 0


@pytest.mark.parametrize(
    "key",
    [
        "hive.server2.proxy.user",
        "set:hiveconf:hive.server2.proxy.user",
        "set:hive.server2.proxy.user",
        "Hive.Server2.Proxy.User",
    ],
)
def test_nobody_opens_a_session_as_another(key: str) -> None:
    with pytest.raises(NotYourself):
        SessionState.opened("ann", 5, {key: "zed"}, TOPOLOGY)
    assert SessionState.opened("ann", 5, {key: "ann"}, TOPOLOGY).user == "ann"


@pytest.mark.parametrize("key", ["hive.server2.proxy.user", "hiveconf:hive.server2.proxy.user"])
def test_nobody_becomes_another(key: str) -> None:
    with pytest.raises(NotYourself):
        opened().check(SetVariable(key, "zed"), "SET ..")
    opened().check(SetVariable(key, "ann"), "SET ..")
