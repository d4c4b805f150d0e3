"""Claims, sent over real sockets to fake clusters with and without a guard that checks them."""

from functools import partial

import pytest

from conf.settings.security.restrictions import SessionRestrictions
from proxy.limits import Limits
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import World, error_of, play, until

NO_SUCH_NAMESPACE = "org.apache.spark.sql.AnalysisException: [REQUIRES_SINGLE_PART_NAMESPACE] .."
NO_SUCH_WORD = "org.apache.spark.sql.catalyst.parser.ParseException: Syntax error at 'SELEKT'"


def _checks(cluster: FakeCluster) -> None:
    cluster.checks = True


play_checked = partial(play, prepared=_checks)


def test_a_statement_carries_its_claim() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.rows("SELECT * FROM e")
        assert world.east.claims == [("SELECT * FROM e", {"v": 1, "reads": {"default.e": {}}})]

    play_checked(scenario)


def test_a_write_names_its_marks() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("INSERT INTO w SELECT 1")
        claim = {"v": 1, "writes": {"default.w": {}}, "marks": ["mark"]}
        assert world.west.claims == [("INSERT INTO w SELECT 1", claim)]

    play_checked(scenario)


def test_a_cluster_without_a_guard_gets_no_claims() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.rows("SELECT * FROM e")
        assert world.east.claims == [("SELECT * FROM e", None)]
        assert world.east.probes == 1

    play(scenario)


def test_nothing_is_claimed_while_no_cluster_is_configured() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.rows("SELECT 1")
        assert world.east.claims == [("SELECT 1", None)]
        assert world.east.probes == 0

    play_checked(scenario, in_use=False)


def test_an_endpoint_is_probed_once_while_it_is_up() -> None:
    async def scenario(world: World) -> None:
        for _ in range(3):
            client = await world.client()
            await client.rows("SELECT * FROM e")
        assert world.east.probes == 1
        await world.east.stop()
        assert error_of(await (await world.client()).execute("SELECT * FROM e")) is not None
        await world.east.start()
        world.east.checks = False
        await (await world.client()).rows("SELECT * FROM e")
        assert world.east.probes == 2
        assert world.east.claims[-1] == ("SELECT * FROM e", None)

    play_checked(scenario)


def test_repeated_statements_may_only_change_the_session() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SET x=1")
        await client.rows("SELECT * FROM w")
        assert ("SET x=1", {"v": 1, "mode": "session"}) in world.west.claims

    play_checked(scenario)


INCREMENTAL = ("SET hoodie.e.consume.mode=INCREMENTAL", "SET hoodie.e.consume.start.timestamp=7")


def test_a_session_that_reads_changes_claims_their_range() -> None:
    async def scenario(world: World) -> None:
        world.metastore.hudi.add("default.e")
        client = await world.client()
        for each in INCREMENTAL:
            await client.operation(each)
        await client.rows("SELECT * FROM e")
        changes = {"default.e": {"start": "7", "commits": 1}}
        claim = {"v": 2, "reads": {"default.e": {}}, "changes": changes}
        assert world.east.claims[-1] == ("SELECT * FROM e", claim)
        await client.operation("RESET hoodie.e.consume.mode")
        await client.rows("SELECT * FROM e")
        assert world.east.claims[-1] == (
            "SELECT * FROM e", {"v": 1, "reads": {"default.e": {}}}
        )  # fmt: skip

    play_checked(scenario)


def test_a_cluster_without_a_guard_does_not_read_changes() -> None:
    async def scenario(world: World) -> None:
        world.metastore.hudi.add("default.e")
        client = await world.client()
        for each in INCREMENTAL:
            await client.operation(each)
        failure = error_of(await client.execute("SELECT * FROM e"))
        assert failure is not None
        assert "CW227" in failure.message
        assert "hudi_table_changes" in failure.message
        assert "SELECT * FROM e" not in world.east.statements
        await client.operation("INSERT INTO w SELECT 1")
        assert "INSERT INTO w SELECT 1" in world.west.statements

    play(scenario)


def test_an_outdated_decision_is_made_again() -> None:
    async def scenario(world: World) -> None:
        world.east.outdated = 2
        client = await world.client()
        assert await client.rows("SELECT * FROM e") == 1
        assert world.east.statements.count("SELECT * FROM e") == 3
        assert world.metastore.log == ["forget default.e"] * 2
        await until(lambda: len(world.east.operations) == 1)  # the others are closed

    play_checked(scenario)


def test_an_outdated_decision_is_not_made_for_ever() -> None:
    async def scenario(world: World) -> None:
        world.east.outdated = 1000
        client = await world.client()
        failure = error_of(await client.execute("SELECT * FROM e"))
        assert failure is not None
        assert "CW363" in failure.message
        assert world.east.statements.count("SELECT * FROM e") == 3

    play_checked(scenario)


def test_a_table_is_refreshed_before_it_is_read_again() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.rows("SELECT * FROM e")
        assert world.east.statements == ["SELECT * FROM e"]
        world.east.outdated = 1
        await client.rows("SELECT * FROM e")
        assert world.east.statements[2:] == ["REFRESH TABLE `default`.`e`", "SELECT * FROM e"]

    play_checked(scenario)


def test_a_syntax_error_is_the_clusters_own() -> None:
    async def scenario(world: World) -> None:
        world.east.fails["SELEKT"] = NO_SUCH_WORD
        client = await world.client()
        failure = error_of(await client.execute("SELEKT"))
        assert failure is not None
        assert failure.message == NO_SUCH_WORD
        assert world.east.claims == [("SELEKT", {"v": 1, "mode": "analyze"})]

    play_checked(scenario)


def test_a_statement_that_only_spark_understands_is_refused_by_name() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        failure = error_of(await client.execute("SELEKT"))
        assert failure is not None
        assert failure.message.startswith("[CW101]")
        assert world.east.claims == [("SELEKT", {"v": 1, "mode": "analyze"})]
        await until(lambda: not world.east.operations)

    play_checked(scenario)


def test_sparks_error_of_analysis_is_returned_if_nothing_is_read() -> None:
    async def scenario(world: World) -> None:
        sql = "CREATE TABLE a.b.c (x INT)"
        world.east.fails[sql] = NO_SUCH_NAMESPACE
        client = await world.client()
        failure = error_of(await client.execute(sql))
        assert failure is not None
        assert failure.message == NO_SUCH_NAMESPACE
        assert world.east.claims == [(sql, {"v": 1, "mode": "analyze"})]

    play_checked(scenario)


def test_a_refusal_of_the_guard_is_no_error_of_analysis() -> None:
    async def scenario(world: World) -> None:
        sql = "CREATE TABLE a.b.c (x INT)"
        world.east.fails[sql] = (
            "causeway.guard.claim.ClaimException: no\n\tat org.apache.spark.sql.X.run()"
        )
        failure = error_of(await (await world.client()).execute(sql))
        assert failure is not None
        assert failure.message.startswith("[CW101]")

    play_checked(scenario)


@pytest.mark.parametrize("sql", ["SELECT * FROM a.b.c", "CREATE VIEW a.b.c AS TABLE json.`/x`"])
def test_statements_that_read_tables_or_files_are_only_parsed(sql: str) -> None:
    async def scenario(world: World) -> None:
        world.east.fails[sql] = NO_SUCH_NAMESPACE
        failure = error_of(await (await world.client()).execute(sql))
        assert failure is not None
        assert failure.message.startswith("[CW101]")
        assert world.east.claims == [(sql, {"v": 1, "mode": "parse"})]

    play_checked(scenario)


def test_nothing_is_analysed_where_functions_are_denied() -> None:
    async def scenario(world: World) -> None:
        sql = "CREATE VIEW a.b.c AS VALUES (f(1))"
        await (await world.client()).execute(sql)
        assert world.east.claims == [(sql, {"v": 1, "mode": "parse"})]

    play_checked(scenario, restrictions=SessionRestrictions(functions=frozenset({"f"})))


def test_a_syntax_error_is_refused_by_name_without_a_guard() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        failure = error_of(await client.execute("SELEKT"))
        assert failure is not None
        assert failure.message.startswith("[CW101]")
        assert world.east.statements == []

    play(scenario)


def test_a_syntax_error_is_refused_by_name_while_the_cluster_is_down() -> None:
    async def scenario(world: World) -> None:
        await world.east.stop()
        client = await world.client()
        failure = error_of(await client.execute("SELEKT"))
        assert failure is not None
        assert failure.message.startswith("[CW101]")

    play_checked(scenario, Limits(connect=0.5))


def test_a_pinned_unknown_statement_may_only_read() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.rows("USE CLUSTER east")
        await client.operation("SELECT * FROM cat.d.t")
        assert world.east.claims[-1][1] == {"v": 1, "mode": "read"}

    play_checked(scenario, restrictions=SessionRestrictions())  # the default also has views
