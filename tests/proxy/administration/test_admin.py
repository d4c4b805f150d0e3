"""Requests of operators: sessions, users, maintenance, metrics, reloads, explanations."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.names import ClusterName, TableRef
from conf.settings.operating import Operating
from conf.topology import Endpoint
from proxy.errors import NotFound, UnknownCluster
from proxy.operations.metrics import text
from tests.proxy.fakes import error_of, until
from tests.proxy.running import Site, play, refusal, topology


def test_sessions_and_statements_are_listed_and_killed() -> None:
    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT 'x' AS password FROM e")
        client = await site.client()
        await client.operation("SELECT 'x' AS password FROM e", run_async=True)
        await until(lambda: site.admin.statements()[0]["state"] != "PENDING")
        assert len(site.one.operations) == 1
        (statement,) = site.admin.statements()
        assert statement["reads"] == ("default.e",)
        assert (statement["rule"], statement["cluster"]) == ("inputs", "east")
        assert statement["because"] == "east is a primary cluster of an input and has them all"
        (considered,) = statement["considered"]
        assert considered == {"cluster": "east", "rule": "inputs", "chosen": True, "obstacles": []}
        assert (statement["user"], statement["address"]) == ("ann", "127.0.0.1")
        assert statement["state"] == "RUNNING"
        (session,) = site.admin.sessions()
        assert session["clusters"] == {"east": str(site.one.endpoint)}
        assert (session["running"], session["operations"]) == (1, 1)
        assert await site.admin.kill_statement(statement["statement"]) == {"killed": 1}
        await until(lambda: site.admin.statements()[0]["state"] == "CANCELED")
        assert await site.admin.kill_statement(statement["statement"]) == {"killed": 0}
        assert await client.rows("SELECT 1") == 1
        assert await site.admin.kill_session(session["session"]) == {"killed": 1}
        assert site.admin.sessions() == []
        assert "Invalid SessionHandle" in await refusal(client)
        await until(lambda: not site.one.sessions)
        assert await site.admin.kill_session(session["session"]) == {"killed": 0}

    play(scenario)


def test_a_blocked_user_has_no_sessions_and_opens_none() -> None:
    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT * FROM e")
        client, other = await site.client(), await site.client("bob")
        await client.operation("SELECT * FROM e", run_async=True)
        await until(lambda: len(site.one.operations) == 1)
        assert await site.admin.block("ANN") == {"closed": 1}
        assert "Invalid SessionHandle" in await refusal(client)
        assert [each["user"] for each in site.admin.sessions()] == ["bob"]
        failure = error_of(await client.open())
        assert failure is not None
        assert "[CW217] The user ann is blocked." in failure.message
        assert await other.rows("SELECT 1") == 1
        assert site.admin.admission() == {"maintenance": None, "blocked": ["ANN"]}
        assert await site.admin.unblock("ann") == {"unblocked": 1}
        assert error_of(await client.open()) is None
        with pytest.raises(NotFound, match="'ann' is not blocked"):
            await site.admin.unblock("ann")

    play(scenario)


def test_in_maintenance_running_statements_continue_and_no_others_begin() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        running = await client.operation("SELECT * FROM e", run_async=True)
        assert "running" in await site.admin.begin_maintenance("Back at noon.")
        assert "[CW218] No new statements are accepted: Back at noon." in await refusal(client)
        await client.on("FetchResults", running)
        assert error_of(await client.open()) is None
        assert site.admin.admission()["maintenance"] == "Back at noon."
        await site.admin.end_maintenance("-")
        assert await refusal(client) == ""

    play(scenario)


def test_metrics_count_statements_errors_and_rows() -> None:
    async def scenario(site: Site) -> None:
        site.one.fails["SELECT * FROM w"] = "no"
        client = await site.client()
        assert await client.rows("SELECT * FROM e") == 1
        await client.execute("SELECT * FROM e JOIN w")
        site.metastore.lagging = {(TableRef("default", "e"), ClusterName("west")): None}
        result = text(site.admin.samples()).splitlines()
        assert 'causeway_copy_lag_seconds{cluster="west",table="default.e"} 0.0' in result
        assert 'causeway_decisions_total{cluster="east",rule="inputs"} 1.0' in result
        assert 'causeway_errors_total{code="CW104"} 1.0' in result
        assert 'causeway_statements_total{state="FINISHED"} 1.0' in result
        assert 'causeway_phase_seconds_count{phase="execute"} 1.0' in result
        assert "causeway_sent_rows_total 1.0" in result
        assert "causeway_sessions 1.0" in result
        assert (
            f'causeway_endpoint_up{{cluster="east",endpoint="{site.one.endpoint}"}} 1.0' in result
        )

    play(scenario)


def test_reload_changes_clusters_and_limits_under_open_sessions() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        assert await client.rows("SELECT 1") == 1
        assert len(site.one.sessions) == 1
        site.settings = replace(
            site.settings,
            topology=topology(site.two, site.west),
            operating=replace(site.settings.operating, sessions_per_user=2),
            listen=Endpoint("127.0.0.1", 7),
        )
        result = site.admin.reload()
        assert result["changed"] == [
            "JobTracker of east",
            "hive.server2.limit.connections.per.user",
        ]
        assert result["restart"] == ["hive.server2.thrift.bind.host and hive.server2.thrift.port"]
        assert await client.rows("SELECT 2") == 1
        assert "SELECT 2" in site.one.statements  # a session stays where it is
        assert await (await site.client()).rows("SELECT 3") == 1
        assert site.two.statements == ["SELECT 3"]
        third = await site.client(opened=False)
        failure = error_of(await third.open())
        assert failure is not None
        assert "[CW207]" in failure.message
        site.settings = replace(site.settings, topology=topology(site.two))
        assert site.admin.reload()["changed"] == ["west removed"]
        assert "[CW201] There is no cluster west" in await refusal(client, "SELECT * FROM w")

    play(scenario)


def test_a_reload_of_unreadable_settings_changes_nothing() -> None:
    async def scenario(site: Site) -> None:
        site.unreadable = BadSetting("no")
        with pytest.raises(BadSetting):
            site.admin.reload()
        site.admin.reload_at_signal()
        assert await (await site.client()).rows("SELECT * FROM w") == 1

    play(scenario)


def test_an_explained_primary_has_the_size_of_its_statistics() -> None:
    async def scenario(site: Site) -> None:
        site.metastore.sizes = {"default.e": 18_388}
        found = await site.admin.run_action("explain", "sql=SELECT+*+FROM+e+JOIN+w")
        sizes = {(each["table"], each["cluster"]): each["bytes"] for each in found["tables"]}
        assert sizes == {
            ("default.e", "east"): 18_388,
            ("default.e", "west"): None,
            ("default.w", "east"): None,
            ("default.w", "west"): None,
        }

    play(scenario)


def test_a_statement_is_explained_without_running_it() -> None:
    async def scenario(site: Site) -> None:
        found = await site.admin.run_action("explain", "sql=SELECT+*+FROM+e+JOIN+w")
        assert (found["decision"], found["code"]) == ("refuse", "CW104")
        assert [(each["cluster"], each["rule"]) for each in found["considered"]] == [
            ("east", "inputs"),
            ("west", "inputs"),
        ]
        ((obstacle,), _) = (each["obstacles"] for each in found["considered"])
        assert (obstacle["table"], obstacle["kind"]) == ("default.w", "absent")
        states = {(each["table"], each["cluster"]): each["state"] for each in found["tables"]}
        assert states == {
            ("default.e", "east"): "primary",
            ("default.e", "west"): "absent",
            ("default.w", "east"): "absent",
            ("default.w", "west"): "primary",
        }
        pinned = await site.admin.run_action(
            "explain", "sql=SELECT+*+FROM+e&cluster=west&database=default"
        )
        assert pinned["code"] == "CW105"
        own = await site.admin.run_action("explain", "sql=SHOW+CLUSTERS")
        assert (own["decision"], own["tables"]) == ("answer", [])
        with pytest.raises(NotFound):
            await site.admin.run_action("explain", "")
        with pytest.raises(UnknownCluster):
            await site.admin.run_action("explain", "sql=SELECT+1&cluster=north")
        assert json.loads(json.dumps(found))["reads"] == ["default.e", "default.w"]
        assert site.one.log == site.two.log == site.west.log == []
        assert site.admin.statements() == []

    play(scenario)


def test_the_lengths_of_queues_are_metrics(tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        for number in range(2):
            sql = f"INSERT INTO default.w SELECT {number}"
            site.west.sleeping.add(sql)
            client = await site.client()
            await client.operation(sql, run_async=True)
        waiting = ("causeway_queue", ("write",), 1)
        await until(lambda: waiting in site.admin.samples())
        samples = site.admin.samples()
        queues = {labels[0] for name, labels, _ in samples if name == "causeway_queue"}
        assert queues == {"write", "statement", "server", "analysis", "audit", "history"}
        opening = [value for name, _, value in samples if name == "causeway_endpoint_opening"]
        assert opening == [0, 0, 0]

    store = str(tmp_path / "history.db")
    play(scenario, operating=Operating(audit_file=tmp_path / "audit", history_store=store))
