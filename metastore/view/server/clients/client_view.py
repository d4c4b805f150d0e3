"""The cluster as which a client sees the metastore."""

from dataclasses import replace

from conf.names import ClusterName
from metastore.view.errors import NoSuchCluster
from metastore.view.locations import ClusterView
from metastore.view.server.clients.callers import ViewCaller


class ClientView:
    """The view of the endpoint's cluster, until the client names another cluster (DC-U3)."""

    def __init__(self, endpoint_view: ClusterView, caller: ViewCaller | None = None) -> None:
        """`caller` is None if clients do not authenticate."""
        self._caller = caller
        self._endpoint_view = endpoint_view
        self.current = endpoint_view

    def use(self, cluster: str) -> None:
        """Switches to the view of this cluster, or of the endpoint's own if the name is empty.

        Raises NoSuchCluster, CallerRefused.
        """
        self.current = self.of(cluster) if cluster else replace(self._endpoint_view, aware=False)

    def of(self, cluster: str | None) -> ClusterView:
        """The view for one call: of the cluster that the call names; None: the current view.

        Raises NoSuchCluster; CallerRefused if the client may not speak for the cluster.
        """
        if cluster is None:
            return self.current
        topology = self._endpoint_view.topology
        if cluster not in topology:
            known = ", ".join(topology.clusters)
            raise NoSuchCluster(f"No cluster {cluster!r} in hive.cluster.properties ({known}).")
        if self._caller is not None:
            self._caller.check(cluster)
        return replace(self._endpoint_view, cluster=ClusterName(cluster), aware=True)
