"""Traces and lineage as a collector and a server of OpenLineage receive them."""

from dataclasses import replace
from uuid import UUID

import pytest

from telemetry.lineage import DatasetLocation, LineageRun, LineageSender, RunOutcome
from telemetry.traces import Trace, TraceSender
from tests.telemetry.openlineage_schema import problems
from tests.telemetry.receivers import attributes, receiver

ID = "00112233445566778899aabbccddeeff"
RUN = LineageRun(
    ID,
    "sql.1",
    "COMMAND",
    1_700_000_000.5,
    1_700_000_003.0,
    RunOutcome.FAIL,
    inputs=["d.a", "d.b"],
    outputs=["d.c"],
    sql="INSERT INTO d.c ..",
    error="no space",
    tags={"cluster": "east", "code": ""},
)


def test_phases_follow_each_other_below_the_span_of_their_statement() -> None:
    phases = {"analyse": 0.5, "execute": 2.0}
    trace = Trace(ID, "SELECT", 1_700_000_000.0, 3.0, phases, {"rows": 7}, "no space")
    with receiver() as there:
        assert TraceSender(there.traces_url, "here").send([trace])
    top, first, second = (there.spans[name] for name in ("SELECT", "analyse", "execute"))
    assert top.trace_id.hex() == first.trace_id.hex() == second.trace_id.hex() == ID
    assert not top.parent_span_id
    assert first.parent_span_id == second.parent_span_id == top.span_id
    assert len({top.span_id, first.span_id, second.span_id}) == 3
    assert top.end_time_unix_nano - top.start_time_unix_nano == 3_000_000_000
    assert first.start_time_unix_nano == top.start_time_unix_nano
    assert second.start_time_unix_nano == first.end_time_unix_nano
    assert second.end_time_unix_nano - second.start_time_unix_nano == 2_000_000_000
    assert attributes(top) == {"rows": 7}
    assert top.status.message == "no space"


def test_a_run_has_a_start_and_an_end_with_its_tables() -> None:
    with receiver() as there:
        assert LineageSender(there.lineage_url, "secret", "ours", "meta:9083").send([RUN]) == 0
    start, end = there.events
    assert there.tokens == {"Bearer secret"}
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL")
    assert start["eventTime"] == "2023-11-14T22:13:20.500Z"
    assert end["eventTime"] == "2023-11-14T22:13:23.000Z"
    assert start["run"]["runId"] == end["run"]["runId"] == str(UUID(ID))
    assert (end["job"]["namespace"], end["job"]["name"]) == ("ours", "sql.1")
    assert end["job"]["facets"]["sql"]["query"] == RUN.sql
    assert end["job"]["facets"]["jobType"]["jobType"] == "COMMAND"
    assert [(each["namespace"], each["name"]) for each in end["inputs"]] == [
        ("hive://meta:9083", "d.a"),
        ("hive://meta:9083", "d.b"),
    ]
    assert [each["name"] for each in end["outputs"]] == ["d.c"]
    assert end["run"]["facets"]["errorMessage"]["message"] == "no space"
    assert "errorMessage" not in start["run"]["facets"]
    tags = {each["key"]: each["value"] for each in end["run"]["facets"]["tags"]["tags"]}
    assert tags["cluster"] == "east"
    assert "code" not in tags


@pytest.mark.parametrize(
    "run",
    [
        RUN,
        replace(RUN, outcome=RunOutcome.COMPLETE, sql="", error="", tags={}),
        replace(
            RUN,
            inputs=[DatasetLocation("hdfs://east:8020/logs/d1/")],
            outputs=[DatasetLocation("s3a://lake/copies", "d.c"), DatasetLocation("/local")],
            parent=(ID, "feed.logs"),
            nominal=1_700_000_000.0,
        ),
    ],
)
def test_events_follow_the_specification(run: LineageRun) -> None:
    with receiver() as there:
        assert LineageSender(there.lineage_url, "", "ours", "meta:9083").send([run]) == 0
    assert len(there.events) == 2
    for event in there.events:
        assert problems(event) == []
        facets = [*event["run"]["facets"].values(), *event["job"]["facets"].values()]
        assert {each["_producer"] for each in facets} == {"urn:causeway"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("eventType",), "STARTED"),
        (("eventTime",), "yesterday"),
        (("run", "runId"), "7"),
        (("run", "facets", "tags", "tags"), [{"key": "a", "value": 7}]),
        (("job", "facets", "jobType", "_schemaURL"), "https://example.org/JobType.json"),
        (("job", "name"), None),
        (("job", "facets", "sql", "text"), "SELECT 1"),
        (("inputs",), {"name": "d.a"}),
    ],
)
def test_the_check_of_events_finds_errors(path: tuple[str, ...], value: object) -> None:
    with receiver() as there:
        LineageSender(there.lineage_url, "", "ours", "meta:9083").send([RUN])
    event = there.events[1]
    place = event
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    assert len(problems(event)) == 1


def test_runs_and_traces_that_a_server_refuses_are_counted() -> None:
    with receiver() as there:
        there.status = 400
        assert not TraceSender(there.traces_url, "here").send([Trace(ID, "SELECT", 1.0, 1.0)])
        assert LineageSender(there.lineage_url, "", "ours", "m").send([RUN, RUN]) == 2
    assert LineageSender(there.lineage_url, "", "ours", "m").send([RUN]) == 1
