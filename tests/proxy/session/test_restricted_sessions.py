"""The operator's restrictions, over real sockets and fake clusters."""

from conf.settings.security.restrictions import ALWAYS_RESTRICTED, Code, SessionRestrictions
from tests.proxy.fakes import Client, World, error_of, play
from thriftcodec.values import Struct


def message(result: Struct) -> str:
    failure = error_of(result)
    return "" if failure is None else failure.message


async def failure_of(client: Client, sql: str) -> str:
    return message(await client.execute(sql))


def test_properties_of_the_servers_process_open_no_session() -> None:
    async def scenario(world: World) -> None:
        client = await world.client(opened=False)
        for key in ("set__system__java.io.tmpdir", "set__env__PATH", "SET__System__x"):
            assert message(await client.open(**{key: "/x"})).startswith("[CW230]")
        assert message(await client.open(set__hiveconf__a="1")) == ""

    play(scenario)
    play(scenario, in_use=False)


def test_a_restricted_setting_is_refused_in_every_form() -> None:
    async def scenario(world: World) -> None:
        client = await world.client(opened=False)
        for prefix in ("", "set__", "set__hiveconf__", "set__hivevar__"):
            assert "[CW230]" in message(await client.open(**{prefix + "a.b": "1"}))
        await client.open()
        for sql in (
            "SET a.b=1",
            "set  A.B = 1",
            "SET `a.b`=1",
            "SET hivevar:a.b=1",
            "SET hiveconf:a.b=1",
            "/* c */ SET a.b=1",
            "RESET a.b",
            "SET fs.defaultFS=hdfs://west:8020",
        ):
            assert (await failure_of(client, sql)).startswith("[CW230]"), sql
        assert await failure_of(client, "SET c.d=1") == ""
        await failure_of(client, "SELECT * FROM e")
        assert world.east.statements == ["SET c.d=1", "SELECT * FROM e"]

    play(scenario, restrictions=SessionRestrictions(restricted=(*ALWAYS_RESTRICTED, "a.b")))


def test_an_ignored_setting_is_answered_and_sent_to_no_cluster() -> None:
    async def scenario(world: World) -> None:
        client = await world.client(opened=False)
        await client.open(**{"set__hiveconf__a.b": "1", "x": "2"})
        assert await client.rows("SET a.b=1") == 1
        await failure_of(client, "RESET a.b")
        await failure_of(client, "SELECT * FROM e")
        assert world.east.statements == ["SELECT * FROM e"]
        assert all("a.b" not in key for each in world.east.configurations for key in each)

    play(scenario, restrictions=SessionRestrictions(ignored=("a.b",)))


def test_denied_functions_and_statements() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for sql in (
            "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
            "EXPLAIN CLUSTER SELECT `reflect`('a', 'b') FROM e",
            "SELECT IDENTIFIER('ref' || 'lect')('a') FROM e",
            "SELECT TRANSFORM(x) USING 'cat' FROM e",
            "ADD JAR /tmp/x.jar",
            "CREATE TEMPORARY FUNCTION f AS 'org.F'",
        ):
            assert (await failure_of(client, sql))[:5] in ("[CW23", "[CW10"), sql
        assert await failure_of(client, "SELECT upper(x) FROM e") == ""
        assert world.east.statements == ["SELECT upper(x) FROM e"]

    denied = SessionRestrictions(functions=frozenset({"reflect"}), statements=frozenset(Code))
    play(scenario, restrictions=denied)


def test_a_statement_that_is_not_understood_runs_nowhere_while_anything_is_denied() -> None:
    sql = "SELECT * FROM elsewhere.d.t"

    def scenario(expected: list[str]) -> object:
        async def run(world: World) -> None:
            client = await world.client()
            await client.operation("USE CLUSTER east")
            failure = await failure_of(client, sql)
            assert failure.startswith("[CW231]") is not bool(expected)
            assert world.east.statements == expected

        return run

    play(scenario([sql]), restrictions=SessionRestrictions())  # type: ignore[arg-type]
    denied = SessionRestrictions(functions=frozenset({"reflect"}))
    play(scenario([]), restrictions=denied)  # type: ignore[arg-type]
