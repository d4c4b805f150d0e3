"""A catalog that is no Hive metastore, by `catalog.service.impl`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cli.lifecycle.lifecycle_options import catalog_service
from conf.settings.settings import Settings
from conf.topology import Endpoint
from metastore.placement.placement_store import no_views
from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entity_set import EntitySet
from pipeline.processes.commands import Programs
from pipeline.scheduler.actions import tables
from pipeline.scheduler.actions.catalog_service import load_catalog_service
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.errors import BadCatalogService
from pipeline.scheduler.instances.states import InstanceState
from tests.conf.settings.reading import settings_from
from tests.pipeline.copy.fakes import FakeMetastore
from tests.pipeline.scheduler.actions.site import SOURCE, Site
from tests.pipeline.scheduler.fake_actions import FEED_KEY, schedule

NAME = f"{__name__}:OtherCatalogs"


class OtherCatalogs:
    """Connects to catalogs in memory, by registry."""

    known: ClassVar[dict[str, FakeMetastore]] = {}
    users: ClassVar[set[str]] = set()

    @contextmanager
    def connect(
        self, cluster: Cluster, user: str, timeout: float = 1, notify: object = no_views
    ) -> Iterator[Any]:
        self.users.add(user)
        yield self.known[cluster.endpoint("registry") or ""]


class NoCatalogs:
    """Has no `connect`."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path, monkeypatch)
    monkeypatch.setattr(OtherCatalogs, "known", made.by_registry)

    def hive(*_: object) -> None:
        raise AssertionError("the Hive metastore was asked")

    monkeypatch.setattr(tables, "metastore", hive)
    made.actions = ClusterActions(
        lambda: made.files, Programs("spark-submit"), catalogs=load_catalog_service(NAME)
    )
    schedule(made.store, FEED_KEY)
    return made


def test_a_feed_runs_with_another_catalog(site: Site) -> None:
    site.add(0, a="zero")
    site.run(0)
    assert site.states() == [InstanceState.SUCCEEDED]
    assert site.replicas() == {"ds=2013-09-24-06/region=us": {"a": b"zero"}}
    assert OtherCatalogs.users == {"ann"}
    site.run(100)
    assert site.source.parts[SOURCE] == {}


def test_a_feed_is_checked_against_another_catalog(site: Site) -> None:
    catalog = {each.key: document.read(each.document) for each in site.store.entities()}
    clusters = {each.name: each for each in catalog.values() if isinstance(each, Cluster)}
    entity_set = EntitySet(clusters, {})
    feed, catalogs = catalog[FEED_KEY], load_catalog_service(NAME)
    assert list(tables.metastore_problems(feed, entity_set, "ann", catalogs)) == []
    del site.source.tables[SOURCE]
    (problem,) = tables.metastore_problems(feed, entity_set, "ann", catalogs)
    assert "src.clicks does not exist" in problem.reason


@pytest.mark.parametrize(
    "name", ["no.such.module:A", f"{__name__}:Nothing", f"{__name__}:NoCatalogs"]
)
def test_a_class_that_cannot_be_used(name: str) -> None:
    with pytest.raises(BadCatalogService, match=name):
        load_catalog_service(name)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (NAME, OtherCatalogs),
        ("org.apache.falcon.catalog.HiveCatalogService", tables.HiveCatalogService),
    ],
)
def test_the_setting_names_the_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, kind: type
) -> None:
    conf = tmp_path / "causeway.toml"
    conf.write_text(f'catalog.service.impl = "{value}"\n')
    monkeypatch.setenv("CAUSEWAY_CONF", str(conf))
    assert isinstance(catalog_service(), kind)


def test_hives_metastores_have_the_log_ins_of_the_settings() -> None:
    values = {"hive.metastore.uris": "thrift://h:1", "hive.metastore.use.SSL": "true"}
    settings = settings_from(values, "x")
    found = catalog_service([settings, Settings()])
    assert found == tables.HiveCatalogService({Endpoint("h", 1): settings.metastore_login})
