"""The clusters and their addresses (hive.cluster.properties, DC-C3, D9)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Self

from conf.names import ClusterName


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A TCP address."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses `host:port` or `[v6]:port`. Raises ValueError."""
        host, colon, port = text.strip().rpartition(":")
        if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(f"not host:port: {text!r}")
        return cls(host.strip("[]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One physical cluster: its default file system and its Thrift Servers (JobTracker).

    `resource_managers` are the URLs of YARN's resource managers, `masters` those of the web UIs of
    Spark's own masters. They are asked whether an application has ended.
    """

    name: ClusterName
    filesystem: str
    hs2: tuple[Endpoint, ...]
    resource_managers: tuple[str, ...] = ()
    masters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """All clusters by name. Without clusters Causeway changes nothing (DC-N1)."""

    clusters: dict[ClusterName, Cluster] = field(default_factory=dict)
    default: ClusterName | None = None
    use_default: bool = False

    def __contains__(self, name: object) -> bool:
        return name in self.clusters

    def filesystems(self) -> dict[ClusterName, str]:
        """Each cluster's FileSystem."""
        return {name: cluster.filesystem for name, cluster in self.clusters.items()}

    @property
    def in_use(self) -> bool:
        return bool(self.clusters)


def first_up(
    default: ClusterName, clusters: Iterable[ClusterName], down: Collection[ClusterName]
) -> ClusterName:
    """The cluster for work that any cluster can do (D11): the default one, else the first of
    `clusters` that is not down. If all are down, the default one."""
    return next((each for each in (default, *clusters) if each not in down), default)
