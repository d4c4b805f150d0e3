"""What is known of the Thrift Servers: which are well, which take no new sessions."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from conf.names import ClusterName
from conf.topology import Cluster, Endpoint, Topology, first_up
from proxy.errors import ClusterDown

Drainable = Endpoint | ClusterName


@dataclass(slots=True)
class Condition:
    """`up` is None until it was tried. `since` is Unix time, `seconds` the last answer's.
    `checked` says whether the guard there checks claims, `zone` is the default time zone of its
    sessions, `catalog` is what `proxy.catalog` keeps of it; None until it was asked. `found_down`
    is when it was found down last, of `time.monotonic`."""

    up: bool | None = None
    since: float = field(default_factory=time.time)
    reason: str = ""
    seconds: float | None = None
    checked: bool | None = None
    zone: str | None = None
    catalog: object | None = None
    found_down: float = 0.0

    def becomes(self, up: bool, reason: str) -> None:
        if self.up is not up:
            self.up, self.since = up, time.time()
        self.reason = reason


class EndpointHealth:
    """The endpoints of all clusters. Nothing here waits for anything.

    A drained endpoint or cluster takes no new sessions; its open sessions go on to their end.
    """

    def __init__(self) -> None:
        self._conditions: dict[Endpoint, Condition] = {}
        self._drained: set[Drainable] = set()

    def condition(self, endpoint: Endpoint) -> Condition:
        return self._conditions.setdefault(endpoint, Condition())

    def mark_up(self, endpoint: Endpoint, asked: float, seconds: float | None = None) -> None:
        """It answered what was asked at `asked`, of `time.monotonic`, in `seconds`; None: not
        measured. If the server was found down since it was asked, the answer changes nothing."""
        condition = self.condition(endpoint)
        if asked >= condition.found_down:
            condition.becomes(True, "")
            condition.seconds = condition.seconds if seconds is None else seconds

    def mark_down(self, endpoint: Endpoint, reason: str) -> None:
        condition = self.condition(endpoint)
        condition.found_down = time.monotonic()
        condition.becomes(False, reason)
        self.forget_checked(endpoint)

    def learn_checked(self, endpoint: Endpoint, checked: bool) -> None:
        self.condition(endpoint).checked = checked

    def forget_checked(self, endpoint: Endpoint) -> None:
        """The server may have been started again, with another guard or none."""
        condition = self.condition(endpoint)
        condition.checked = condition.zone = condition.catalog = None

    def is_checked(self, cluster: Cluster) -> bool | None:
        """Whether the guard checks claims at all endpoints of the cluster that were asked; None
        while none was."""
        known = [self.condition(each).checked for each in cluster.hs2]
        if False in known:
            return False
        return True if True in known else None

    def keep(self, endpoints: Iterable[Endpoint]) -> None:
        """Forgets all others."""
        kept = set(endpoints)
        self._conditions = {e: c for e, c in self._conditions.items() if e in kept}
        self._drained = {each for each in self._drained if isinstance(each, str) or each in kept}

    def drain(self, what: Drainable) -> None:
        self._drained.add(what)

    def resume(self, what: Drainable) -> None:
        self._drained.discard(what)

    def is_drained(self, what: Drainable) -> bool:
        return what in self._drained

    def choose(
        self, cluster: Cluster, load: Callable[[Endpoint], int], but: Iterable[Endpoint] = ()
    ) -> list[Endpoint]:
        """Where a new session may be opened, best first: those that are well, by their `load`.

        Endpoints that are down come last: their state may be old. Raises ClusterDown.
        """
        if cluster.name in self._drained:
            raise ClusterDown(f"Cluster {cluster.name} is drained: it takes no new sessions.")
        there = [each for each in cluster.hs2 if each not in self._drained]
        if not there and cluster.hs2:
            raise ClusterDown(f"All Thrift Servers of cluster {cluster.name} are drained.")
        left = set(but)
        return sorted(
            (each for each in there if each not in left),
            key=lambda each: (self.condition(each).up is False, load(each)),
        )

    def is_down(self, cluster: Cluster) -> bool:
        """Whether a new session there has no prospect, as far as is known."""
        return self.is_drained(cluster.name) or all(
            each in self._drained or self.condition(each).up is False for each in cluster.hs2
        )

    def down(self, topology: Topology) -> frozenset[ClusterName]:
        """The clusters that are down (`is_down`)."""
        return frozenset(name for name, each in topology.clusters.items() if self.is_down(each))

    def first_up(self, topology: Topology) -> ClusterName:
        """The cluster for what any cluster can do: the default one unless it is down (D11)."""
        assert topology.default is not None, "settings with clusters have a default cluster"
        return first_up(topology.default, topology.clusters, self.down(topology))

    def is_better_elsewhere(self, cluster: Cluster, endpoint: Endpoint) -> bool:
        """Whether the endpoint is ill and another one of its cluster is well."""
        return self.condition(endpoint).up is False and any(
            self.condition(each).up and each not in self._drained
            for each in cluster.hs2
            if each != endpoint
        )
