"""The interface to the catalogs at the clusters' registry interfaces (`catalog.service.impl`).

A catalog service is a class whose constructor takes no arguments; its `connect` opens a connection
to a cluster's catalog. The default is that of Hive metastores (tables.py).
"""

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Protocol, cast

from metastore.client.catalog_client import CatalogClient
from metastore.client.changes.notifying_client import Notify
from metastore.placement.placement_store import no_views
from pipeline.falcon.entities.cluster import Cluster
from pipeline.scheduler.errors import BadCatalogService

TIMEOUT = 20.0  # seconds of a call


class CatalogService(Protocol):
    """Connects to catalogs. Each connection is used by one thread and closed at the end."""

    def connect(
        self, cluster: Cluster, user: str, timeout: float = TIMEOUT, notify: Notify = no_views
    ) -> AbstractContextManager[CatalogClient]:
        """A connection to the catalog at `cluster.endpoint("registry")`, as `user`. A call ends
        after `timeout` seconds. `notify` is called with each table that a call has changed.
        """
        ...


def load_catalog_service(name: str) -> CatalogService:
    """An object of the class `package.module:Class`. Raises BadCatalogService."""
    module, _, class_name = name.partition(":")
    try:
        service = getattr(import_module(module), class_name)()
    except Exception as error:  # code of others may raise anything
        raise BadCatalogService(f"{name} cannot be loaded: {error!r}.") from error
    if not callable(getattr(service, "connect", None)):
        raise BadCatalogService(f"{name} has no method connect.")
    return cast(CatalogService, service)
