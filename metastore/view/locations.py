"""The metastore as one cluster sees it: which location of an object it gets (D2, D10)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conf.locations import Location, clusters_of, foreign_cluster
from conf.names import ClusterName
from conf.placement import (
    COPY_PREFIX,
    PRIMARY,
    BadPlacement,
    Copy,
    Placement,
    fresh_partition_copy,
    read_placement,
)
from conf.topology import Topology

Placed = Callable[[Mapping[str, str], ClusterName], Placement]


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The metastore as `cluster` sees it.

    `aware`: the client names clusters and understands PrimaryCluster and SecondaryClusters of
    StorageDescriptor (DC-S1).
    """

    cluster: ClusterName
    topology: Topology
    aware: bool = False

    @property
    def owner(self) -> ClusterName:
        """The primary of objects without one (DC-C1)."""
        return self.topology.default or self.cluster

    def local_copy(
        self, parameters: Mapping[str, str], placed: Placed = read_placement
    ) -> Copy | None:
        """The cluster's fresh copy; None if the object's own location has to be used.

        None also if the facts cannot be read or the copy may be stale: the primary always has the
        data. `placed` reads the placement from the parameters and the owner.
        """
        if COPY_PREFIX + self.cluster not in parameters:
            return None
        try:
            placement = placed(parameters, self.owner)
        except BadPlacement:
            return None
        copy = placement.copy_in(self.cluster)
        if copy is None or placement.primary == self.cluster or not placement.is_fresh(copy):
            return None
        return copy

    def local_partition_copy(self, parameters: Mapping[str, str], table: Placement) -> Copy | None:
        """As `local_copy`, for a partition while no write of its table runs."""
        if parameters.get(PRIMARY, table.primary) == self.cluster:
            return None
        try:
            return fresh_partition_copy(parameters, table, self.cluster)
        except BadPlacement:
            return None

    def warehouse_location(self, location: str) -> str:
        """A database's location with the same path in this cluster's file system."""
        return moved(location, self.topology, self.cluster)

    def shared_location(self, location: str) -> str:
        """A database's location in the default cluster's file system, as the metastore has it."""
        return moved(location, self.topology, self.owner)

    def foreign_cluster(self, location: str) -> ClusterName | None:
        """Another cluster to which the location belongs or may belong; None if there is none."""
        return foreign_cluster(location, self.topology.filesystems(), self.cluster)

    def is_foreign(self, location: str) -> bool:
        """Whether the location is in another cluster than the metastore's warehouse."""
        return self.shared_location(location) != location


def moved(location: str, topology: Topology, target: ClusterName) -> str:
    """`location` with its cluster's file system replaced by the target's.

    A location stays as it is if it belongs to no cluster (a shared object store), may belong to
    several, or has another port than the cluster's file system. A path without a scheme is taken as
    one of the target's file system.
    """
    if target not in topology:
        return location
    home = topology.clusters[target].filesystem.rstrip("/")
    if location.startswith("/"):
        return _spelled(home) + location
    filesystems = topology.filesystems()
    owners = clusters_of(location, filesystems)
    roots = {Location.of(filesystems[name]) for name in owners}
    if len(roots) != 1 or Location.of(home) in roots:
        return location
    here, root = Location.of(location), roots.pop()
    if here.port not in ("", root.port):
        return location
    below = here.parts[len(root.parts) :]
    return _as_written("/".join((_spelled(home), *below)), location)


def _as_written(location: str, pattern: str) -> str:
    """`file:///x` as `file:/x` if `pattern` has that form, because clients compare texts."""
    scheme, _, rest = location.partition(":")
    plain = pattern.startswith(f"{scheme}:/") and not pattern.startswith(f"{scheme}://")
    return f"{scheme}:{rest[2:]}" if plain and rest.startswith("///") else location


def _spelled(filesystem: str) -> str:
    """A file system's URI with two slashes after the scheme."""
    scheme, colon, rest = filesystem.partition(":")
    one = colon and rest.startswith("/") and not rest.startswith("//")
    return f"{scheme}://{rest}" if one else filesystem
