"""A metastore alone, for work that needs no Thrift Server; two of them for replication."""

from pathlib import Path
from typing import Any

from cli.stack.plan import Service, StackSpec, metastore_service
from cli.stack.stack import Stack, find_java, spark_home
from conf.names import ClusterName
from metastore.hms.client import HmsClient

C1, C2, C3 = (ClusterName(name) for name in ("c1", "c2", "c3"))


class MetastoreAlone(Stack):
    """A `Stack` of which only the metastore runs; its settings name three clusters."""

    def __init__(self, folder: Path) -> None:
        super().__init__(StackSpec((C1, C2, C3), views=True), folder)

    def _plan(self) -> list[Service]:
        return [metastore_service(find_java(), spark_home(), self.layout, self.ports)]

    def client(self, **options: Any) -> HmsClient:
        return HmsClient((self.ports.metastore,), timeout=600.0, **options)
