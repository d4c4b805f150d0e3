"""What a read is expected to take in each cluster, learned from statements that ended. Pure: the
caller has the clock, and counts what runs.

A statement takes the seconds that it needs in a cluster *alone*, and before that it *waits* for the
statements that are there.

- *Alone* is kept for each template and cluster, as a mean in which recent statements count more.
  Where the template never ran in a cluster, its mean in the others stands for it, and where it
  never ran at all the mean of the cluster's statements.
- A cluster that becomes slow or quick does so for most templates. So the means are of a usual
  speed, and each cluster has the seconds there for one of them, which all its statements renew.
- A cluster runs some number of statements side by side, its *slots*. By Little's law that is the
  number of statements that are there, times the part of their time in which they do not wait. The
  most that was seen counts, and is forgotten slowly. It is low while few statements come, so that
  the first ones beyond it go elsewhere; if they stay, they raise it.
- With fewer statements than slots nothing waits. Otherwise the statement waits until one more than
  the difference has ended, at the rate at which all slots together work.
- Of a statement that waited, the part that it would have taken alone is learned in the proportion
  that was expected. So a wrong number of slots does not make all templates look slow.
- A mean that was not renewed for many runs of its template may be wrong. Now and then such a
  cluster is tried, if that is expected to cost no more than `PROBED` of the time of all statements.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from conf.names import ClusterName

PROBED = 0.003  # the part of all expected seconds that may be spent on trying old estimates
AGE = 50  # runs of a template elsewhere after which its mean in a cluster is old
OTHERS = 0  # the template of all statements that have none of their own
_SHARED = 0.02  # how much the newest statement counts in the speed of its cluster
_FARTHEST = 4.0  # times what was expected; longer statements count as much for the speed
_RECENT = 0.1  # how much the newest statement counts in a mean
_MEMORY = 0.98  # what is left of the sums for the slots with each statement
_FORGET = 0.0005  # part of the slots that is forgotten with each statement
_BUSY = 0.7  # of the slots; with fewer statements nothing is learned about the slots
_UNKNOWN = 1.0  # seconds, as long as no statement has ended
_SHORTEST = 0.001  # seconds
_TEMPLATES = 4096


class Load(NamedTuple):
    """The statements that run or wait in a cluster, and the seconds that all take alone."""

    statements: int
    seconds: float


class Expected(NamedTuple):
    """Seconds of a statement in a cluster, and of the wait before; `statements` are there now."""

    alone: float
    wait: float
    statements: int

    @property
    def total(self) -> float:
        return self.alone + self.wait


@dataclass(frozen=True, slots=True)
class Costs:
    """What a statement of `template` is expected to take in each cluster.

    The estimates of the clusters in `old` were not renewed for long; one of these may be tried if
    it takes at most `budget` seconds longer than the best one.
    """

    template: int
    expected: Mapping[ClusterName, Expected]
    old: frozenset[ClusterName] = frozenset()
    budget: float = 0.0

    def best(self, candidates: Sequence[ClusterName]) -> ClusterName:
        """The first of the candidates with the lowest cost."""
        return min(candidates, key=lambda each: self.expected[each].total)

    def choose(self, candidates: Sequence[ClusterName]) -> ClusterName:
        """The best of the candidates, or one whose estimate is old."""
        best = self.best(candidates)
        if self.old and best not in self.old:
            most = self.expected[best].total + self.budget
            for each in candidates:
                if each in self.old and self.expected[each].total <= most:
                    return each
        return best

    def reason(self, chosen: ClusterName, candidates: Sequence[ClusterName]) -> str:
        """Why `choose` returned this one."""
        times = {each: _duration(self.expected[each].total) for each in candidates}
        others = ", ".join(f"{each}: {times[each]}" for each in candidates if each != chosen)
        because = f"{chosen} has all inputs, and is expected to take {times[chosen]} ({others})"
        if chosen == self.best(candidates):
            return because
        return f"{because}; it is tried because no such statement ran there lately"


@dataclass(slots=True)
class _Mean:
    """`count` statements, of which recent ones count more."""

    seconds: float = 0.0
    count: int = 0

    def add(self, seconds: float, before: float | None) -> None:
        """`before` is an estimate without own statements, which counts as one; None: there is
        none."""
        if self.count == 0:
            self.seconds = seconds if before is None else before
        weight = max(_RECENT, 1 / (self.count + (1 if before is None else 2)))
        self.seconds += weight * (seconds - self.seconds)
        self.count += 1


@dataclass(slots=True)
class _Template:
    """Its runs, and for each cluster the mean and the number of the last run there."""

    runs: int = 0
    means: dict[ClusterName, _Mean] = field(default_factory=dict)
    last: dict[ClusterName, int] = field(default_factory=dict)

    def elsewhere(self, cluster: ClusterName) -> float | None:
        """The mean of its means in other clusters."""
        known = [each.seconds for where, each in self.means.items() if where != cluster]
        return sum(known) / len(known) if known else None


@dataclass(slots=True)
class _Cluster:
    """The mean of its statements, the seconds there for one at the usual speed, and its slots with
    the sums that they follow from."""

    mean: _Mean = field(default_factory=_Mean)
    speed: float = 1.0
    slots: float = 1.0
    alone: float = 0.0
    seconds: float = 0.0
    statements: float = 0.0
    count: float = 0.0

    def usual(self, alone: float, expected: float | None) -> float:
        """What a statement would take at the usual speed that took `alone` here. The speed is
        learned from what was `expected` at the usual one."""
        if expected is not None:
            ratio = min(alone / (expected * self.speed), _FARTHEST)
            self.speed *= 1 + _SHARED * (ratio - 1)
        return alone / self.speed

    def learn_slots(self, expected: Expected, seconds: float) -> None:
        statements = expected.statements + 1
        if statements < _BUSY * self.slots:
            return
        self.alone = self.alone * _MEMORY + expected.alone
        self.seconds = self.seconds * _MEMORY + seconds
        self.statements = self.statements * _MEMORY + statements
        self.count = self.count * _MEMORY + 1
        seen = self.statements / self.count * min(1.0, self.alone / self.seconds)
        self.slots = max(1.0, seen, self.slots * (1 - _FORGET))

    def wait(self, load: Load) -> float:
        """Seconds that a statement waits for those that are there."""
        if load.statements < self.slots:
            return 0.0
        ended = (load.statements - self.slots + 1) / load.statements
        return load.seconds / self.slots * ended


class CostModel:
    """Learns from statements, and estimates. It keeps the templates that ran last."""

    def __init__(self, templates: int = _TEMPLATES) -> None:
        self._most = templates
        self._templates: OrderedDict[int, _Template] = OrderedDict()
        self._clusters: dict[ClusterName, _Cluster] = {}
        self._budget = 0.0

    def costs(self, template: int, loads: Mapping[ClusterName, Load]) -> Costs:
        """What a statement would take now in each cluster with a load. Changes nothing."""
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
        """The statement begins in the cluster, which was chosen from the candidates."""
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
        """A statement ended after some seconds in the cluster; `expected` is from its beginning.

        One that did not end `well` counts only if it took longer than expected.
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
        """Kept from now on in the place of the one that was not used for longest."""
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
