"""Estimates the time of a read in each cluster, learned from statements that ended. Pure: the
caller measures time and counts the running statements.

The time of a statement is a *wait* for the statements that are already in the cluster, and then the
seconds that it takes *alone*.

- *Alone* is a mean for each template and cluster, in which recent statements have more weight. If a
  template never ran in a cluster, the mean of its other clusters is used; if it never ran anywhere,
  the mean of all statements in the cluster.
- A cluster becomes slow or fast for most templates at once. So means are stored for a usual speed,
  and each cluster has a *speed*: the actual seconds there for a second at the usual speed. All its
  statements update it.
- A cluster runs some number of statements at a time, its *slots*. By Little's law that is the
  number of statements in the cluster, times the share of their time in which they do not wait. The
  greatest measured number is used, and decays slowly. With few statements it is low, so that the
  first ones above it go to other clusters; if they come here nevertheless, they raise it.
- With fewer statements than slots, nothing waits. With more, a statement waits until a slot is
  free, at the rate at which all slots together work.
- If a statement waited, its time is divided into wait and alone in the expected proportion. So a
  wrong number of slots does not make all templates look slow.
- An estimate that was not updated for many runs of its template may be wrong. Such a cluster is
  tried at times, as long as that costs no more than `PROBED` of the time of all statements.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from conf.names import ClusterName

PROBED = 0.003  # share of all expected seconds that trying old estimates may cost
AGE = 50  # an estimate is old after so many runs of its template in other clusters
OTHERS = 0  # the template of all statements without one of their own
_SPEED_WEIGHT = 0.02  # weight of the newest statement in the speed of its cluster
_MAX_RATIO = 4.0  # of measured to expected seconds, in the update of a speed
_MEAN_WEIGHT = 0.1  # least weight of the newest statement in a mean
_SUMS_DECAY = 0.98  # factor of the sums for the slots with each statement
_SLOTS_DECAY = 0.0005  # share of the slots that is lost with each statement
_BUSY = 0.7  # with fewer statements than this share of the slots, the slots are not measured
_UNKNOWN = 1.0  # seconds expected before any statement has ended
_SHORTEST = 0.001  # seconds
_TEMPLATES = 4096


class Load(NamedTuple):
    """The statements that run or wait in a cluster, and the sum of their seconds alone."""

    statements: int
    seconds: float


class Expected(NamedTuple):
    """The expected seconds of a statement alone and of its wait; `statements` are in the
    cluster."""

    alone: float
    wait: float
    statements: int

    @property
    def total(self) -> float:
        return self.alone + self.wait


@dataclass(frozen=True, slots=True)
class Costs:
    """The expected time of a statement of `template` in each cluster.

    The estimates of the clusters in `old` are old: one may be tried if it takes at most `budget`
    seconds longer than the best cluster.
    """

    template: int
    expected: Mapping[ClusterName, Expected]
    old: frozenset[ClusterName] = frozenset()
    budget: float = 0.0

    def best(self, candidates: Sequence[ClusterName]) -> ClusterName:
        """The first of the candidates with the lowest cost."""
        return min(candidates, key=lambda each: self.expected[each].total)

    def choose(self, candidates: Sequence[ClusterName]) -> ClusterName:
        """The best of the candidates, or one with an old estimate that may be tried."""
        best = self.best(candidates)
        if self.old and best not in self.old:
            most = self.expected[best].total + self.budget
            for each in candidates:
                if each in self.old and self.expected[each].total <= most:
                    return each
        return best

    def reason(self, chosen: ClusterName, candidates: Sequence[ClusterName]) -> str:
        """The reason why `choose` returned this one, for people."""
        times = {each: _duration(self.expected[each].total) for each in candidates}
        others = ", ".join(f"{each}: {times[each]}" for each in candidates if each != chosen)
        because = f"{chosen} has all inputs, and is expected to take {times[chosen]} ({others})"
        if chosen == self.best(candidates):
            return because
        return f"{because}; it is tried because no such statement ran there lately"


@dataclass(slots=True)
class _Mean:
    """A mean of `count` statements in which recent ones have more weight."""

    seconds: float = 0.0
    count: int = 0

    def add(self, seconds: float, before: float | None) -> None:
        """Adds a statement. `before` is an estimate from elsewhere, which counts as a statement
        before the first; None if there is none."""
        if self.count == 0:
            self.seconds = seconds if before is None else before
        weight = max(_MEAN_WEIGHT, 1 / (self.count + (1 if before is None else 2)))
        self.seconds += weight * (seconds - self.seconds)
        self.count += 1


@dataclass(slots=True)
class _Template:
    """The number of runs of a template, and for each cluster its mean and its last run's number."""

    runs: int = 0
    means: dict[ClusterName, _Mean] = field(default_factory=dict)
    last: dict[ClusterName, int] = field(default_factory=dict)

    def elsewhere(self, cluster: ClusterName) -> float | None:
        """The mean of its means in other clusters; None if it ran in none."""
        known = [each.seconds for where, each in self.means.items() if where != cluster]
        return sum(known) / len(known) if known else None


@dataclass(slots=True)
class _Cluster:
    """The mean of a cluster's statements, its speed, and its slots with the sums from which these
    are computed."""

    mean: _Mean = field(default_factory=_Mean)
    speed: float = 1.0
    slots: float = 1.0
    alone: float = 0.0
    seconds: float = 0.0
    statements: float = 0.0
    count: float = 0.0

    def usual(self, alone: float, expected: float | None) -> float:
        """The seconds at the usual speed of a statement that took `alone` here. Updates the speed
        if the `expected` seconds at the usual speed are known."""
        if expected is not None:
            ratio = min(alone / (expected * self.speed), _MAX_RATIO)
            self.speed *= 1 + _SPEED_WEIGHT * (ratio - 1)
        return alone / self.speed

    def learn_slots(self, expected: Expected, seconds: float) -> None:
        """Measures the slots by a statement that ended after `seconds`."""
        statements = expected.statements + 1
        if statements < _BUSY * self.slots:
            return
        self.alone = self.alone * _SUMS_DECAY + expected.alone
        self.seconds = self.seconds * _SUMS_DECAY + seconds
        self.statements = self.statements * _SUMS_DECAY + statements
        self.count = self.count * _SUMS_DECAY + 1
        measured = self.statements / self.count * min(1.0, self.alone / self.seconds)
        self.slots = max(1.0, measured, self.slots * (1 - _SLOTS_DECAY))

    def wait(self, load: Load) -> float:
        """The seconds that a statement waits for those in the cluster."""
        if load.statements < self.slots:
            return 0.0
        ended = (load.statements - self.slots + 1) / load.statements
        return load.seconds / self.slots * ended


class CostModel:
    """Learns from statements and estimates times. Keeps a number of templates, those that ran
    last."""

    def __init__(self, templates: int = _TEMPLATES) -> None:
        self._most = templates
        self._templates: OrderedDict[int, _Template] = OrderedDict()
        self._clusters: dict[ClusterName, _Cluster] = {}
        self._budget = 0.0

    def costs(self, template: int, loads: Mapping[ClusterName, Load]) -> Costs:
        """The time that a statement would take now in each cluster of `loads`. Changes nothing."""
        known = self._templates.get(template)
        expected, old = {}, []
        for cluster, load in loads.items():
            expected[cluster] = self._expected(known, cluster, load)
            if known is not None and known.runs - known.last.get(cluster, 0) >= AGE:
                old.append(cluster)
        return Costs(template, expected, frozenset(old), self._budget)

    def began(
        self, costs: Costs, cluster: ClusterName, candidates: Sequence[ClusterName] = ()
    ) -> None:
        """Records that the statement begins in the cluster. `candidates` are those from which the
        cluster was chosen by cost, if it was."""
        template = self._template(costs.template)
        template.runs += 1
        template.last[cluster] = template.runs
        if candidates:
            seconds = costs.expected[cluster].total
            best = costs.expected[costs.best(candidates)].total
            self._budget += PROBED * best - (seconds - best)

    def ended(
        self, template: int, cluster: ClusterName, expected: Expected, seconds: float, well: bool
    ) -> None:
        """Records that a statement ended after so many seconds. `expected` is the estimate at its
        beginning.

        A statement that did not end `well` counts only if it took longer than expected.
        """
        seconds = max(seconds, _SHORTEST)
        if not well and seconds <= expected.total:
            return
        alone = seconds * expected.alone / expected.total
        known = self._template(template)
        there = self._clusters.setdefault(cluster, _Cluster())
        mean = known.means.get(cluster)
        before = known.elsewhere(cluster)
        usual = before if mean is None else mean.seconds
        if mean is None:
            mean = known.means[cluster] = _Mean()
        mean.add(there.usual(alone, None if template == OTHERS else usual), before)
        there.mean.add(alone, None)
        if well:
            there.learn_slots(expected, seconds)

    def _template(self, template: int) -> _Template:
        """The template's record, which replaces the least recently used one if it is new."""
        known = self._templates.get(template)
        if known is None:
            known = self._templates[template] = _Template()
            if len(self._templates) > self._most:
                self._templates.popitem(last=False)
        else:
            self._templates.move_to_end(template)
        return known

    def _expected(self, known: _Template | None, cluster: ClusterName, load: Load) -> Expected:
        there = self._clusters.get(cluster)
        alone = None
        if known is not None:
            mean = known.means.get(cluster)
            usual = known.elsewhere(cluster) if mean is None else mean.seconds
            if usual is not None:
                alone = usual * (1.0 if there is None else there.speed)
        if alone is None:
            alone = self._mean() if there is None else there.mean.seconds
        wait = _Cluster().wait(load) if there is None else there.wait(load)
        return Expected(alone, wait, load.statements)

    def _mean(self) -> float:
        """The mean of the clusters' means."""
        means = [each.mean.seconds for each in self._clusters.values()]
        return sum(means) / len(means) if means else _UNKNOWN


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:,.0f} s"
