"""Histories that once failed, in a session over two clusters and in the model of a plain one."""

import asyncio

import pytest

from tests.sessions.histories import LOWER, PINS, UPPER
from tests.sessions.proxied import C1, C2, Proxied, metastore, plain
from tests.sessions.spark_model import Server, SparkSession

UPPER_F, LOWER_F = f"FUNCTION f AS '{UPPER}'", f"FUNCTION f AS '{LOWER}'"
FILES = "VIEW v USING parquet OPTIONS (path '/p1')"
SCRIPTS = {
    "ALTER TABLE renames a temporary view": (
        "CREATE TEMPORARY VIEW w AS SELECT 'view' AS c",
        "USE CLUSTER c2",
        "SELECT * FROM w",
        "ALTER TABLE w RENAME TO x",
        "USE CLUSTER c1",
        "SELECT * FROM x",
        "SELECT * FROM w",
    ),
    "ALTER VIEW gives a temporary view another query": (
        "CREATE TEMPORARY VIEW v AS SELECT 'one' AS c",
        "USE CLUSTER c2",
        "ALTER VIEW v AS SELECT 'two' AS c",
        "ALTER VIEW v RENAME TO x",
        "USE CLUSTER c1",
        "SELECT * FROM x",
    ),
    "a view that was replaced by files and dropped is gone everywhere": (
        "CREATE TEMPORARY VIEW v AS SELECT 'old' AS c",
        "SELECT * FROM v",
        "USE CLUSTER c2",
        "SELECT * FROM v",
        f"CREATE OR REPLACE TEMPORARY {FILES}",
        "DROP VIEW v",
        "USE CLUSTER c1",
        "SELECT * FROM v",
        "SHOW VIEWS",
    ),
    "a table is read again once a view of its name is gone": (
        "CREATE TEMPORARY VIEW w AS SELECT 'old' AS c",
        "SELECT * FROM w",
        "USE CLUSTER c2",
        "CREATE OR REPLACE TEMPORARY VIEW w USING parquet OPTIONS (path '/p1')",
        "DROP VIEW w",
        "USE CLUSTER c1",
        "SELECT * FROM w",
    ),
    "a view means the table that it was made of": (
        "CREATE TEMPORARY VIEW v AS SELECT * FROM t2",
        "CREATE TEMPORARY VIEW t2 AS SELECT 'view' AS c",
        "SELECT * FROM v",
        "SELECT * FROM t2",
    ),
    "a global view has no short name": (
        "CREATE GLOBAL TEMPORARY VIEW t2 AS SELECT 'view' AS c",
        "SELECT * FROM t2",
        "SELECT * FROM global_temp.t2",
    ),
    "a function that was replaced in one cluster is so in the other": (
        f"CREATE {UPPER_F}",
        "USE CLUSTER c1",
        "SELECT f('Ab') AS c",
        "USE CLUSTER c2",
        "SELECT f('Ab') AS c",
        f"CREATE OR REPLACE {LOWER_F}",
        "SELECT f('Ab') AS c",
        "USE CLUSTER c1",
        "SELECT f('Ab') AS c",
        "DROP FUNCTION f",
        f"CREATE {UPPER_F}",
        "USE CLUSTER c2",
        "SELECT f('Ab') AS c",
    ),
    "what lives in one cluster is found there": (
        "USE CLUSTER c2",
        f"CREATE TEMPORARY {FILES}",
        "CACHE TABLE x AS SELECT 'cached' AS c",
        "USE CLUSTER",
        "SHOW COLUMNS IN v",
        "SHOW VIEWS",
        "INSERT INTO v VALUES ('more')",
        "SELECT * FROM v",
        "UNCACHE TABLE x",
        "DROP VIEW v",
        "SELECT * FROM v",
        "DROP VIEW x",
        "SHOW VIEWS",
    ),
    "a variable has its value in every cluster": (
        "USE CLUSTER c2",
        "DECLARE OR REPLACE VARIABLE x STRING DEFAULT 't1'",
        "USE CLUSTER c1",
        "SELECT x AS c",
        "SET VAR x = 'both'",
        "USE CLUSTER c2",
        "SELECT * FROM IDENTIFIER(x)",
        "EXECUTE IMMEDIATE 'SELECT * FROM ' || x",
        "SET VAR x = DEFAULT",
        "USE CLUSTER c1",
        "SELECT x AS c",
        "DROP TEMPORARY VARIABLE x",
        "USE CLUSTER c2",
        "SELECT x AS c",
    ),
    "a variable with the value of a query is in one cluster until it is declared again": (
        "DECLARE OR REPLACE VARIABLE x STRING DEFAULT 't1'",
        "USE CLUSTER c2",
        "SELECT x AS c",
        "SET VAR x = (SELECT * FROM t2)",
        "SET VAR x = 'both'",
        "USE CLUSTER",
        "SELECT x AS c",
        "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT x AS c",
        "SELECT * FROM v",
        "SHOW COLUMNS IN w",
        "DECLARE OR REPLACE VARIABLE x STRING DEFAULT 'w'",
        "USE CLUSTER c1",
        "SELECT x AS c",
    ),
    "EXECUTE IMMEDIATE changes the session in every cluster": (
        "USE CLUSTER c2",
        "DECLARE OR REPLACE VARIABLE x STRING DEFAULT 'w'",
        "EXECUTE IMMEDIATE 'SET a=t1'",
        "EXECUTE IMMEDIATE 'USE d2'",
        "EXECUTE IMMEDIATE 'CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM ' || x",
        "DROP TEMPORARY VARIABLE x",
        "USE CLUSTER c1",
        "SELECT '${a}' AS c",
        "SELECT current_database() AS c",
        "SELECT * FROM v",
    ),
    "CACHE TABLE drops the view that is in its way": (
        "CREATE TEMPORARY VIEW v AS SELECT 'old' AS c",
        "USE CLUSTER c2",
        "SELECT * FROM v",
        "USE CLUSTER c1",
        "CACHE TABLE v AS SELECT 'new' AS c",
        "USE CLUSTER c2",
        "SELECT * FROM v",
    ),
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=list(SCRIPTS))
def test_scripts_that_once_failed(script: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        opening = {"use:database": "d1"}
        direct = SparkSession(Server(metastore()), opening)
        proxied = Proxied(opening)
        proxied.patch(monkeypatch)
        for sql in script:
            got = await proxied.execute(sql)
            if sql not in PINS:
                assert (sql, got) == (sql, plain(direct, sql))

    asyncio.run(scenario())


@pytest.mark.parametrize("hivevar_first", [True, False])
def test_a_hivevar_wins_at_opening(hivevar_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("set:hivevar:a", "t2"), ("set:hiveconf:a", "t1")]
    opening = {"use:database": "d1", **dict(pairs if hivevar_first else reversed(pairs))}

    async def scenario() -> None:
        proxied = Proxied(opening)
        proxied.patch(monkeypatch)
        assert await proxied.execute("SELECT * FROM ${a}") == (("d1.t2",),)

    asyncio.run(scenario())


ZONE = "SELECT current_timezone() AS c"
TOKYO = "spark.sql.session.timeZone=Asia/Tokyo"
ZONES = {
    "the default of the first cluster": (("USE CLUSTER c2",), "Europe/Paris"),
    "a zone that the client set": (("USE CLUSTER c2", f"SET {TOKYO}"), "Asia/Tokyo"),
    "that of the machine of the server that ran SET": (
        ("USE CLUSTER c1", ZONE, "USE CLUSTER c2", "SET TIME ZONE LOCAL"),
        "America/Lima",
    ),
    "the default of the cluster that ran RESET": (
        ("USE CLUSTER c1", f"SET {TOKYO}", "USE CLUSTER c2", "RESET"),
        "Europe/Paris",
    ),
    "the default of the cluster that ran RESET of the zone": (
        ("USE CLUSTER c2", f"SET {TOKYO}", "USE CLUSTER c1", "RESET spark.sql.session.timeZone"),
        "Etc/UTC",
    ),
    "a zone after another one was taken back": (
        ("USE CLUSTER c2", "RESET", "SET TIME ZONE LOCAL", f"SET {TOKYO}"),
        "Asia/Tokyo",
    ),
}


@pytest.mark.parametrize(("script", "zone"), ZONES.values(), ids=list(ZONES))
@pytest.mark.parametrize("lost", [False, True])
def test_a_session_has_one_time_zone_in_clusters_of_several(
    script: tuple[str, ...], zone: str, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        proxied = Proxied({"use:database": "d1"})
        proxied.servers[C2].zone, proxied.servers[C2].machine = "Europe/Paris", "America/Lima"
        proxied.patch(monkeypatch)
        for sql in (*script, ZONE):
            await proxied.execute(sql)
        if lost:
            proxied.lose()
        for cluster in (C1, C2):
            await proxied.execute(f"USE CLUSTER {cluster}")
            assert await proxied.execute(ZONE) == ((zone,),)

    asyncio.run(scenario())


def test_a_zone_in_the_clients_map_is_that_of_all_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        proxied = Proxied({"set:hiveconf:spark.sql.session.timeZone": "Asia/Tokyo"})
        proxied.servers[C2].zone = "Europe/Paris"
        proxied.patch(monkeypatch)
        for cluster in (C2, C1):
            await proxied.execute(f"USE CLUSTER {cluster}")
            assert await proxied.execute(ZONE) == (("Asia/Tokyo",),)

    asyncio.run(scenario())


def test_no_statement_uses_objects_of_two_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        proxied = Proxied({"use:database": "d1"})
        proxied.patch(monkeypatch)
        for cluster, name in ((C1, "v"), (C2, "x")):
            await proxied.execute(f"USE CLUSTER {cluster}")
            await proxied.execute(f"CACHE TABLE {name} AS SELECT 'cached' AS c")
        await proxied.execute("USE CLUSTER")
        assert await proxied.execute("SELECT a.c FROM v a CROSS JOIN x b") == "CW106"
        assert await proxied.execute("SHOW VIEWS") == "CW106"
        assert await proxied.execute("SELECT * FROM x") == (("cached",),)
        assert await proxied.execute("ALTER VIEW v RENAME TO x") == "CW106"

    asyncio.run(scenario())


def test_a_computed_value_is_in_one_cluster_and_never_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        proxied = Proxied({"use:database": "d1"})
        proxied.patch(monkeypatch)
        await proxied.execute("DECLARE OR REPLACE VARIABLE x STRING DEFAULT 't1'")
        await proxied.execute("USE CLUSTER c2")
        await proxied.execute("SET VAR x = uuid()")
        assert await proxied.execute("SELECT x AS c") == (("uuid 1",),)
        await proxied.execute("USE CLUSTER c1")
        assert await proxied.execute("SELECT x AS c") == "CW106"
        assert await proxied.execute("SHOW VIEWS") == ()
        assert not await proxied.execute("DECLARE OR REPLACE VARIABLE y STRING DEFAULT 'w'")
        await proxied.execute("USE CLUSTER c2")
        proxied.lose()
        assert await proxied.execute("SELECT x AS c") == "CW203"
        assert await proxied.execute("SELECT y AS c") == (("w",),)
        assert await proxied.execute("DECLARE OR REPLACE VARIABLE x STRING DEFAULT 'w'") == ()
        assert await proxied.execute("SELECT x AS c") == (("w",),)
        assert proxied.store.computed == 1

    asyncio.run(scenario())


def test_a_function_that_another_session_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        one = Proxied({"use:database": "d1"})
        other = Proxied({"use:database": "d1"}, one.store, one.functions)
        one.patch(monkeypatch)
        await one.execute(f"CREATE {UPPER_F}")
        assert await one.execute("SELECT f('Ab') AS c") == (("AB",),)
        other.patch(monkeypatch)
        await other.execute("USE CLUSTER c2")
        await other.execute(f"CREATE OR REPLACE {LOWER_F}")
        one.patch(monkeypatch)
        assert await one.execute("SELECT f('Ab') AS c") == (("ab",),)

    asyncio.run(scenario())


def test_a_global_view_of_another_session_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        proxied = Proxied({"use:database": "d1"})
        proxied.patch(monkeypatch)
        assert await proxied.execute("SELECT * FROM global_temp.g") == "CW101"
        theirs = SparkSession(proxied.servers[C2], {"use:database": "d1"})
        theirs.execute("CREATE GLOBAL TEMPORARY VIEW g AS SELECT 'theirs' AS c")
        await proxied.execute("CREATE GLOBAL TEMPORARY VIEW g AS SELECT 'ours' AS c")
        assert await proxied.execute("SELECT * FROM global_temp.g") == (("ours",),)
        await proxied.execute("USE CLUSTER c2")
        assert await proxied.execute("SELECT * FROM global_temp.g") == "CW203"
        assert await proxied.execute("DROP VIEW global_temp.g") == ()
        assert theirs.execute("SELECT * FROM global_temp.g") == (("theirs",),)

    asyncio.run(scenario())
