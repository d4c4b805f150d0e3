"""The statements that are repeated in a cluster's session, and the objects that are dropped or
lacking there."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from conf.catalog.tables import ViewText
from conf.names import ClusterName, TableRef
from conf.topology import Endpoint
from dialect.statement import (
    AssignVariables,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    Known,
    RenameTemp,
    SessionEffect,
    SessionVariable,
    SetVariable,
    UseDatabase,
)
from proxy.errors import ClusterWithoutMetastore, Failure, StateNotRepeated
from proxy.session.replay.function_changes import FunctionChanges
from proxy.session.replay.journal import Journal
from proxy.session.replay.session_replay import SessionReplay, StaleSession

EAST, WEST = ClusterName("east"), ClusterName("west")
VIEW = CreateTempView("v", ViewText("SELECT 1", "d"))
GLOBAL = CreateTempView("global_temp.g", ViewText("SELECT 1", "d"))


@dataclass
class Cluster:
    """Records the statements that run in its session; `fails` has failures by statement."""

    journal: Journal = field(default_factory=Journal)
    functions: FunctionChanges = field(default_factory=FunctionChanges)
    fails: dict[str, Failure] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.replay = self.session()

    def session(self) -> SessionReplay:
        """Another session in the same server."""
        server = Endpoint("e", 1)
        return SessionReplay(EAST, server, self.journal, self.functions, self.run, "default")

    async def run(self, sql: str) -> Failure | None:
        self.ran.append(sql)
        return self.fails.get(sql)

    def record(self, sql: str, effect: SessionEffect, home: ClusterName | None = None) -> None:
        self.journal.record(self.journal.reserve(), sql, effect, home)


def play(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_an_object_that_another_cluster_replaced_is_dropped_here() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.record("VIEW", VIEW)
        await cluster.replay.catch_up()
        cluster.record("FILES", CreateTempTable("v"), WEST)
        cluster.record("RENAME", RenameTemp("v", "w"), WEST)
        cluster.record("DROP", DropTemp("w"), WEST)
        await cluster.replay.catch_up()
        gone = ["CREATE OR REPLACE TEMPORARY VIEW `v` AS SELECT 1", "DROP VIEW `v`"]
        assert cluster.ran == ["VIEW", *gone]

    play(scenario())


def test_only_existing_objects_are_dropped() -> None:
    """DROP VIEW would drop a permanent view of that name."""

    async def scenario() -> None:
        cluster = Cluster()
        cluster.record("FILES", CreateTempTable("v"), WEST)
        cluster.record("DROP", DropTemp("v"), WEST)
        cluster.record("DROP", DropTemp("x"))
        await cluster.replay.catch_up()
        assert cluster.ran == []

    play(scenario())


def test_an_object_that_cannot_be_made_fails_statements_that_use_it() -> None:
    async def scenario() -> None:
        cluster = Cluster(fails={"VIEW": Failure("no such path")})
        cluster.record("VIEW", VIEW)
        cluster.record("RENAME", RenameTemp("v", "w"))
        await cluster.replay.catch_up()
        cluster.replay.check(Known("select", temps=("v",)))
        for statement in (
            Known("select", temps=("w",)),
            Known("metadata_read", lists_temps=True),
        ):
            with pytest.raises(StateNotRepeated, match="no such path"):
                cluster.replay.check(statement)
        drop = Known("drop", temps=("w",), effect=DropTemp("w"))
        cluster.replay.check(drop)
        assert cluster.replay.lacks(drop.effect)
        cluster.record("DROP", DropTemp("w"))
        await cluster.replay.catch_up()
        cluster.replay.check(Known("select", temps=("w",)))
        assert cluster.ran == ["VIEW"]

    play(scenario())


def test_a_view_that_cannot_be_replaced_leaves_no_old_one() -> None:
    async def scenario() -> None:
        cluster = Cluster(fails={"REPLACE": Failure("no such path")})
        cluster.record("VIEW", VIEW)
        cluster.record("REPLACE", VIEW)
        await cluster.replay.catch_up()
        assert cluster.ran[-1] == "DROP VIEW `v`"

    play(scenario())


def test_a_setting_that_cannot_be_repeated_fails_every_statement() -> None:
    async def scenario() -> None:
        cluster = Cluster(fails={"SET a=1": Failure("no")})
        cluster.record("SET a=1", SetVariable("a", "1"))
        with pytest.raises(StateNotRepeated):
            await cluster.replay.catch_up()

    play(scenario())


def test_only_a_global_view_of_this_session_may_exist_already() -> None:
    async def scenario() -> None:
        there = Failure("it is there", "42P07")
        cluster = Cluster()
        cluster.record("GLOBAL", GLOBAL)
        await cluster.replay.catch_up()
        cluster.fails["GLOBAL"] = there
        again = cluster.session()
        await again.catch_up()
        again.check(Known("select", temps=("global_temp.g",)))
        other = Cluster(fails={"GLOBAL": there})
        other.record("GLOBAL", GLOBAL)
        await other.replay.catch_up()
        with pytest.raises(StateNotRepeated):
            other.replay.check(Known("select", temps=("global_temp.g",)))

    play(scenario())


def test_changed_functions_are_refreshed_once() -> None:
    async def scenario() -> None:
        refresh = "REFRESH FUNCTION `d`.`f`"
        cluster = Cluster(fails={refresh: Failure("it is gone", "42883")})
        cluster.functions.record("d", "f")
        for _ in range(2):
            await cluster.replay.catch_up()
        assert cluster.ran == [refresh]
        cluster.replay.function_changed("d", "f")  # by this session itself
        await cluster.replay.catch_up()
        assert cluster.ran == [refresh]

    play(scenario())


def test_a_function_that_cannot_be_refreshed_ends_the_session() -> None:
    async def scenario() -> None:
        cluster = Cluster(fails={"REFRESH FUNCTION `d`.`f`": Failure("cannot load a.B")})
        cluster.functions.record("d", "f")
        with pytest.raises(StaleSession):
            await cluster.replay.catch_up()

    play(scenario())


def test_files_are_forgotten_when_their_table_changed() -> None:
    async def scenario() -> None:
        cluster, table = Cluster(), TableRef("d", "t")
        for version in (1, 1, 2, 2):
            await cluster.replay.refresh({table: version})
        assert cluster.ran == ["REFRESH TABLE `d`.`t`"]
        cluster.replay.forget_files([table, TableRef("d", "unread")])
        await cluster.replay.refresh({table: 2, TableRef("d", "unread"): 1})
        assert cluster.ran == ["REFRESH TABLE `d`.`t`"] * 2

    play(scenario())


LOST = Failure(
    "Error running query: org.apache.spark.sql.AnalysisException:"
    " org.apache.hadoop.hive.ql.metadata.HiveException:"
    " org.apache.thrift.transport.TTransportException"
)


def test_a_statement_that_fails_without_the_metastore_is_repeated_later() -> None:
    async def scenario() -> None:
        cluster = Cluster(fails={"VIEW": LOST})
        cluster.record("VIEW", VIEW)
        with pytest.raises(ClusterWithoutMetastore, match="east cannot reach the metastore"):
            await cluster.replay.catch_up()
        cluster.fails.clear()
        await cluster.replay.catch_up()
        cluster.replay.check(Known("select", temps=("v",)))
        await cluster.replay.refresh({TableRef("d", "t"): 1})
        cluster.fails["REFRESH TABLE `d`.`t`"] = LOST
        with pytest.raises(ClusterWithoutMetastore):
            await cluster.replay.refresh({TableRef("d", "t"): 2})

    play(scenario())


def test_use_of_the_current_database_is_not_repeated() -> None:
    """USE reads the metastore, which may be down."""

    async def scenario() -> None:
        cluster = Cluster()
        cluster.record("USE default", UseDatabase("default"))
        await cluster.replay.catch_up()
        cluster.record("USE sales", UseDatabase("sales"))
        cluster.record("VIEW", VIEW)
        await cluster.replay.catch_up()
        cluster.record("USE Sales", UseDatabase("Sales"))
        cluster.record("USE default", UseDatabase("default"))
        await cluster.replay.catch_up()
        assert cluster.ran == ["USE sales", "VIEW", "USE default"]

    play(scenario())


X = "system.session.x"
DECLARED = AssignVariables(((X, SessionVariable()),), repeatable=True, declares=True)
ASSIGNED = AssignVariables(((X, SessionVariable()),), repeatable=True)
COMPUTED = AssignVariables(((X, SessionVariable()),), repeatable=False)
DROP_X = "DROP TEMPORARY VARIABLE IF EXISTS `x`"


def test_variables_are_repeated_in_order() -> None:
    cluster = Cluster()
    cluster.record("DECLARE x = 1", DECLARED)
    cluster.record("SET VAR x = x + 1", ASSIGNED)
    play(cluster.replay.catch_up())
    assert cluster.ran == ["DECLARE x = 1", "SET VAR x = x + 1"]
    cluster.record("DROP TEMPORARY VARIABLE x", DropTemp(X))
    play(cluster.replay.catch_up())
    assert cluster.ran[2:] == [DROP_X]


def test_a_variable_with_a_value_of_another_cluster_is_dropped() -> None:
    cluster = Cluster()
    cluster.record("DECLARE x = 1", DECLARED)
    cluster.record("SET VAR x = rand()", COMPUTED, WEST)
    play(cluster.replay.catch_up())
    assert cluster.ran == ["DECLARE x = 1", DROP_X]


def test_a_computed_value_is_lost_with_its_session() -> None:
    cluster = Cluster()
    cluster.record("DECLARE x = 1", DECLARED)
    cluster.record("SET VAR x = rand()", COMPUTED, EAST)
    cluster.record("SET VAR x = 2", ASSIGNED, EAST)
    play(cluster.replay.catch_up())
    assert cluster.ran == ["DECLARE x = 1", DROP_X]
    with pytest.raises(StateNotRepeated, match="that had the value of x is closed"):
        cluster.replay.check(Known("select", temps=(X,)))
    cluster.replay.check(Known("metadata_read", lists_temps=True))
    cluster.record("DECLARE OR REPLACE x = 3", DECLARED)
    play(cluster.replay.catch_up())
    cluster.replay.check(Known("select", temps=(X,)))


def test_a_cluster_without_variables_runs_statements_that_use_none() -> None:
    cluster = Cluster(fails={"DECLARE x = 1": Failure("PARSE_SYNTAX_ERROR")})
    cluster.record("DECLARE x = 1", DECLARED)
    cluster.record("SET VAR x = 2", ASSIGNED)
    play(cluster.replay.catch_up())
    assert cluster.ran == ["DECLARE x = 1"]
    cluster.replay.check(Known("select"))
    with pytest.raises(StateNotRepeated, match="cannot repeat 'DECLARE x = 1'"):
        cluster.replay.check(Known("select", temps=(X,)))
