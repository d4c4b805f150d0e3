"""What runs in each cluster and what it is expected to take, where `router.choice` is `cost`.

The statements that run and their seconds are counted for all workers together. What the statements
of a template take is learned by each worker on its own.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conf.names import ClusterName
from proxy.counters import Counters, LocalCounters
from router.costs import OTHERS, CostModel, Costs, Expected, Load

_UNIT = 0.01  # seconds that a counter counts
_LONGEST = 3600.0  # what one statement counts at most: counters have 32 bits


class ClusterLoad:
    """The statements of all workers, and the times of this worker's."""

    def __init__(self, counters: Counters | None = None) -> None:
        self._counters = LocalCounters() if counters is None else counters
        self._model = CostModel()

    def costs(self, template: int, clusters: Iterable[ClusterName]) -> Costs:
        """What a statement of the template would take in each of the clusters now."""
        return self._model.costs(template, {each: self._load(each) for each in clusters})

    def begin(
        self,
        cluster: ClusterName,
        costs: Costs | None = None,
        candidates: Sequence[ClusterName] = (),
    ) -> "RunningStatement":
        """A statement goes to the cluster, which was chosen from the candidates by their costs;
        no candidates: something else decided. Without costs it counts as any other statement."""
        costs = costs or self.costs(OTHERS, (cluster,))
        self._model.began(costs, cluster, candidates)
        units = max(1, round(min(costs.expected[cluster].alone, _LONGEST) / _UNIT))
        running = RunningStatement(self, costs.template, cluster, costs.expected[cluster], units)
        self._add(running, 1)
        return running

    def _load(self, cluster: ClusterName) -> Load:
        count = self._counters.count
        return Load(count(_statements_key(cluster)), count(_seconds_key(cluster)) * _UNIT)

    def _add(self, running: "RunningStatement", sign: int) -> None:
        self._counters.add(_statements_key(running.cluster), sign)
        self._counters.add(_seconds_key(running.cluster), sign * running.units)

    def leave(self, running: "RunningStatement") -> None:
        """It does not count any more."""
        self._add(running, -1)

    def learn(self, running: "RunningStatement", seconds: float, well: bool) -> None:
        """It took so many seconds, and did `well` or not what it should."""
        self._model.ended(running.template, running.cluster, running.expected, seconds, well)


@dataclass(slots=True)
class RunningStatement:
    """One statement in a cluster, which counts until it ends."""

    load: ClusterLoad
    template: int
    cluster: ClusterName
    expected: Expected
    units: int
    began: float | None = None
    is_over: bool = False

    def sent(self) -> None:
        """The cluster gets the statement now."""
        self.began = time.perf_counter()

    def ended(self, well: bool) -> None:
        """It ended in the cluster, `well` if it did what it should: its time is learned."""
        if self.began is not None and not self.is_over:
            self.load.learn(self, time.perf_counter() - self.began, well)
        self.leave()

    def leave(self) -> None:
        """It does not count any more. Later calls do nothing."""
        if not self.is_over:
            self.is_over = True
            self.load.leave(self)


def _statements_key(cluster: ClusterName) -> str:
    return f"running\0{cluster}"


def _seconds_key(cluster: ClusterName) -> str:
    return f"work\0{cluster}"
