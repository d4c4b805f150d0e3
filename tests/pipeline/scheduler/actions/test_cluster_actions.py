"""Programs, owners of tables, and metastores that refuse, are down or require a log-in."""

from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from conf.names import TableRef
from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.changes.notifying_client import EVERYTHING
from metastore.errors import MetastoreDown
from pipeline.copy.files import FileListing
from pipeline.errors import ActionFailed
from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.entity_set import EntitySet
from pipeline.processes.commands import Programs
from pipeline.scheduler.actions import cluster_actions, tables
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.actions.work import Task
from pipeline.scheduler.entity_service import read_catalog, schedules_of
from pipeline.scheduler.instances.instance import Instance
from pipeline.scheduler.instances.states import InstanceState
from tests.pipeline.copy.fakes import Effects, FakeFiles
from tests.pipeline.falcon.documents import PROCESS
from tests.pipeline.scheduler.actions.site import HOUR, NOON, SOURCE, Site
from tests.pipeline.scheduler.fake_actions import FEED_KEY, submit


@pytest.mark.parametrize("fails", [False, True])
def test_after_a_program_the_views_are_notified_of_possible_changes(
    monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    notified: list[TableRef] = []

    def run(*_: object) -> str:
        assert notified == []
        if fails:
            raise ActionFailed("status 1")
        return "done"

    monkeypatch.setattr(cluster_actions, "process_run", lambda task: task)
    monkeypatch.setattr(cluster_actions, "run_process", run)
    monkeypatch.setattr(cluster_actions, "output_paths", lambda task: ())
    actions = ClusterActions(lambda: FakeFiles(Effects()), Programs(""), notify=notified.append)
    with suppress(ActionFailed):
        actions.process(cast(Any, None), cast(Any, None))
    assert notified == [EVERYTHING]


def test_processes_that_write_one_partition_run_one_after_the_other(site: Site) -> None:
    submit(site.store, PROCESS)
    submit(site.store, PROCESS.replace('name="summary"', 'name="other"'))
    catalog = read_catalog(site.store)
    places = []
    for name in ("summary", "other"):
        key = EntityKey(Kind.PROCESS, name)
        (its,) = schedules_of(catalog, key)
        for hours in (0, 1):
            instance = Instance(its.instance(NOON + hours * HOUR), InstanceState.READY, NOON)
            task = Task(
                catalog.entities[key], its, instance, "ann", catalog.entity_set, instance.nominal
            )
            places.append(site.actions.exclusive_places(task))
    assert places[:2] == places[2:]
    assert not places[0] & places[1]
    assert places[0] == {"thrift://c1:1 src.clicks ds=2013-09-25-12/region=us"}


def test_another_users_table_is_refused(site: Site) -> None:
    """FA-S1, FA-S2."""
    catalog = {each.key: document.read(each.document) for each in site.store.entities()}
    feed = catalog[FEED_KEY]
    assert isinstance(feed, Feed)
    entity_set = EntitySet(
        {each.name: each for each in catalog.values() if isinstance(each, Cluster)}, {}
    )
    assert list(tables.metastore_problems(feed, entity_set, "ann")) == []
    site.owner = "bob"
    (problem,) = tables.metastore_problems(feed, entity_set, "bob")
    assert "src.clicks on c1 is owned by ann, the submitter is bob" in problem.reason
    site.owner = "ann"
    site.source.tables[SOURCE].set_text(3, "hive")
    site.add(0, a="zero")
    site.run(0)
    (one,) = [each for each in site.store.instances(FEED_KEY) if each.key.schedule.source]
    assert "CW729" in one.detail
    assert site.replicas() == {}


def test_a_feed_that_replicates_an_iceberg_table_is_refused(site: Site) -> None:
    """D16: at submit, and when an instance runs."""
    table = site.source.tables[SOURCE]
    table.parameters = {
        **table.parameters,
        "table_type": "ICEBERG",
        "metadata_location": "s3://b/t/metadata/1.json",
    }
    catalog = {each.key: document.read(each.document) for each in site.store.entities()}
    entity_set = EntitySet(
        {each.name: each for each in catalog.values() if isinstance(each, Cluster)}, {}
    )
    problems = list(tables.metastore_problems(catalog[FEED_KEY], entity_set, "ann"))
    assert any("its metadata names the files of the primary" in each.reason for each in problems)
    site.add(0, a="zero")
    site.run(0)
    (one,) = [each for each in site.store.instances(FEED_KEY) if each.key.schedule.source]
    assert "src.clicks is a table of Iceberg" in one.detail
    assert site.replicas() == {}


def test_a_source_table_must_exist(site: Site) -> None:
    """FA-G3: the error names the table and the cluster."""
    catalog = [document.read(each.document) for each in site.store.entities()]
    entity_set = EntitySet({each.name: each for each in catalog if isinstance(each, Cluster)}, {})
    del site.source.tables[SOURCE]
    problems = [p for e in catalog for p in tables.metastore_problems(e, entity_set, "ann")]
    assert [str(p) for p in problems] == [
        "19: table: table src.clicks does not exist on cluster c1: create it first"
    ]


def test_a_metastore_that_is_down_stops_nothing_else(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise MetastoreDown("c1:1: connection refused")

    site.add(0, a="zero")
    monkeypatch.setattr(tables, "read_fingerprints", down)
    site.run(0)
    assert site.states() == [InstanceState.WAITING]
    monkeypatch.undo()


def test_local_directories_are_listed(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "x").write_text("1")
    (tmp_path / "d" / "e" / "y").write_text("22")
    found = tables.local_listing((tmp_path / "d").as_uri())
    assert isinstance(found, FileListing)
    assert [(each.path, each.length) for each in found.files] == [("e/y", 2), ("x", 1)]
    assert tables.local_listing(str(tmp_path / "none")) is None


def test_each_metastore_has_its_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[MetastoreLogin] = []

    class Client(tables.NotifyingClient):
        def __init__(self, *arguments: Any) -> None:
            made.append(arguments[4])
            super().__init__(*arguments)

    monkeypatch.setattr(tables, "NotifyingClient", Client)
    login = MetastoreLogin(True, "hive/_HOST@R", "causeway@R")
    one, other = Endpoint("one", 9083), Endpoint("other", 9083)
    for endpoint in (one, other):
        monkeypatch.setattr(tables, "registry_of", lambda cluster, found=endpoint: found)
        catalogs = tables.HiveCatalogService({one: login})
        with catalogs.connect(cast(Cluster, None), "ann"):
            pass
    assert made == [login, MetastoreLogin()]
