"""`causeway serve` with several workers and a fake Thrift Server: clients see one server."""

import asyncio
import json
from pathlib import Path

import pytest

from conf.names import TableRef
from metastore.client.types import Table
from tests.cli.server.served import Served, play, worker_of
from tests.metastore.writable import WritableMetastore
from tests.proxy.fakes import column_length, error_of, until

pytestmark = pytest.mark.slow


def test_any_worker_accepts_calls_of_a_session(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        one, other = await there.one_of_each("ann")
        assert (worker_of(one), worker_of(other)) == (0, 1)
        one.session = other.session
        assert await one.rows("SELECT a") == 1
        operation = await one.operation("SELECT b")
        assert column_length(await other.on("FetchResults", operation)) == 1
        there.cluster.counts["SELECT many"], there.cluster.row = 5_000, b"y" * 1_000
        many = await other.operation("SELECT many")
        assert column_length(await one.on("FetchResults", many, rows=5_000)) == 5_000
        assert len(await there.ask("GET /v1/sessions")) == 2

    play(tmp_path, scenario)


def test_a_handle_of_another_user_is_unknown_in_every_worker(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        for ann in await there.one_of_each("ann"):
            bob = await there.client("bob")
            bob.session = ann.session
            failure = error_of(await bob.execute("SELECT 1"))
            assert failure is not None
            assert failure.message.startswith("Invalid SessionHandle")

    play(tmp_path, scenario)


CLUSTERS = """
hive.default.cluster.name = "one"
hive.metastore.uris = "thrift://{metastore}"
[hive.cluster.properties.one]
FileSystem = "hdfs://one:8020"
JobTracker = "UPSTREAM"
"""


def test_writes_of_one_table_wait_for_each_other_in_all_workers(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        inserts = [f"INSERT INTO t VALUES ({number})" for number in range(4)]
        there.cluster.sleeping.update(inserts)

        def sent() -> list[str]:
            return [each for each in there.cluster.statements if each in inserts]

        for client, sql in zip(await there.one_of_each("ann") * 2, inserts, strict=True):
            await client.operation(sql, run_async=True)
        for count in range(1, 5):
            await until(lambda: len(sent()) >= count)  # noqa: B023
            await asyncio.sleep(0.1)
            assert len(sent()) == count
            for operation in there.cluster.operations.values():
                if operation.sql == sent()[-1]:
                    there.cluster.end(operation)
        assert sorted(sent()) == inserts

    metastore = WritableMetastore()
    parameters = {"spark.sql.sources.provider": "parquet"}
    ref = TableRef("default", "t")
    metastore.add(
        Table.make(ref, [("a", "int")], location="hdfs://one:8020/t", parameters=parameters)
    )
    try:
        play(tmp_path, scenario, CLUSTERS.format(metastore=metastore.endpoint))
    finally:
        metastore.stop()


def test_the_log_is_json_with_the_ids_where_the_setting_says_so(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        for client in await there.one_of_each("ann"):
            assert await client.rows("SELECT 1") == 1
            client.close()

    play(tmp_path, scenario, "log.format = 'json'\n")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    opened = [line for line in lines if line["message"] == "session opened"]
    assert {line["worker"] for line in opened} == {"0", "1"}
    assert len({line["session"] for line in opened}) == len(opened)
    assert all((line["user"], line["level"]) == ("ann", "INFO") for line in opened)
    assert all(line["connection"] and line["address"] == "127.0.0.1" for line in opened)
