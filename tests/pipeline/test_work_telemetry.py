"""Copies and instances as OpenTelemetry and OpenLineage get them."""

import time
from dataclasses import replace
from uuid import UUID

import pytest

from conf.logs import batch_thread
from conf.settings.telemetry import TelemetrySettings
from pipeline.work_telemetry import WorkTelemetry, run_of, trace_of
from telemetry.traces import Trace, TraceSender
from tests.database.history.work_records import COPY, INSTANCE
from tests.telemetry.openlineage_schema import problems
from tests.telemetry.receivers import attributes, receiver

COPIED = replace(COPY, trace=INSTANCE.id, instance=INSTANCE.id)
ALONE = replace(COPY, trace=COPY.id, entity="")
PROCESS = replace(
    INSTANCE,
    kind="process",
    name="summary",
    action="process",
    source="",
    inputs=("sales.orders", "hdfs://east:8020/logs/2026-01-31"),
    outputs=("sales.daily",),
)


def test_copies_and_instances_are_sent_from_a_thread() -> None:
    with receiver() as there:
        settings = TelemetrySettings(there.traces_url, there.lineage_url)
        thread = WorkTelemetry(settings, "meta:9083", "here")
        thread.start()
        thread.put(COPIED)
        thread.put(INSTANCE)
        thread.put(PROCESS)
        thread.close()
        there.await_events(4)
    copy = there.spans["copy sales.orders east west"]
    instance = there.spans["replicate feed orders"]
    assert copy.trace_id.hex() == instance.trace_id.hex() == INSTANCE.id
    assert copy.parent_span_id == instance.span_id
    assert not instance.parent_span_id
    sent = attributes(copy)
    assert (sent["causeway.source"], sent["causeway.cluster"]) == ("east", "west")
    assert (sent["causeway.bytes"], sent["causeway.sent"]) == (700, 650)
    assert copy.end_time_unix_nano - copy.start_time_unix_nano == 3_500_000_000
    assert thread.dropped == 0

    assert [problem for event in there.events for problem in problems(event)] == []
    started, copied, _, processed = there.events
    assert (started["eventType"], copied["eventType"]) == ("START", "COMPLETE")
    assert copied["run"]["runId"] == str(UUID(COPY.id))
    assert copied["job"]["name"] == "copy.sales.orders.east-west"
    assert [(each["namespace"], each["name"]) for each in copied["inputs"]] == [
        ("hive://meta:9083", "sales.orders")
    ]
    (output,) = copied["outputs"]
    assert (output["namespace"], output["name"]) == (
        "hdfs://west:8020",
        "/causeway-copies/sales.db/orders",
    )
    (link,) = output["facets"]["symlinks"]["identifiers"]
    assert link == {"namespace": "hive://meta:9083", "name": "sales.orders", "type": "TABLE"}
    parent = copied["run"]["facets"]["parent"]
    assert parent["run"]["runId"] == str(UUID(INSTANCE.id))
    assert parent["job"]["name"] == "feed.orders"
    assert [(each["namespace"], each["name"]) for each in processed["inputs"]] == [
        ("hive://meta:9083", "sales.orders"),
        ("hdfs://east:8020", "/logs/2026-01-31"),
    ]
    assert [each["name"] for each in processed["outputs"]] == ["sales.daily"]
    nominal = processed["run"]["facets"]["nominalTime"]["nominalStartTime"]
    assert nominal == "1970-01-12T13:46:40.000Z"


def test_a_copy_without_statement_or_instance_has_a_trace_of_its_own() -> None:
    trace = trace_of(ALONE)
    assert (trace.id, trace.part) == (COPY.id, "")
    run = run_of(ALONE)
    assert run is not None
    assert run.parent is None


def test_a_failure_is_an_error() -> None:
    failed = replace(ALONE, error="no space", copied=0)
    assert trace_of(failed).error == "no space"
    run = run_of(failed)
    assert run is not None
    assert (run.outcome.value, run.error) == ("FAIL", "no space")
    retried = run_of(replace(PROCESS, state="RETRIED", detail="no space"))
    assert retried is not None
    assert retried.outcome.value == "FAIL"
    killed = run_of(replace(PROCESS, state="KILLED"))
    assert killed is not None
    assert killed.outcome.value == "ABORT"


def test_instances_that_copy_or_never_ran_have_no_run_of_their_own() -> None:
    assert run_of(INSTANCE) is None
    assert run_of(replace(PROCESS, started=None)) is None


def test_a_copy_of_directories_is_named_by_its_file_systems() -> None:
    paths = replace(
        ALONE,
        table="hdfs://east:8020/logs/d1",
        target_table="hdfs://west:8020/copy/d1",
        location="hdfs://west:8020/copy/d1",
    )
    with receiver() as there:
        thread = WorkTelemetry(TelemetrySettings(None, there.lineage_url), "meta:9083", "here")
        thread.start()
        thread.put(paths)
        thread.close()
        there.await_events(2)
    (source,), (target,) = there.events[0]["inputs"], there.events[0]["outputs"]
    assert (source["namespace"], source["name"]) == ("hdfs://east:8020", "/logs/d1")
    assert (target["namespace"], target["name"]) == ("hdfs://west:8020", "/copy/d1")
    assert "symlinks" not in target["facets"]


def test_a_part_has_phases_of_its_own() -> None:
    whole, part = Trace(COPY.id, "whole", 1.0, 1.0), Trace(COPY.id, "part", 1.0, 1.0, part="x")
    with receiver() as there:
        assert TraceSender(there.traces_url, "here").send([whole, part])
    assert there.spans["part"].parent_span_id == there.spans["whole"].span_id


def test_a_server_that_takes_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_thread, "MAX_WAITING", 10)
    with receiver() as there:
        there.status = 400
        thread = WorkTelemetry(TelemetrySettings(there.traces_url, None), "m", "here")
        thread.start()
        for _ in range(30):
            thread.put(COPY)
        thread.close()
        while thread.waiting:
            time.sleep(0.01)
    assert thread.dropped == 30
