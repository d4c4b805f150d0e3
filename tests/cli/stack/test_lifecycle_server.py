"""The clusters of the embedded stack, and the process of its sample, in the lifecycle's store."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.stack import sample
from cli.stack.configuration import files
from cli.stack.lifecycle_server import write_clusters
from cli.stack.plan import Ports, StackLayout, StackSpec
from conf.names import ClusterName
from conf.settings.load import load
from conf.settings.settings import Settings
from conf.topology import Endpoint
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.entities.process import Process
from pipeline.scheduler import entity_service
from pipeline.scheduler.store.store import Store

EAST, WEST = ClusterName("east"), ClusterName("west")
NAMES = (EAST, WEST)
SPEC = StackSpec(NAMES, Endpoint("127.0.0.1", 10000), lifecycle=True)
USER = "ada"


def _settings(folder: Path, proxy_port: int = 10000) -> Settings:
    layout = StackLayout.at(folder)
    where = {name: Endpoint("127.0.0.1", 7 + at) for at, name in enumerate(NAMES)}
    ports = Ports(Endpoint("127.0.0.1", 1), where, where)
    spec = replace(SPEC, proxy=Endpoint("127.0.0.1", proxy_port))
    layout.settings.write_text(files(spec, layout, ports)[layout.settings])
    return load(layout.settings)


def _clusters(store: Store) -> dict[str, Cluster]:
    entities = entity_service.read_catalog(store).entities.values()
    return {each.name: each for each in entities if isinstance(each, Cluster)}


def test_each_start_writes_the_clusters_with_the_addresses_of_today(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "lifecycle.db"))
    write_clusters(store, _settings(tmp_path), USER)
    found = _clusters(store)
    assert set(found) == {"east", "west"}
    assert found["west"].endpoint("execute") == "127.0.0.1:10000"
    assert found["west"].endpoint("write") == StackLayout.at(tmp_path).filesystem(WEST)
    before = store.entities()
    write_clusters(store, _settings(tmp_path), USER)
    assert store.entities() == before
    write_clusters(store, _settings(tmp_path, 10009), USER)
    assert _clusters(store)["east"].endpoint("execute") == "127.0.0.1:10009"


def test_a_cluster_that_cannot_be_replaced_is_left_with_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(str(tmp_path / "lifecycle.db"))
    write_clusters(store, _settings(tmp_path), "eve")
    write_clusters(store, _settings(tmp_path, 10009), USER)
    assert "belongs to eve" in capsys.readouterr().err
    assert _clusters(store)["east"].endpoint("execute") == "127.0.0.1:10000"


def test_the_process_of_the_sample_is_scheduled_once(tmp_path: Path) -> None:
    layout, key = StackLayout.at(tmp_path), EntityKey(Kind.PROCESS, "sample-totals")
    store = Store(str(layout.lifecycle_store))
    write_clusters(store, _settings(tmp_path), USER)
    stack: Any = SimpleNamespace(spec=SPEC, layout=layout)
    sample.schedule(stack)
    catalog = entity_service.read_catalog(store)
    process = catalog.entities[key]
    assert catalog.stored[key].status == entity_service.RUNNING
    assert isinstance(process, Process)
    assert Path(process.workflow.path).read_text() == sample.script_of_totals()
    before = store.entities()
    sample.schedule(stack)
    assert store.entities() == before
