"""A metastore alone, for work that needs no Thrift Server; two of them for replication."""

import os
from pathlib import Path
from typing import Any

from cli.stack.plan import Service, StackSpec, metastore_service
from cli.stack.stack import Stack, find_java, spark_home
from conf.names import ClusterName
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from pipeline.spark.jar import guard_jar

C1, C2, C3 = (ClusterName(name) for name in ("c1", "c2", "c3"))


class MetastoreAlone(Stack):
    """A `Stack` that runs only the metastore. Its settings have three clusters."""

    def __init__(self, folder: Path) -> None:
        super().__init__(StackSpec((C1, C2, C3), views=True), folder)

    @property
    def endpoint(self) -> Endpoint:
        return self.ports.metastore

    def _plan(self) -> list[Service]:
        return [metastore_service(find_java(), spark_home(), guard_jar(), self.layout, self.ports)]

    def client(self, **options: Any) -> HmsClient:
        return HmsClient((self.endpoint,), timeout=600.0, **options)


class MetastoreElsewhere(MetastoreAlone):
    """A metastore, perhaps of another version, that runs on this machine already and stays."""

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint.parse(os.environ["CAUSEWAY_TEST_METASTORE"])
