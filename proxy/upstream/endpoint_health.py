"""The health of the Thrift Servers: which are up or down, and which are drained."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from conf.names import ClusterName
from conf.topology import Cluster, Endpoint, Topology, first_up
from proxy.errors import ClusterDown

Drainable = Endpoint | ClusterName
"""A Thrift Server or a whole cluster."""


@dataclass(slots=True)
class Condition:
    """The state of one Thrift Server.

    `up` is None until the first attempt to reach it, and has its value since `since` (Unix time);
    `reason` is why it is down. `seconds` is how long its last health check took, `found_down` when
    it was found down last (`time.monotonic`). Learned from its sessions, None until then: `checked`
    is whether its guard checks claims, `zone` the default time zone, `catalog` what `proxy.catalog`
    keeps of it.
    """

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
    """The conditions of all endpoints, and what is drained. Does no I/O.

    A drained endpoint or cluster gets no new sessions. Its open sessions go on to their end.
    """

    def __init__(self) -> None:
        self._conditions: dict[Endpoint, Condition] = {}
        self._drained: set[Drainable] = set()

    def condition(self, endpoint: Endpoint) -> Condition:
        return self._conditions.setdefault(endpoint, Condition())

    def mark_up(self, endpoint: Endpoint, began: float, seconds: float | None = None) -> None:
        """The endpoint answered a request that was sent at `began` (`time.monotonic`), in `seconds`
        (None: not measured). Nothing changes if it was found down after `began`."""
        condition = self.condition(endpoint)
        if began >= condition.found_down:
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
        """Forgets what was learned from sessions: the server may have been restarted with another
        guard or without one."""
        condition = self.condition(endpoint)
        condition.checked = condition.zone = condition.catalog = None

    def is_checked(self, cluster: Cluster) -> bool | None:
        """Whether the guard checks claims at all endpoints of the cluster where this is known; None
        if it is known nowhere."""
        known = [self.condition(each).checked for each in cluster.hs2]
        if False in known:
            return False
        return True if True in known else None

    def keep(self, endpoints: Iterable[Endpoint]) -> None:
        """Forgets all other endpoints."""
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
        """The endpoints where a new session may be opened, the best first, without those in `but`.

        They are ordered by `load`. Endpoints that are down come last: they may be up again. Raises
        ClusterDown if the cluster or all of its endpoints are drained.
        """
        if cluster.name in self._drained:
            raise ClusterDown(f"Cluster {cluster.name} is drained: it takes no new sessions.")
        endpoints = [each for each in cluster.hs2 if each not in self._drained]
        if not endpoints and cluster.hs2:
            raise ClusterDown(f"All Thrift Servers of cluster {cluster.name} are drained.")
        excluded = set(but)
        return sorted(
            (each for each in endpoints if each not in excluded),
            key=lambda each: (self.condition(each).up is False, load(each)),
        )

    def is_down(self, cluster: Cluster) -> bool:
        """Whether no new session can be opened in the cluster: it is drained, or each of its
        endpoints is drained or down."""
        return self.is_drained(cluster.name) or all(
            each in self._drained or self.condition(each).up is False for each in cluster.hs2
        )

    def down(self, topology: Topology) -> frozenset[ClusterName]:
        """The clusters that are down (`is_down`)."""
        return frozenset(name for name, each in topology.clusters.items() if self.is_down(each))

    def first_up(self, topology: Topology) -> ClusterName:
        """The cluster for statements that any cluster can run: the default one, or another one
        while that is down (D11)."""
        assert topology.default is not None, "settings with clusters have a default cluster"
        return first_up(topology.default, topology.clusters, self.down(topology))

    def is_better_elsewhere(self, cluster: Cluster, endpoint: Endpoint) -> bool:
        """Whether the endpoint is down and another one of its cluster is up and not drained."""
        return self.condition(endpoint).up is False and any(
            self.condition(each).up and each not in self._drained
            for each in cluster.hs2
            if each != endpoint
        )
