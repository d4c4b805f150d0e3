"""The partitions that have to be in a cluster, by the setting of coverage (D1)."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from conf.names import ClusterName, TableRef
from conf.placement import NEVER_WRITTEN, Copy, Placement, write_placement
from conf.settings.settings import Coverage, LostReads, Settings, Writes
from conf.topology import Endpoint
from metastore.client.types import Table
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from proxy.session.session import SessionState
from proxy.statement.other_tables import lacking
from proxy.statement.statement_router import StatementRouter
from router.decision import Decision, Refuse, RunIn
from tests.metastore.catalog.test_sql_functions import blob, function
from tests.metastore.view.server.view_calls import AWAY, KEYS, table
from tests.metastore.writable import C1, C2, TOPOLOGY, WritableMetastore

_FIRST = Placement(C1, table_write=NEVER_WRITTEN)
COPIED = write_placement(replace(_FIRST, copies=(Copy(C2, AWAY, _FIRST.version),)))


@pytest.fixture
def hms() -> Iterator[WritableMetastore]:
    """Day 1 is copied to c2, day 2 is not."""
    fake = WritableMetastore()
    fake.add(table({}, KEYS), ("ds=1", COPIED), ("ds=2", {}))
    yield fake
    fake.stop()


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[StatementRouter]:
    snapshot = Snapshot()
    loader = SnapshotLoader(settings, snapshot)
    router = StatementRouter(settings, snapshot, loader)
    try:
        yield router
    finally:
        await router.analysis.close()
        loader.close()


def decided(
    hms: WritableMetastore,
    coverage: Coverage,
    *statements: str,
    pinned: ClusterName | None = C2,
    whole: bool = False,
) -> list[Decision]:
    """The decisions for the statements, one after the other, in a session pinned to c2."""

    async def main() -> list[Decision]:
        state = SessionState.opened("ann", 9, {}, TOPOLOGY)
        state.pinned = pinned
        async with opened(Settings(TOPOLOGY, (hms.endpoint,), coverage=coverage)) as router:
            routed = [await router.decide(each, state, whole=whole) for each in statements]
            return [each.decision for each in routed]

    return asyncio.run(main())


ONE_DAY, ALL_DAYS = "SELECT * FROM t WHERE ds = '1'", "SELECT * FROM t"


def test_partitions_that_are_read_have_to_be_in_the_cluster(hms: WritableMetastore) -> None:
    one, every = decided(hms, Coverage.READ, ONE_DAY, ALL_DAYS)
    assert isinstance(one, RunIn)
    assert one.cluster == C2
    assert isinstance(every, Refuse)


def test_with_coverage_table_all_partitions_have_to_be_in_the_cluster(
    hms: WritableMetastore,
) -> None:
    """Partitions that the statement's predicate leaves out count as well."""
    (one,) = decided(hms, Coverage.TABLE, ONE_DAY)
    (every,) = decided(hms, Coverage.READ, ALL_DAYS)
    assert isinstance(one, Refuse)
    assert isinstance(every, Refuse)
    assert (one.code, one.because) == (every.code, every.because)


def test_after_a_refused_partition_all_partitions_are_checked(
    hms: WritableMetastore,
) -> None:
    (pinned,) = decided(hms, Coverage.READ, ONE_DAY, whole=True)
    (free,) = decided(hms, Coverage.READ, ONE_DAY, pinned=None, whole=True)
    assert isinstance(pinned, Refuse)
    assert isinstance(free, RunIn)
    assert free.cluster == C1


@pytest.mark.parametrize(
    ("lost_reads", "variables", "where"),
    [
        (LostReads.MOVE, {}, C2),
        (LostReads.FAIL, {}, C1),
        (LostReads.MOVE, {"hoodie.trips.consume.mode": "INCREMENTAL"}, C1),
    ],
)
def test_a_query_runs_elsewhere_while_its_cluster_is_down(
    hms: WritableMetastore, lost_reads: LostReads, variables: dict[str, str], where: ClusterName
) -> None:
    async def main() -> Decision:
        state = SessionState.opened("ann", 9, {}, topology)
        state.variables.update(variables)
        async with opened(Settings(topology, (hms.endpoint,), lost_reads=lost_reads)) as router:
            router.health.drain(C1)
            return (await router.decide(ONE_DAY, state)).decision

    server = (Endpoint("127.0.0.1", 1),)
    clusters = {name: replace(each, hs2=server) for name, each in TOPOLOGY.clusters.items()}
    topology = replace(TOPOLOGY, clusters=clusters)
    decision = asyncio.run(main())
    assert isinstance(decision, RunIn)
    assert decision.cluster == where


def test_a_table_is_in_a_cluster_if_each_of_its_partitions_is(hms: WritableMetastore) -> None:
    hms.add(table({}, KEYS), ("ds=1", COPIED), ("ds=2", COPIED))
    (one,) = decided(hms, Coverage.TABLE, ONE_DAY)
    assert isinstance(one, RunIn)
    assert one.cluster == C2


@pytest.mark.parametrize("writes", Writes)
def test_writes_wait_for_each_other_where_the_setting_says_so(
    hms: WritableMetastore, writes: Writes
) -> None:
    async def main() -> frozenset[TableRef]:
        state = SessionState.opened("ann", 9, {}, TOPOLOGY)
        async with opened(Settings(TOPOLOGY, (hms.endpoint,), writes=writes)) as router:
            sql = "INSERT INTO staged SELECT a FROM VALUES (1) v (a)"
            return (await router.decide(sql, state)).in_turn

    staged = TableRef("default", "staged")
    made = Table.make(staged, [("a", "int")], location="file:/staged")
    made.parameters = {"spark.sql.sources.provider": "parquet"}
    hms.add(made)
    assert asyncio.run(main()) == ({staged} if writes is Writes.SERIALIZE else set())


def test_analyze_tables_writes_every_table_of_the_database(hms: WritableMetastore) -> None:
    (every,) = decided(hms, Coverage.READ, "ANALYZE TABLES COMPUTE STATISTICS")
    (one,) = decided(hms, Coverage.READ, "ANALYZE TABLE t COMPUTE STATISTICS")
    (other,) = decided(hms, Coverage.READ, "ANALYZE TABLES IN other COMPUTE STATISTICS")
    assert isinstance(every, Refuse)
    assert every == one
    assert isinstance(other, RunIn)


def test_tables_read_by_a_function_in_sql_are_read_by_the_statement(hms: WritableMetastore) -> None:
    hms.functions = [
        function("area", "sqlFunction.", "000" + blob(expression="w * h")),
        function("total", "sqlFunction.", "000" + blob(query=ALL_DAYS.replace(" t", " default.t"))),
        function("day", "sqlFunction.", "000" + blob(query=ONE_DAY.replace(" t ", " default.t "))),
        function("Outer_One", "sqlFunction.", "000" + blob(expression="db.total() + 1")),
        function("unread", "sqlFunction.", "000"),
    ]
    run = ("db.area(1, 2)", "total()", "db.day()", "IDENTIFIER('db.`day`')()")
    refused = {
        "db.total()": "default.t has 1 partition missing",
        "spark_catalog.db.`outer_one`(1)": "default.t has 1 partition missing",
        "IDENTIFIER('`db`.total')()": "default.t has 1 partition missing",
        "IDENTIFIER(concat('to', 'tal'))()": "the name of a function is computed",
        "db.unread()": "a text that cannot be read",
    }
    decisions = decided(hms, Coverage.READ, *(f"SELECT {call}" for call in (*run, *refused)))
    assert [each for each in decisions[: len(run)] if not isinstance(each, RunIn)] == []
    for decision, why in zip(decisions[len(run) :], refused.values(), strict=True):
        assert isinstance(decision, Refuse)
        assert why in str(decision)


def test_other_tables_count_without_their_partitions_or_with_all_that_are_known(
    hms: WritableMetastore,
) -> None:
    """Two partitions of c1 with 100 bytes in all; the first one has a copy in c2."""
    hms.add(table({"totalSize": "100"}, KEYS), ("ds=1", COPIED), ("ds=2", {}))

    async def main() -> list[Mapping[ClusterName, float]]:
        snapshot = Snapshot()
        settings = Settings(TOPOLOGY, (hms.endpoint,))
        loader = SnapshotLoader(settings, snapshot)
        other = {TableRef("default", "another")}
        try:
            found = [await lacking(other, snapshot, loader, (C1, C2))]
            await loader.load_facts([TableRef("default", "t")])
            return [*found, await lacking(other, snapshot, loader, (C1, C2))]
        finally:
            loader.close()

    assert asyncio.run(main()) == [{C1: 0.0, C2: 100.0}, {C1: 0.0, C2: 50.0}]
