"""A writer past the proxy that died: its marks go once its cluster says that it has ended."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conf.names import ClusterName
from conf.placement import Copy, Placement, read_placement
from conf.topology import Cluster, Endpoint, Topology
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from metastore.placement.assign import end_writes
from metastore.placement.placement_store import PlacementStore
from metastore.view.server import ended_applications
from tests.applications import answering, of_master, of_yarn
from tests.metastore.view.server.view_calls import AWAY, HOME, REF, placed, table
from tests.metastore.writable import C1, C2, WritableMetastore, views
from thriftcodec.values import LIST, STRING, Struct, strings

APP = "app-1"


@pytest.fixture
def applications() -> dict[str, Any]:
    """What the cluster says of its applications."""
    return {}


@pytest.fixture
def view(
    hms: WritableMetastore, applications: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Endpoint]:
    monkeypatch.setattr(ended_applications, "EVERY", 0.05)
    with answering(applications) as url:
        first = Cluster(ClusterName(C1), "hdfs://c1:8020", (), (url,), (url,))
        other = Cluster(ClusterName(C2), "hdfs://c2:8020", ())
        with views(hms, topology=Topology({C1: first, C2: other}, C1)) as listening:
            yield listening[C1]


def dies(view: Endpoint, application: str = APP, write_id: str = "w") -> None:
    """A guard reports a write, and no other one follows."""
    arguments = {1: (STRING, REF.db), 2: (STRING, REF.name), 4: (LIST, strings([HOME]))}
    arguments |= {6: (STRING, write_id), 8: (STRING, "a job"), 9: (STRING, application)}
    with HmsClient((view,), 60.0) as guard:
        guard.call("causeway_write", Struct(arguments))


def now(hms: WritableMetastore) -> Placement:
    return read_placement(Table(hms.tables[REF]).parameters, C1)


def becomes(found: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not found() and time.monotonic() < end:
        time.sleep(0.02)
    return found()


@pytest.mark.parametrize(
    "answer",
    [
        {"/json/": of_master(APP, "FINISHED", 0, 1)},
        {f"/ws/v1/cluster/apps/{APP}": of_yarn(APP, "KILLED", 1)},
    ],
)
def test_the_mark_goes_and_copies_made_before_are_stale(
    hms: WritableMetastore, view: Endpoint, applications: dict[str, Any], answer: dict[str, Any]
) -> None:
    hms.add(table(placed()))
    before = now(hms).version
    dies(view)
    (mark,) = now(hms).open
    assert (mark.id, mark.by, mark.application) == ("w", "a job", APP)
    time.sleep(0.3)
    assert now(hms).writing
    applications.update(answer)
    assert becomes(lambda: not now(hms).writing)
    assert now(hms).version != before


def test_copies_made_after_an_operator_removed_the_mark_stay_fresh(
    hms: WritableMetastore, view: Endpoint, applications: dict[str, Any]
) -> None:
    hms.add(table(placed()))
    dies(view)
    with HmsClient((hms.endpoint,), 60.0) as client:
        store = PlacementStore(client, C1)
        end_writes(store, REF)
        store.change_table(REF, lambda old: old.with_copy(Copy(C2, AWAY, old.version)))
    applications["/json/"] = of_master(APP, "FAILED", 0, 1)
    time.sleep(0.4)
    placement = now(hms)
    assert placement.is_fresh(placement.copies[0])


def test_others_stay(hms: WritableMetastore, view: Endpoint, applications: dict[str, Any]) -> None:
    """A Spark that runs, one that its cluster does not know, one of a guard without ids."""
    hms.add(table(placed()))
    applications["/json/"] = of_master(APP, "RUNNING", 0, 1)
    for write_id, application in (("a", APP), ("b", "app-2"), ("c", "")):
        dies(view, application, write_id)
    time.sleep(0.4)
    assert [each.id for each in now(hms).open] == ["a", "b", "c"]


def test_a_writer_with_an_open_connection_is_not_dead(
    hms: WritableMetastore, view: Endpoint, applications: dict[str, Any]
) -> None:
    hms.add(table(placed()))
    applications["/json/"] = of_master(APP, "FINISHED", 0, 1)
    arguments = {1: (STRING, REF.db), 2: (STRING, REF.name), 4: (LIST, strings([HOME]))}
    arguments |= {6: (STRING, "w"), 8: (STRING, "a job"), 9: (STRING, APP)}
    with HmsClient((view,), 60.0) as guard:
        guard.call("causeway_write", Struct(arguments))
        time.sleep(0.4)
        assert now(hms).writing
    assert becomes(lambda: not now(hms).writing)
