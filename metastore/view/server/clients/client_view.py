"""The cluster that a client sees the metastore as."""

from dataclasses import replace

from conf.names import ClusterName
from metastore.view.errors import NoSuchCluster
from metastore.view.locations import ClusterView


class ClientView:
    """The view of the endpoint's cluster, until the client names another one (DC-U3)."""

    def __init__(self, endpoint_view: ClusterView) -> None:
        self._endpoint_view = endpoint_view
        self.current = endpoint_view

    def use(self, cluster: str) -> None:
        """`use_cluster`: the view of this cluster from now on; of the endpoint's, if it is empty.

        Raises NoSuchCluster.
        """
        self.current = self.of(cluster) if cluster else replace(self._endpoint_view, aware=False)

    def of(self, cluster: str | None) -> ClusterView:
        """The view for one call: of the cluster that the call names, or the current one for None.

        Raises NoSuchCluster.
        """
        if cluster is None:
            return self.current
        topology = self._endpoint_view.topology
        if cluster not in topology:
            known = ", ".join(topology.clusters)
            raise NoSuchCluster(f"No cluster {cluster!r} in hive.cluster.properties ({known}).")
        return replace(self._endpoint_view, cluster=ClusterName(cluster), aware=True)
