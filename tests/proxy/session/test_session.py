"""The effects of statements on a session, and the users as whom it may act."""

import pytest

from conf.catalog.tables import ViewText
from conf.names import ClusterName
from conf.topology import Cluster, Endpoint, Topology
from dialect.statement import (
    AssignVariables,
    CacheTable,
    CreateTempFunction,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    DropTempFunction,
    Known,
    RenameTemp,
    ResetVariables,
    SessionEffect,
    SessionVariable,
    SetVariable,
    UncacheTable,
    Unknown,
    UseDatabase,
)
from proxy.errors import ChecksBypassed, Failure, ImpersonationDenied, InvalidCommand, TooLarge
from proxy.session.replay.objects import after_error
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


def took(
    state: SessionState, effect: SessionEffect, sql: str = "..", cluster: ClusterName = EAST
) -> None:
    state.apply(effect, sql, cluster, state.journal.reserve())


def kept(state: SessionState) -> list[tuple[str, ClusterName | None]]:
    """The journal's texts, each with its home."""
    return [(entry.sql, entry.home) for entry in state.journal.pending_for(set())]


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
    took(state, UseDatabase("D"), "USE D")
    took(state, SetVariable("hivevar:x", "1"), "SET hivevar:x=1")
    assert kept(state) == [("USE D", None), ("SET hivevar:x=1", None)]
    took(state, SetVariable("a", "2"), "SET a=2")
    namespace = state.namespace()
    assert namespace.database == "d"
    assert dict(namespace.variables) == {"x": "1", "a": "2"}
    took(state, ResetVariables("a"), "RESET a")
    assert state.variables == {"x": "1"}
    took(state, ResetVariables(), "RESET")
    assert (state.variables, state.database) == ({}, "d")


def test_a_namespace_does_not_change_later() -> None:
    state = opened()
    before = state.namespace()
    took(state, CreateTempView("v", VIEW), "CREATE ..")
    assert before.temp_views == {}
    assert state.namespace().temp_views == {"v": VIEW}


def test_a_temporary_table_binds_statements_to_its_cluster() -> None:
    state = opened()
    took(state, CreateTempTable("t"), "CACHE TABLE t AS ..", WEST)
    bound = Bound(WEST, "the temporary table t is in west")
    assert state.bounds(Known("select", temps=("t",))) == (bound,)
    assert state.bounds(Known("select", temps=("v",))) == ()
    assert state.bounds(Known("metadata_read", lists_temps=True)) == (bound,)
    assert state.bounds(Unknown("of a reason")) == (bound,)
    took(state, DropTemp("t"), "DROP VIEW t", WEST)
    assert state.bounds(Known("select", temps=("t",))) == ()
    assert [home for _, home in kept(state)] == [WEST, WEST]


def test_a_view_over_a_temporary_table_has_the_same_home() -> None:
    state = opened()
    took(state, CreateTempTable("t"), "..", WEST)
    effect = CreateTempView("v", VIEW)
    state.apply(effect, "CREATE ..", WEST, state.journal.reserve(), ["t"])
    assert [each.cluster for each in state.bounds(Known("select", temps=("v",)))] == [WEST]
    assert state.namespace().temp_views == {"v": VIEW}


def test_a_renamed_object_keeps_its_home() -> None:
    state = opened()
    took(state, CreateTempTable("t", ("/p",)), "..", WEST)
    took(state, RenameTemp("t", "u"), "ALTER ..", WEST)
    assert state.namespace().temp_tables == {"u": ("/p",)}
    assert [each.cluster for each in state.bounds(Known("select", temps=("u",)))] == [WEST]


def test_a_view_and_a_table_may_replace_each_other() -> None:
    state = opened()
    took(state, CreateTempTable("t"), "..", WEST)
    took(state, CreateTempView("t", VIEW), "..")
    assert (state.objects.homes(), set(state.objects.views())) == ({}, {"t"})
    took(state, CreateTempTable("t"), "..", WEST)
    assert (state.objects.homes(), set(state.objects.views())) == ({"t": WEST}, set())


def test_uncache_prefers_the_cluster_that_cached_the_table() -> None:
    state = opened()
    took(state, CacheTable("d.t"), "CACHE TABLE t", WEST)
    assert kept(state) == []
    uncache = Known("cache", effect=UncacheTable("d.t"))
    assert [each.cluster for each in state.bounds(uncache)] == [WEST]
    took(state, UncacheTable("d.t"), "UNCACHE TABLE t", WEST)
    assert state.bounds(uncache) == ()


@pytest.mark.parametrize(
    "key",
    [
        "hive.server2.proxy.user",
        "set:hiveconf:hive.server2.proxy.user",
        "set:hive.server2.proxy.user",
        "Hive.Server2.Proxy.User",
    ],
)
def test_the_proxy_user_is_not_sent_to_clusters(key: str) -> None:
    state = SessionState.opened("ann", 5, {key: "zed", "a": "b"}, TOPOLOGY)
    assert (state.user, state.configuration) == ("ann", {"a": "b"})


@pytest.mark.parametrize("key", ["hive.server2.proxy.user", "hiveconf:hive.server2.proxy.user"])
def test_set_of_another_proxy_user_is_refused(key: str) -> None:
    with pytest.raises(ImpersonationDenied):
        opened().check(SetVariable(key, "zed"), "SET ..")
    opened().check(SetVariable(key, "ann"), "SET ..")
    with pytest.raises(ImpersonationDenied):
        opened().overlay({key: "zed"})
    assert opened().overlay({key: "ann", "a": "b"}) == {"a": "b"}


PASSING_BY = "spark.sql.hive.manageFilesourcePartitions"


@pytest.mark.parametrize("prefix", ["", "set:hiveconf:", "set:"])
def test_a_session_cannot_be_opened_without_managed_partitions(prefix: str) -> None:
    with pytest.raises(ChecksBypassed):
        SessionState.opened("ann", 5, {prefix + PASSING_BY: "false"}, TOPOLOGY)
    SessionState.opened("ann", 5, {prefix + PASSING_BY: "true"}, TOPOLOGY)
    SessionState.opened("ann", 5, {prefix + PASSING_BY: "false"}, Topology())


@pytest.mark.parametrize("prefix", ["", "hivevar:", "hiveconf:", "spark:", "Hivevar: hiveconf:"])
def test_set_cannot_disable_managed_partitions(prefix: str) -> None:
    with pytest.raises(ChecksBypassed):
        opened().check(SetVariable(prefix + PASSING_BY, "false"), "SET ..")
    opened().check(SetVariable(prefix + PASSING_BY, "true"), "SET ..")


@pytest.mark.parametrize("name", ["enabled", "enabledTentatively", "dualRunWithLegacy"])
def test_set_cannot_enable_the_single_pass_analyzer(name: str) -> None:
    key = f"spark.sql.analyzer.singlePassResolver.{name}"
    with pytest.raises(ChecksBypassed):
        opened().check(SetVariable(key, "true"), "SET ..")
    with pytest.raises(ChecksBypassed):
        SessionState.opened("ann", 5, {f"set:hiveconf:{key}": "true"}, TOPOLOGY)
    opened().check(SetVariable(key, "false"), "SET ..")


def test_the_size_of_a_configuration_is_bounded() -> None:
    opened(a="x" * 1_000_000)
    with pytest.raises(TooLarge):
        opened(a="x" * 600_000, b="x" * 600_000)


def endpoints(state: SessionState) -> dict[str, list[int]]:
    return {name: [e.port for e in each.hs2] for name, each in state.topology.clusters.items()}


def test_new_clusters_apply_to_a_session_that_chose_none() -> None:
    state = opened()
    state.reconfigured(Topology({EAST: Cluster(EAST, "file:/e", (Endpoint("e", 3),))}, EAST))
    assert endpoints(state) == {"east": [3]}
    assert state.configured == state.topology


def test_a_sessions_chosen_endpoints_stay_if_they_still_exist() -> None:
    state = opened()
    chosen = {EAST: Cluster(EAST, "file:/e", (Endpoint("e", 2),))}
    state.topology = Topology(chosen, EAST, use_default=True)
    more = tuple(Endpoint("e", port) for port in (2, 3))
    west = TOPOLOGY.clusters[WEST]
    state.reconfigured(Topology({EAST: Cluster(EAST, "file:/e", more), WEST: west}, EAST))
    assert endpoints(state) == {"east": [2]}
    assert state.topology.use_default
    state.reconfigured(Topology({EAST: Cluster(EAST, "file:/e", more[1:]), WEST: west}, EAST))
    assert endpoints(state) == {"east": [3]}
    state.reconfigured(Topology({WEST: west}, WEST))
    assert endpoints(state) == {"west": [1]}
    assert state.topology.default == WEST


@pytest.mark.parametrize("prefix", ["hivevar:", "hiveconf:", "set:hivevar:", " ", "`"])
def test_a_prefix_does_not_hide_a_refused_setting(prefix: str) -> None:
    with pytest.raises(ChecksBypassed):
        opened().check(SetVariable(prefix + PASSING_BY, "false"), "SET ..")
    with pytest.raises(ChecksBypassed):
        SessionState.opened("ann", 5, {prefix + PASSING_BY: "false"}, TOPOLOGY)


@pytest.mark.parametrize("prefix", ["set:hiveconf:", "set:"])
@pytest.mark.parametrize("hivevar_first", [True, False])
def test_a_hivevar_wins_whatever_its_place_in_the_clients_map(
    prefix: str, hivevar_first: bool
) -> None:
    pairs = [("set:hivevar:x", "var"), (prefix + "x", "conf")]
    configuration = dict(pairs if hivevar_first else reversed(pairs))
    state = SessionState.opened("ann", 5, configuration, TOPOLOGY)
    assert state.variables == {"x": "var"}
    assert state.configuration == configuration


def test_of_two_keys_for_one_setting_clusters_get_the_later_one() -> None:
    configuration = {"set:x": "1", "set:hiveconf:x": "2", "set: hivevar:y": "3", "y": "4"}
    state = SessionState.opened("ann", 5, configuration, TOPOLOGY)
    assert state.variables == {"x": "2", "y": "3"}
    assert state.configuration == {"set:hiveconf:x": "2", "set: hivevar:y": "3", "y": "4"}


def test_a_variable_made_of_variables_is_not_known() -> None:
    configuration = {"set:hivevar:x": "${env:HOME}", "set:hiveconf:x": "1", "set:metaconf:y": "2"}
    state = SessionState.opened("ann", 5, configuration, TOPOLOGY)
    assert state.variables == {}
    assert state.namespace().unclear == {"x"}
    took(state, ResetVariables("x"))
    assert not state.namespace().unclear
    with pytest.raises(InvalidCommand):
        SessionState.opened("ann", 5, {"set:hivevar:spark.sql.x": "${y}"}, TOPOLOGY)


def test_reset_takes_a_name_as_it_is_written() -> None:
    state = opened()
    took(state, SetVariable("hivevar:x", "1"))
    took(state, ResetVariables("hivevar:x"))
    assert state.variables == {"x": "1"}
    took(state, SetVariable("hivevar:hivevar:x", "2"))
    assert state.variables == {"x": "1", "hivevar:x": "2"}


@pytest.mark.parametrize("prefix", ["", "hivevar:", "set:hiveconf:", "`", " HiveVar: "])
def test_an_overlay_cannot_disable_managed_partitions(prefix: str) -> None:
    with pytest.raises(ChecksBypassed):
        opened().overlay({prefix + PASSING_BY.upper(): "false"})
    opened().overlay({prefix + PASSING_BY: "TRUE"})


@pytest.mark.parametrize("key", ["env:HOME", "system:user.dir", "hivevar:env:HOME"])
def test_set_of_env_and_system_names_sets_no_variable(key: str) -> None:
    state = opened()
    took(state, SetVariable(key, "elsewhere"))
    assert state.namespace().variables == {}


X = "system.session.x"


def assign(*, repeatable: bool, text: str | None = None) -> AssignVariables:
    return AssignVariables(((X, SessionVariable(True, text)),), repeatable)


def test_a_variable_is_in_all_clusters_while_its_values_are_repeatable() -> None:
    state = opened()
    took(state, assign(repeatable=True, text="a"), "DECLARE x = 'a'")
    assert state.namespace().session_variables == {"x": SessionVariable(True, "a")}
    assert state.namespace().temp_tables == {}
    assert not state.objects
    assert state.bounds(Known("select", temps=(X,))) == ()


def test_a_computed_value_binds_statements_that_use_it_but_no_lists() -> None:
    state = opened()
    took(state, assign(repeatable=False), "SET VAR x = rand()", WEST)
    (bound,) = state.bounds(Known("select", temps=(X,)))
    assert (bound.cluster, bound.because) == (WEST, "the value of variable x is in west")
    assert state.bounds(Known("metadata_read", lists_temps=True)) == ()
    assert len(state.bounds(Unknown("anything"))) == 1
    effect = assign(repeatable=True, text="b")
    state.apply(effect, "SET VAR x = 'b'", WEST, state.journal.reserve(), [X])
    assert [home for _, home in kept(state)] == [WEST, WEST]
    took(state, assign(repeatable=True), "DECLARE OR REPLACE x = 'c'", EAST)
    assert state.bounds(Known("select", temps=(X,))) == ()
    took(state, DropTemp(X), "DROP TEMPORARY VARIABLE x")
    assert state.namespace().session_variables == {}


def test_texts_of_temporary_functions_are_kept_until_they_are_dropped() -> None:
    state, text = opened(), ViewText("SELECT 1 FROM t", "d")
    took(state, CreateTempFunction("f", text), "CREATE ..")
    assert state.namespace().functions == {"f": text}
    took(state, CreateTempFunction("f"), "CREATE OR REPLACE ..")
    assert state.namespace().functions == {}
    took(state, CreateTempFunction("f", text), "CREATE OR REPLACE ..")
    took(state, DropTempFunction("f"), "DROP ..")
    assert state.namespace().functions == {}


def test_spark_3_5_drops_the_view_that_cache_table_finds_and_spark_4_keeps_it() -> None:
    cached, text = CreateTempTable("v", cached=VIEW), "[TEMP_TABLE_OR_VIEW_ALREADY_EXISTS] .."
    assert after_error(cached, Failure(text, "42P07")) == DropTemp("v")
    assert after_error(cached, Failure(f"{text} SQLSTATE: 42P07", "42P07")) is None
    assert after_error(cached, Failure(text, "42P01")) is None
    assert after_error(cached, None) is None
    assert after_error(CreateTempView("v", VIEW), Failure(text, "42P07")) is None
