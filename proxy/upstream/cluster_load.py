"""The load of each cluster, and the expected time of statements there, if `router.choice` is
`cost`.

Running statements and their expected seconds are counted for all workers together. Each worker
learns by itself how long the statements of a template take.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conf.names import ClusterName
from proxy.counters import Counters, LocalCounters
from router.costs import OTHERS, CostModel, Costs, Expected, Load

_UNIT = 0.01  # seconds in one unit of a counter
_LONGEST = 3600.0  # seconds that one statement counts at most: counters have 32 bits


class ClusterLoad:
    """The running statements of all workers, and the times learned by this worker."""

    def __init__(self, counters: Counters | None = None) -> None:
        self._counters = LocalCounters() if counters is None else counters
        self._model = CostModel()

    def costs(self, template: int, clusters: Iterable[ClusterName]) -> Costs:
        """The expected time of a statement of the template in each of the clusters now."""
        return self._model.costs(template, {each: self._load(each) for each in clusters})

    def begin(
        self,
        cluster: ClusterName,
        costs: Costs | None = None,
        candidates: Sequence[ClusterName] = (),
    ) -> "StatementLoad":
        """Counts a statement that is sent to the cluster.

        The cluster was chosen from the candidates by their costs; (): by something else. Without
        costs the statement counts like one of an unknown template (`OTHERS`).
        """
        costs = costs or self.costs(OTHERS, (cluster,))
        self._model.began(costs, cluster, candidates)
        units = max(1, round(min(costs.expected[cluster].alone, _LONGEST) / _UNIT))
        running = StatementLoad(self, costs.template, cluster, costs.expected[cluster], units)
        self._add(running, 1)
        return running

    def _load(self, cluster: ClusterName) -> Load:
        count = self._counters.count
        return Load(count(_statements_key(cluster)), count(_seconds_key(cluster)) * _UNIT)

    def _add(self, running: "StatementLoad", sign: int) -> None:
        self._counters.add(_statements_key(running.cluster), sign)
        self._counters.add(_seconds_key(running.cluster), sign * running.units)

    def leave(self, running: "StatementLoad") -> None:
        """Ends the count of the statement."""
        self._add(running, -1)

    def learn(self, running: "StatementLoad", seconds: float, succeeded: bool) -> None:
        """Adds the seconds that the statement took to what is known of its template."""
        self._model.ended(running.template, running.cluster, running.expected, seconds, succeeded)


@dataclass(slots=True)
class StatementLoad:
    """One statement in a cluster, which is counted until it ends. `units` are its expected seconds
    in the counter; `began` is of `time.perf_counter`."""

    load: ClusterLoad
    template: int
    cluster: ClusterName
    expected: Expected
    units: int
    began: float | None = None
    is_over: bool = False

    def sent(self) -> None:
        """Starts the clock: the statement is sent to the cluster now."""
        self.began = time.perf_counter()

    def ended(self, succeeded: bool) -> None:
        """Learns the statement's time, and ends its count: it ended in the cluster."""
        if self.began is not None and not self.is_over:
            self.load.learn(self, time.perf_counter() - self.began, succeeded)
        self.leave()

    def leave(self) -> None:
        """Ends the count of the statement. Later calls do nothing."""
        if not self.is_over:
            self.is_over = True
            self.load.leave(self)


def _statements_key(cluster: ClusterName) -> str:
    return f"running\0{cluster}"


def _seconds_key(cluster: ClusterName) -> str:
    return f"work\0{cluster}"
