"""SHOW and DESCRIBE statements that are answered from memory, and those left to the cluster."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conf.access.document import rules_of
from conf.catalog.spark_table import SparkDatabase, SparkTable
from conf.names import ClusterName, TableRef
from conf.topology import Cluster, Endpoint, Topology
from dialect.catalog_commands import (
    CatalogCommand,
    DescribeColumn,
    DescribeDatabase,
    DescribePartition,
    DescribeTable,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowPartitions,
    ShowProperties,
    ShowTables,
    ShowViews,
)
from dialect.statement import CreateTempView, SetVariable, ViewText
from metastore.errors import MetastoreDown
from proxy.catalog.catalog_statements_runner import MAX_ROWS, CatalogStatements
from proxy.catalog.cluster_facts_runner import ClusterFacts
from proxy.errors import ClusterDown
from proxy.protocol.results import ResultTable
from proxy.session.session import SessionState
from proxy.session.user_session import UserSession
from router.access.user_access import Access
from tests.proxy.catalog.metadata_world import FakeUpstream
from tests.proxy.catalog.test_descriptions import recorded

EAST = ClusterName("east")
REF = TableRef("mem", "txt")
PARTITION = (("hr", "1"), ("ds", "2024-01-01"))


class World:
    def __init__(self) -> None:
        self.upstream = FakeUpstream()
        self.state = SessionState("ann", 9, {}, Topology(), Topology())
        self.table: SparkTable | None = recorded("txt")
        self.names: Sequence[str] | None = ("t", "v")
        self.database: SparkDatabase | None = SparkDatabase("mem", "", "file:/w/mem", "ann", {})
        self.asked: list[tuple[str, ...]] = []  # values of partitions
        self.down: Exception | None = None
        self.answers = CatalogStatements(cast(Any, self), ClusterFacts())

    async def schemas(self, wanted: Callable[[str], bool]) -> Sequence[str] | None:
        return self.names

    async def table_names(self, database: str) -> Sequence[str] | None:
        return self.names

    async def view_names(self, database: str) -> Sequence[str] | None:
        return self.names

    async def spark_tables(self, database: str, names: Sequence[str]) -> Any:
        return [self.table for _ in names]

    async def partition_names(self, table: TableRef, values: Sequence[str] = ()) -> Sequence[str]:
        if self.down:
            raise self.down
        self.asked.append(tuple(values))
        return ["ds=2024-01-01/hr=1"]

    async def spark_database(self, name: str) -> SparkDatabase | None:
        if self.down:
            raise self.down
        return self.database

    def spark_table(self, table: TableRef) -> SparkTable | None:
        return self.table

    async def opened(self, cluster: ClusterName) -> Any:
        if isinstance(self.down, ClusterDown):
            raise self.down
        return self.upstream

    async def ask(self, command: CatalogCommand) -> ResultTable | None:
        session = SimpleNamespace(state=self.state, upstream=self.opened)
        return await self.answers.answer(command, EAST, cast(UserSession, session))


def play(scenario: Callable[[World], Any]) -> None:
    async def main() -> None:
        await scenario(World())

    asyncio.run(main())


LISTS: tuple[CatalogCommand, ...] = (
    ShowTables("mem", None),
    ShowViews("mem", "v*"),
    ShowTables("mem", "t", extended=True),
)
OF_A_TABLE: tuple[CatalogCommand, ...] = (
    ShowColumns(REF),
    ShowPartitions(REF),
    ShowProperties(REF, None),
    DescribeTable(REF, extended=False),
    DescribeTable(REF, extended=True),
    ShowPartitions(REF, PARTITION),
    ShowCreateTable(REF),
    DescribeColumn(REF, "a", extended=False),
    DescribePartition(REF, PARTITION),
)
ALL = (ShowDatabases(None), DescribeDatabase("mem", extended=True), *LISTS, *OF_A_TABLE)


def test_all_kinds_of_statements_are_answered() -> None:
    async def scenario(world: World) -> None:
        for command in ALL:
            assert await world.ask(command) is not None, command

    play(scenario)


def _another_version(world: World) -> None:
    world.upstream.version = "4.0.0"


def _an_unknown_setting(world: World) -> None:
    world.upstream.settings["spark.sql.legacy.anything"] = "true"


def _one_session_for_all(world: World) -> None:
    world.upstream.settings["spark.sql.hive.thriftServer.singleSession"] = "true"


def _said_what_nobody_understood(world: World) -> None:
    world.upstream.replay.understood = False


def _a_cluster_that_is_down(world: World) -> None:
    world.down = ClusterDown("Cluster east is down.")


@pytest.mark.parametrize(
    "make",
    [
        _another_version,
        _an_unknown_setting,
        _one_session_for_all,
        _said_what_nobody_understood,
        _a_cluster_that_is_down,
    ],
)
def test_statements_of_unusual_sessions_are_left_to_the_cluster(
    make: Callable[[World], None],
) -> None:
    async def scenario(world: World) -> None:
        make(world)
        for command in ALL:
            assert await world.ask(command) is None, command

    play(scenario)


def test_for_spark_4_only_lists_of_names_are_answered() -> None:
    names = (ShowDatabases(None), ShowTables("mem", None), ShowViews("mem", "v*"))

    async def scenario(world: World) -> None:
        world.upstream.version = "4.3.0"
        for command in ALL:
            assert (await world.ask(command) is not None) == (command in names), command
        world.upstream.settings["spark.sql.legacy.anything"] = "true"
        world.state.apply(SetVariable("spark.sql.legacy.anything", "true"), "", None, 1)
        assert await world.ask(ShowDatabases(None)) is None

    play(scenario)


def test_lists_of_a_session_with_temporary_views_are_left_to_the_cluster() -> None:
    async def scenario(world: World) -> None:
        view = ViewText("SELECT 1", "default")
        world.state.objects.apply(CreateTempView("tmp", view), None, ())
        for command in LISTS:
            assert await world.ask(command) is None
        assert await world.ask(ShowDatabases(None)) is not None
        assert await world.ask(ShowColumns(REF)) is not None

    play(scenario)


def test_uncertain_patterns_and_databases_are_left_to_the_cluster() -> None:
    async def scenario(world: World) -> None:
        for command in (
            ShowDatabases("a.b"),
            ShowTables("mem", "a.b"),
            ShowTables("global_temp", None),
            ShowViews("global_temp", None),
        ):
            assert await world.ask(command) is None
        world.names = None
        for command in (ShowDatabases(None), *LISTS):
            assert await world.ask(command) is None

    play(scenario)


def test_the_location_of_a_table_with_a_copy_is_left_to_the_cluster() -> None:
    async def scenario(world: World) -> None:
        assert world.table is not None
        world.table = replace(world.table, copies=frozenset({"east"}))
        assert await world.ask(DescribeTable(REF, extended=True)) is None
        assert await world.ask(ShowCreateTable(REF)) is None
        assert await world.ask(ShowTables("mem", "t", extended=True)) is None
        assert await world.ask(DescribeTable(REF, extended=False)) is not None
        world.table = replace(world.table, copies=frozenset({"west"}))
        assert await world.ask(DescribeTable(REF, extended=True)) is not None

    play(scenario)


def test_tables_that_are_not_in_memory_are_left_to_the_cluster() -> None:
    async def scenario(world: World) -> None:
        world.down = MetastoreDown("down")
        assert await world.ask(ShowPartitions(REF)) is None
        world.table = None
        for command in OF_A_TABLE:
            assert await world.ask(command) is None

    play(scenario)


def test_answers_with_too_many_rows_are_left_to_the_cluster() -> None:
    async def scenario(world: World) -> None:
        world.names = [f"t{number:06}" for number in range(MAX_ROWS)]
        found = await world.ask(ShowTables("mem", "*1"))
        assert found is not None
        assert len(found.rows) == MAX_ROWS // 10
        world.names = [*world.names, "t"]
        assert await world.ask(ShowTables("mem", None)) is None

    play(scenario)


def test_settings_are_read_again_when_the_session_changed_them() -> None:
    async def scenario(world: World) -> None:
        assert await world.ask(ShowColumns(REF)) is not None
        world.upstream.settings["spark.sql.caseSensitive"] = "true"
        assert await world.ask(ShowColumns(REF)) is not None
        effect = SetVariable("spark.sql.caseSensitive", "true")
        world.state.journal.record(1, "SET spark.sql.caseSensitive=true", effect)
        assert await world.ask(ShowColumns(REF)) is None

    play(scenario)


def test_a_session_with_its_own_time_zone_does_not_show_that_of_the_server() -> None:
    async def scenario(world: World) -> None:
        world.upstream.settings["spark.sql.session.timeZone"] = "UTC"
        assert await world.ask(DescribeTable(REF, extended=True)) is None
        assert await world.ask(DescribeTable(REF, extended=False)) is not None

    play(scenario)


def test_the_metastore_receives_sparks_values_of_partitions() -> None:
    async def scenario(world: World) -> None:
        await world.ask(ShowPartitions(REF))
        await world.ask(ShowPartitions(REF, (("hr", "1"),)))
        assert world.asked == [(), ("", "1")]
        assert await world.ask(ShowPartitions(REF, (("hr", "01"),))) is None

    play(scenario)


def test_a_partition_that_does_not_exist_is_left_to_the_cluster() -> None:
    async def scenario(world: World) -> None:
        assert await world.ask(DescribePartition(REF, PARTITION)) is not None
        for spec in ((("hr", "2"), ("ds", "2024-01-01")), (("hr", "1"),)):
            assert await world.ask(DescribePartition(REF, spec)) is None

    play(scenario)


def test_a_database_whose_location_the_view_changes_is_left_to_the_cluster() -> None:
    async def scenario(world: World) -> None:
        clusters = {
            name: Cluster(name, f"hdfs://{name}", (Endpoint(name, 1),))
            for name in (EAST, ClusterName("west"))
        }
        world.state = SessionState("ann", 9, {}, Topology(clusters, EAST), Topology(clusters, EAST))
        command = DescribeDatabase("mem", extended=False)
        for location, is_known in (
            ("hdfs://east/w", True),
            ("hdfs://west/w", False),
            ("/w", False),
        ):
            world.database = SparkDatabase("mem", "", location, "ann", {})
            assert (await world.ask(command) is not None) == is_known, location
        world.database = None
        assert await world.ask(command) is None

    play(scenario)


def test_access_rules_hide_databases_and_tables() -> None:
    async def scenario(world: World) -> None:
        rules = [
            {"name": "a", "effect": "deny", "users": ["*"], "databases": ["v"]},
            {"name": "b", "effect": "deny", "users": ["*"], "tables": ["mem.v"]},
        ]
        for command, at in (
            (ShowDatabases(None), 0),
            (ShowTables("mem", None), 1),
            (ShowViews("mem", None), 1),
        ):
            world.state.access = None
            table = await world.ask(command)
            assert table is not None
            assert [row[at] for row in table.rows] == ["t", "v"]
            world.state.access = Access(rules_of({"rules": rules})).of("ann")
            table = await world.ask(command)
            assert table is not None
            assert [row[at] for row in table.rows] == ["t"]

    play(scenario)
