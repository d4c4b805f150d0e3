"""A cluster: its interfaces and folders."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from conf.names import ClusterName
from pipeline.falcon.entities.identity import Acl, EntityKey, Kind


@dataclass(frozen=True, slots=True)
class Interface:
    endpoint: str
    version: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster. Interfaces by type: registry = metastore, write = file system, execute =
    HiveServer2 endpoint of its Thrift Server, spark = Spark's master."""

    name: ClusterName
    colo: str
    interfaces: Mapping[str, Interface]
    locations: Mapping[str, str]
    acl: Acl = field(default_factory=Acl)
    properties: tuple[tuple[str, str], ...] = ()
    tags: str = ""
    description: str = ""
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> EntityKey:
        return EntityKey(Kind.CLUSTER, self.name)

    def endpoint(self, interface: str) -> str | None:
        found = self.interfaces.get(interface)
        return found.endpoint if found else None
