"""The traces and lineage of a running proxy's statements."""

import asyncio
import sys

import pytest

from conf.errors import BadSetting
from conf.settings.settings import Settings
from conf.settings.telemetry import TelemetrySettings
from proxy.workers.worker import serve
from tests.proxy.fakes import FakeMetastore
from tests.proxy.running import Site, play
from tests.telemetry.openlineage_schema import problems
from tests.telemetry.receivers import attributes, receiver


@pytest.mark.slow
def test_statements_that_ended_are_sent_as_traces_and_lineage() -> None:
    async def scenario(site: Site) -> None:
        site.one.fails["INSERT INTO default.e SELECT bad"] = "no such column"
        client = await site.client("ann")
        operation = await client.operation("SELECT secret FROM default.e")
        await client.on("CloseOperation", operation)
        await client.execute("INSERT INTO default.e SELECT bad")
        await client.execute("SELECT * FROM default.e JOIN default.w")
        await client.operation("USE default")
        await asyncio.to_thread(there.await_events, 4)

    with receiver() as there:
        play(scenario, telemetry=TelemetrySettings(there.traces_url, there.lineage_url))
    assert [problem for event in there.events for problem in problems(event)] == []
    read, failed = there.events[1], there.events[3]
    assert [each["eventType"] for each in there.events] == ["START", "COMPLETE", "START", "FAIL"]
    assert [each["name"] for each in read["inputs"]] == ["default.e"]
    assert [each["name"] for each in failed["outputs"]] == ["default.e"]
    assert "no such column" in failed["run"]["facets"]["errorMessage"]["message"]
    tags = {each["key"]: each["value"] for each in read["run"]["facets"]["tags"]["tags"]}
    assert (tags["user"], tags["cluster"]) == ("ann", "east")

    insert = there.spans["INSERT"]
    assert insert.trace_id.hex() == failed["run"]["runId"].replace("-", "")
    sent = attributes(insert)
    assert sent["causeway.cluster"] == "east"
    assert sent["db.query.text"] == "INSERT INTO default.e SELECT bad"
    assert {"analyse", "decide", "execute"} <= set(there.spans)


@pytest.mark.slow
def test_statements_that_telemetry_servers_refuse_are_counted_and_run() -> None:
    async def scenario(site: Site) -> None:
        def dropped() -> float:
            samples = {name: value for name, _, value in site.admin.samples()}
            return samples["causeway_telemetry_dropped_total"]

        client = await site.client()
        for _ in range(3):
            assert await client.rows("SELECT * FROM default.e") == 1
            await client.execute("SELECT bad FROM default.e JOIN default.w")
        while not dropped():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert await client.rows("SELECT * FROM default.e") == 1
        assert dropped() > 0

    with receiver() as there:
        there.status = 400
        play(scenario, telemetry=TelemetrySettings(there.traces_url, there.lineage_url))


def test_without_the_libraries_the_error_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "proxy.operations.telemetry_thread", raising=False)
    monkeypatch.delitem(sys.modules, "telemetry.lineage", raising=False)
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    settings = Settings(telemetry=TelemetrySettings("http://127.0.0.1:1/v1/traces"))
    metastore = FakeMetastore({})
    with pytest.raises(BadSetting, match=r"pip install 'causeway\[telemetry\]'"):
        asyncio.run(serve(settings, metastore, metastore))
