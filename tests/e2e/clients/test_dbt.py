"""The commands of a dbt-spark project do the same through Causeway as directly."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.stack.stack import Stack
from conf.topology import Endpoint
from tests.e2e.conftest import C1, C2, Sql, Tables, server
from tests.e2e.support.environments import environment, outside_variables

pytestmark = [pytest.mark.e2e, pytest.mark.clients, pytest.mark.timeout(1800)]

_PROJECT = Path(__file__).parent / "dbt"
_PROFILE = """
causeway:
  target: it
  outputs:
    it: {{type: spark, method: thrift, host: {host}, port: {port}, user: ann, schema: {schema},
         threads: 4, poll_interval: 1, connect_retries: 0}}
"""
# They fail directly: PyHive cannot fetch from a Thrift Server's row set without columns.
_NO_UNIT_TESTS = ("--exclude", "test_type:unit")
_COMMANDS = (
    ("debug",),
    ("seed",),
    ("run",),
    ("run", "--select", "by_day", "appended"),  # incremental models, for the second time
    ("test", *_NO_UNIT_TESTS),
    ("source", "freshness"),
    ("show", "--select", "totals"),
    ("docs", "generate"),
    ("build", "--full-refresh", *_NO_UNIT_TESTS, "no_negative_amounts", "failing"),
)
_FAIL = (("run",), ("test", *_NO_UNIT_TESTS))
_ROWS = {
    "orders": "id",
    "customers_of_orders": "id",
    "totals": "customer",
    "by_day": "day, customer",
    "appended": "id, again",
    "visitors": "customer",
}
# What a command writes, and where in it.
_WRITTEN = {"run_results": "results", "sources": "results", "catalog": "nodes"}
# What has the same value in each run.
_COMPARED = ("status", "failures", "adapter_response", "compiled_code", "message")
_NUMBERED = re.compile(r"#\d+L?")
_STACK = re.compile(r"\s+at [\w.$]+\(.*", re.DOTALL)
_NO_REASON = "Query failed with status: ERROR_STATE"  # a Thrift Server soon after a failure


@dataclass(frozen=True, slots=True)
class Dbt:
    """A copy of the project for one server. Its tables are in the database `schema`, its source in
    the database `raw`."""

    folder: Path
    endpoint: Endpoint
    schema: str
    raw: str

    def __post_init__(self) -> None:
        shutil.copytree(_PROJECT, self.folder)
        endpoint = self.endpoint
        profile = _PROFILE.format(host=endpoint.host, port=endpoint.port, schema=self.schema)
        (self.folder / "profiles.yml").write_text(profile)

    def run(self, *words: str) -> dict[str, Any]:
        """The command's exit status, the table that it printed, and what it wrote by name of the
        file and of the object, without times; `schema` stands for the database's name."""
        done = subprocess.run(
            [str(environment("dbt") / "dbt"), *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env=outside_variables() | {"RAW_SCHEMA": self.raw},
        )
        shown = sorted(line for line in done.stdout.splitlines() if line.startswith("|"))
        answer: dict[str, Any] = {"status": done.returncode, "shown": shown}
        for name, part in _WRITTEN.items():
            path = self.folder / "target" / f"{name}.json"
            if path.exists():
                found = json.loads(path.read_text().replace(self.schema, "schema"))[part]
                answer[name] = _columns(found) if part == "nodes" else _results(found)
                path.unlink()
        return answer


def _columns(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The catalog without sizes, which differ with the files."""
    return {
        name: {key: each[key] for key in ("metadata", "columns")} for name, each in found.items()
    }


def _results(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    results = {each["unique_id"]: {key: each.get(key) for key in _COMPARED} for each in found}
    for each in results.values():
        each["message"] = _STACK.sub("", _NUMBERED.sub("#", str(each["message"])))
    return results


def _differences(direct: dict[str, Any], proxied: dict[str, Any]) -> Iterator[str]:
    """The differences of two answers to a command, one a line."""
    for name, result in direct.get("run_results", {}).items():
        if _NO_REASON in result["message"]:
            result["message"] = proxied["run_results"][name]["message"]
    for part in direct.keys() | proxied.keys():
        ours, theirs = proxied.get(part), direct.get(part)
        if not isinstance(ours, dict) or not isinstance(theirs, dict):
            ours, theirs = {"": ours}, {"": theirs}
        for name in ours.keys() | theirs.keys():
            if ours.get(name) != theirs.get(name):
                yield f"{part} {name}: {theirs.get(name)} directly, {ours.get(name)}"


def test_commands_do_the_same_as_directly(stack: Stack, sql: Sql, tmp_path: Path) -> None:
    environment("dbt")
    sql(
        "CREATE DATABASE dbt_raw",
        "CREATE TABLE dbt_raw.visits USING parquet AS SELECT *, current_timestamp() AS seen"
        " FROM VALUES (1), (1), (2) AS t(customer)",
    )
    schemas = ("dbt_directly", "dbt_by_proxy")
    for schema in schemas:
        # Where it is missing, dbt needs the reason that a Thrift Server does not always give.
        sql(f"CREATE DATABASE {schema}", f"CREATE DATABASE {schema}_dbt_test__audit")
    ways = [
        Dbt(tmp_path / schema, server(stack, cluster), schema, "dbt_raw")
        for schema, cluster in zip(schemas, (C1, None), strict=True)
    ]
    differences: list[str] = []
    for command in _COMMANDS:
        with ThreadPoolExecutor(2) as pool:
            running = [pool.submit(way.run, *command) for way in ways]
        direct, proxied = [each.result() for each in running]
        differences += (f"{command}: {line}" for line in _differences(direct, proxied))
        if proxied["status"] != (1 if command in _FAIL else 0):
            differences.append(f"{command}: status {proxied['status']}")
        if command == ("docs", "generate"):
            assert len(proxied["catalog"]) > len(_ROWS)
    assert not differences, "\n".join(differences)
    assert ways[1].run("test", "--select", "test_type:unit")["status"] == 0
    for table, order in _ROWS.items():
        query = f"SELECT * FROM {{}}.{table} ORDER BY {order}"
        rows = [sql(query.format(schema)) for schema in schemas]
        assert rows[0]
        assert rows[0] == rows[1], table


def test_a_model_is_built_where_its_source_is(
    stack: Stack, sql: Sql, tables: Tables, tmp_path: Path
) -> None:
    environment("dbt")
    sql(
        f"USE CLUSTER {C2}",
        "CREATE DATABASE dbt_raw_2",
        "CREATE TABLE dbt_raw_2.visits USING parquet AS SELECT 1 AS customer",
    )
    dbt = Dbt(tmp_path / "dbt", server(stack, None), "dbt_elsewhere", "dbt_raw_2")
    for _ in range(2):
        assert dbt.run("run", "--select", "visitors")["status"] == 0
    assert sql("SELECT * FROM dbt_elsewhere.visitors") == [(1, 1)]
    assert tables.location("dbt_elsewhere.visitors").is_relative_to(stack.layout.warehouse(C2))
