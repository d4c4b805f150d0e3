"""Whether a Spark application has ended, as YARN and Spark's master say it."""

import json
from typing import Any

import pytest

from conf.names import ClusterName
from conf.topology import Cluster
from metastore.client.applications import SETTLED, has_ended
from tests.applications import answering, of_master, of_yarn

NOW = 1_795_752_400.0
APP = "application_1_0001"
YARN, MASTER = f"http://rm/ws/v1/cluster/apps/{APP}", "http://m/json/"
BOTH = Cluster(ClusterName("c1"), "hdfs://c1", (), ("http://rm",), ("http://m",))


def ended(documents: dict[str, Any], application: str = APP) -> bool:
    def fetch(url: str) -> bytes:
        found = documents.get(url)
        if found is None:
            raise OSError("404")
        return found if isinstance(found, bytes) else json.dumps(found).encode()

    return has_ended([BOTH], application, fetch, NOW)


@pytest.mark.parametrize("state", ["FINISHED", "FAILED", "KILLED"])
def test_one_that_ended_a_minute_ago(state: str) -> None:
    assert ended({YARN: of_yarn(APP, state, NOW - SETTLED)})
    assert not ended({YARN: of_yarn(APP, state, NOW - SETTLED + 1)})
    assert ended({MASTER: of_master(APP, state, NOW - 90, 90 - SETTLED)})
    assert not ended({MASTER: of_master(APP, state, NOW - 90, 91 - SETTLED)})


@pytest.mark.parametrize("state", ["NEW", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHING"])
def test_one_that_runs(state: str) -> None:
    assert not ended({YARN: of_yarn(APP, state, 0)})
    assert not ended({YARN: of_yarn(APP, state, NOW - 1000)})
    assert not ended({MASTER: of_master(APP, "RUNNING", NOW - 1000, 100)})


@pytest.mark.parametrize(
    "documents",
    [
        {},
        {YARN: of_yarn("application_1_0002", "FINISHED", NOW - 1000)},
        {MASTER: of_master("app-1", "FINISHED", NOW - 1000, 100)},
        {YARN: b"<html>", MASTER: b"\xff"},
        {YARN: [], MASTER: {"completedapps": {"id": APP}}},
        {YARN: {"app": []}, MASTER: {"completedapps": ["x", {"id": APP}]}},
        {YARN: {"app": {"id": APP, "state": "FINISHED", "finishedTime": "1"}}},
        {YARN: {"app": {"id": APP, "state": "FINISHED"}}},
        {YARN: b"[" * 100_000},
    ],
)
def test_an_application_whose_end_is_unknown(documents: dict[str, Any]) -> None:
    assert not ended(documents)


def test_a_name_is_no_part_of_a_path() -> None:
    assert not ended({"http://rm/ws/v1/cluster/apps/../info": {"app": {}}}, "../info")


def test_over_http() -> None:
    documents: dict[str, Any] = {"/json/": of_master(APP, "FINISHED", 0, 1)}
    with answering(documents) as url:
        cluster = Cluster(ClusterName("c1"), "hdfs://c1", (), (url,), (url,))
        assert has_ended([cluster], APP)
        documents.clear()
        assert not has_ended([cluster], APP)
    assert not has_ended([cluster], APP)
