"""Metadata calls that are answered from memory, and the calls that the cluster receives."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from conf.access.document import rules_of
from conf.catalog.listing import ListedTable
from conf.catalog.tables import ViewText
from conf.names import ClusterName
from conf.topology import Endpoint
from dialect.statement import CreateTempTable, CreateTempView
from proxy.catalog.metadata_runner import MAX_TEMPORARY
from proxy.errors import ClusterLost, Failure, ThriftServerError
from proxy.protocol import replies, results
from proxy.protocol.results import ResultTable
from router.access.user_access import Access
from tests.proxy.catalog.metadata_world import (
    COLUMN,
    TEMPORARY,
    FakeSession,
    FakeUpstream,
    World,
    play,
)
from thriftcodec.values import REPLY, STRUCT, Message, Struct
from thriftcodec.writer import encode_message


def test_tables_come_from_memory_and_views_of_the_session_from_the_cluster() -> None:
    async def scenario(world: World) -> None:
        assert await world.names() == ["t", "tmp"]
        assert world.upstream.closed == 2
        world.upstream.calls.clear()
        world.upstream.temporary = []
        assert await world.names() == ["t"]
        assert world.upstream.calls == ["GetTables", "GetResultSetMetadata", "FetchResults"]

    play(scenario)


@pytest.mark.parametrize("name", ["GetTables", "GetSchemas"])
def test_cluster_and_metastore_are_called_at_the_same_time(name: str) -> None:
    async def scenario(world: World) -> None:
        listing = world.listed, world.schemas

        async def until_the_cluster_answers(listed: Any, wanted: Callable[[str], bool]) -> Any:
            async with asyncio.timeout(60):
                await world.upstream.fetched.wait()
            return await listed(wanted)

        slow = [partial(until_the_cluster_answers, each) for each in listing]
        cast(Any, world).listed, cast(Any, world).schemas = slow
        assert await world.ask(name) is not None

    play(scenario)


def test_the_cluster_is_not_called_if_the_loader_keeps_no_lists() -> None:
    async def scenario(world: World) -> None:
        world.keeps_lists = False
        assert await world.ask() is None
        assert await world.ask("GetSchemas") is None
        assert world.upstream.calls == []

    play(scenario)


def _made_a_view(world: World) -> None:
    view = ViewText("SELECT 1", "default")
    world.state.objects.apply(CreateTempView("tmp", view), None, ())


def _made_a_table(world: World) -> None:
    world.state.objects.apply(CreateTempTable("tmp"), ClusterName("c"), ())


def _said_what_nobody_understood(world: World) -> None:
    world.upstream.replay.understood = False


def _shares_its_session(world: World) -> None:
    world.upstream.settings["spark.sql.hive.thriftServer.singleSession"] = "true"
    world.health.forget_checked(world.upstream.endpoint)  # the server was started again


@pytest.mark.parametrize(
    "make", [_made_a_view, _made_a_table, _said_what_nobody_understood, _shares_its_session]
)
def test_the_cluster_is_called_if_there_may_be_temporary_views(
    make: Callable[[World], None],
) -> None:
    async def scenario(world: World) -> None:
        world.upstream.temporary = []
        assert await world.names(schema="sales") == ["t"]  # which learns how it is described
        world.upstream.calls.clear()
        assert await world.names(schema="sales") == ["t"]
        assert world.upstream.calls == []
        make(world)
        world.state.journal.changes += 1
        world.upstream.temporary = [TEMPORARY]
        assert await world.names(schema="sales") == ["t", "tmp"]
        assert await world.names(schema="sales") == ["t", "tmp"]

    play(scenario)


def test_global_views_are_listed_for_every_pattern_that_matches_them() -> None:
    async def scenario(world: World) -> None:
        for pattern in ("%", "global_temp", "g%"):
            world.upstream.temporary = []
            await world.names(schema=pattern)
            world.upstream.temporary = [TEMPORARY]  # another client's
            assert (await world.names(schema=pattern))[-1] == "tmp"

    play(scenario)


def test_schemas() -> None:
    async def scenario(world: World) -> None:
        everything = ["sales", "global_temp"]
        for pattern, names in (("%", everything), ("", everything), ("s%", ["sales"]), ("x", [])):
            for _ in range(2):
                local = await world.ask("GetSchemas", schema=pattern)
                assert local is not None
                assert list(local.table.rows) == [(name, "") for name in names]
                assert local.table.columns == ("TABLE_SCHEM", "TABLE_CATALOG")
        world.upstream.calls.clear()
        assert await world.ask("GetSchemas") is not None
        assert world.upstream.calls == []
        world.lists = None
        assert await world.ask("GetSchemas") is None

    play(scenario)


def test_the_schema_of_the_answer_is_the_clusters() -> None:
    async def scenario(world: World) -> None:
        world.upstream.temporary = []
        local = await world.ask("GetColumns", schema="sales")
        assert local is not None
        assert local.schema is not None
        described = results.header(replies.read_result(local.schema, "GetResultSetMetadata"))
        assert described[3:5] == [("COLUMN_NAME", 7), ("DATA_TYPE", 3)]

    play(scenario)


def test_the_settings_of_a_changed_session_are_read_again() -> None:
    async def scenario(world: World) -> None:
        await world.names()
        world.upstream.settings["spark.sql.caseSensitive"] = "true"
        assert await world.names() == ["t", "tmp"]
        world.state.variables["spark.sql.caseSensitive"] = "true"
        assert await world.ask() is None

    play(scenario)


def test_new_sessions_of_a_user_open_one_session_in_the_cluster() -> None:
    async def scenario(world: World) -> None:
        sessions = [FakeSession(FakeUpstream()) for _ in range(50)]
        for pattern in ("s%", "%"):
            calls = (world.ask(session=each, schema=pattern) for each in sessions)
            for local in await asyncio.gather(*calls):
                assert local is not None
                assert [row[2] for row in local.table.rows] == ["t", "tmp"]
        assert [each.opened for each in sessions].count(0) == 49
        said = [call for each in sessions for call in each.there.calls]
        assert said.count("SET") == 1
        assert (
            said.count("GetTables") <= 4
        )  # once for the first pattern, by two crowds for the second

    play(scenario)


@pytest.mark.parametrize("what", ["user", "setting", "view", "restart", "closed", "server"])
def test_a_session_that_is_not_plain_uses_no_helper(what: str) -> None:
    async def scenario(world: World) -> None:
        await world.names()
        other = FakeSession(FakeUpstream(), "bob" if what == "user" else "ann")
        if what == "setting":
            other.state.variables["spark.sql.timestampType"] = "TIMESTAMP_LTZ"
            other.there.settings["spark.sql.timestampType"] = "TIMESTAMP_LTZ"
        elif what == "view":
            view = ViewText("SELECT 1", "default")
            other.state.objects.apply(CreateTempView("tmp", view), None, ())
        elif what == "restart":
            world.health.mark_down(world.upstream.endpoint, "gone")
        elif what == "closed":
            world.session.opened = 0
        elif what == "server":
            other.opened, other.there.endpoint = 1, Endpoint("other", 1)
        local = await world.ask(session=other)
        assert (local is None) == (what == "setting")
        assert other.there.calls

    play(scenario)


def test_a_session_of_a_helper_that_is_lost_is_answered_by_its_own_cluster() -> None:
    async def scenario(world: World) -> None:
        await world.names()
        world.upstream.problem = ClusterLost("gone")
        assert await world.ask(session=FakeSession(FakeUpstream())) is None

    play(scenario)


def _nothing_certain(world: World) -> None:
    world.lists = None


def _another_version(world: World) -> None:
    world.upstream.version = "4.0.0"


def _another_catalog(world: World) -> None:
    world.upstream.settings["spark.sql.catalogImplementation"] = "in-memory"


def _an_unusual_setting(world: World) -> None:
    world.upstream.settings["spark.sql.timestampType"] = "TIMESTAMP_NTZ"


def _a_refusal(world: World) -> None:
    world.upstream.problem = ThriftServerError(Failure("no"))


def _a_lost_cluster(world: World) -> None:
    world.upstream.problem = ClusterLost("gone")


def _many_views(world: World) -> None:
    world.upstream.temporary = [TEMPORARY] * MAX_TEMPORARY


def _an_unsure_table(world: World) -> None:
    world.lists = [("sales", [ListedTable("t", False, "", None)])]


@pytest.mark.parametrize(
    "make",
    [
        _nothing_certain,
        _another_version,
        _another_catalog,
        _an_unusual_setting,
        _a_refusal,
        _a_lost_cluster,
        _many_views,
        _an_unsure_table,
    ],
)
def test_uncertain_answers_are_left_to_the_cluster(make: Callable[[World], None]) -> None:
    async def scenario(world: World) -> None:
        make(world)
        assert await world.ask() is None

    play(scenario)


def test_a_server_with_other_columns_answers_itself() -> None:
    async def scenario(world: World) -> None:
        described = results.metadata_reply(ResultTable(("TABLE_CAT",)))

        async def reply(name: str, request: bytes) -> bytes:
            return encode_message(Message(name, REPLY, 0, Struct({0: (STRUCT, described)})))

        world.upstream.reply = reply  # type: ignore[method-assign]
        assert await world.ask() is None
        assert world.upstream.closed == 2

    play(scenario)


def test_access_rules_hide_databases_and_tables() -> None:
    async def scenario(world: World) -> None:
        tables = [ListedTable(name, False, "", (COLUMN,)) for name in ("t", "pay")]
        world.lists = [("sales", tables), ("hr", tables)]
        rules = [
            {"name": "a", "effect": "deny", "users": ["*"], "databases": ["hr"]},
            {"name": "b", "effect": "deny", "users": ["*"], "tables": ["sales.pay"]},
        ]
        world.state.access = Access(rules_of({"rules": rules})).of("ann")
        assert await world.names() == ["t", "tmp"]
        world.upstream.temporary = []
        schemas, columns = await world.ask("GetSchemas"), await world.ask("GetColumns")
        assert schemas is not None
        assert [row[0] for row in schemas.table.rows] == ["sales", "global_temp"]
        assert columns is not None
        assert [row[1:3] for row in columns.table.rows] == [("sales", "t")]

    play(scenario)
