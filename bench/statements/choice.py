"""Which of several clusters runs a read, simulated: `router.choice = cost` against other choices.

    python -m bench.statements.choice [--statements N] [--seeds N] [--load L ..]

Three clusters with slots of their own work through reads in the order in which they come; their
speeds differ, and one is three times slower from 40 to 70 % of the time. Templates have times with
a heavy tail, suit some clusters better than others, and may run in two or three of the clusters,
of which the first is the specification's. Compared by the time from a statement's arrival to its
end: the first cluster, a random one, the router's choice by cost (which begins without knowing
anything), and an oracle that knows the time that each statement will take and all queues, and
takes the cluster where the statement ends first. Each figure is the geometric mean of the seeds'
ratios to the oracle.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from math import exp, log
from random import Random
from typing import Protocol

from conf.names import ClusterName
from router.costs import CostModel, Expected, Load

EAST, WEST, NORTH = map(ClusterName, ("east", "west", "north"))
SLOTS = {EAST: 8, WEST: 8, NORTH: 4}
SPEED = {EAST: 1.0, WEST: 1.5, NORTH: 0.7}  # seconds there for a second of a template
SLOW, SLOW_BY = EAST, 3.0
SLOW_FROM, SLOW_TO = 0.4, 0.7  # of the whole time
TEMPLATES = 40
POPULARITY = 0.8  # the exponent of Zipf's law
SIZES, TIMES, SUITS = 1.0, 0.5, 0.3  # sigmas of log-normals: medians, times of one, clusters
PERIOD, BURST, BURST_BY = 120.0, 15.0, 2.0  # seconds, and how many more come in a burst


@dataclass(frozen=True, slots=True)
class Statement:
    """`seconds` are those that it takes in each cluster that may run it, at the usual speed; the
    first one is the specification's."""

    arrival: float
    template: int
    seconds: Mapping[ClusterName, float]


class Cluster:
    """Runs as many statements at once as it has slots, the others in their order."""

    def __init__(self, name: ClusterName, until: float) -> None:
        self._slow = (until * SLOW_FROM, until * SLOW_TO) if name == SLOW else (0.0, 0.0)
        self._free = [0.0] * SLOTS[name]
        heapify(self._free)

    def end_of(self, arrival: float, seconds: float) -> float:
        """When a statement that arrives now would end."""
        begin = max(arrival, self._free[0])
        slow = self._slow[0] <= begin < self._slow[1]
        return begin + seconds * (SLOW_BY if slow else 1.0)

    def run(self, arrival: float, seconds: float) -> float:
        """When the statement ends, which arrives now."""
        end = self.end_of(arrival, seconds)
        heapreplace(self._free, end)
        return end


Clusters = Mapping[ClusterName, Cluster]


class Choice(Protocol):
    """Chooses the cluster of each statement, and learns when it ended."""

    def choose(self, statement: Statement, clusters: Clusters) -> ClusterName: ...

    def ended(self, statement: Statement, end: float) -> None: ...


class First:
    """The specification's: the first cluster that has all inputs."""

    def choose(self, statement: Statement, clusters: Clusters) -> ClusterName:
        return next(iter(statement.seconds))

    def ended(self, statement: Statement, end: float) -> None: ...


class AtRandom(First):
    """Any of them."""

    def __init__(self) -> None:
        self._chance = Random(0)

    def choose(self, statement: Statement, clusters: Clusters) -> ClusterName:
        return self._chance.choice(list(statement.seconds))


class Oracle(First):
    """The one where the statement ends first."""

    def choose(self, statement: Statement, clusters: Clusters) -> ClusterName:
        def end(each: ClusterName) -> float:
            return clusters[each].end_of(statement.arrival, statement.seconds[each])

        return min(statement.seconds, key=end)


@dataclass(slots=True)
class Cost:
    """The router's, by what the proxy sees: when statements begin and end."""

    model: CostModel = field(default_factory=CostModel)
    loads: dict[ClusterName, Load] = field(
        default_factory=lambda: dict.fromkeys(SLOTS, Load(0, 0.0))
    )
    running: dict[int, tuple[ClusterName, Expected]] = field(default_factory=dict)

    def choose(self, statement: Statement, clusters: Clusters) -> ClusterName:
        candidates = list(statement.seconds)
        costs = self.model.costs(statement.template, self.loads)
        cluster = costs.choose(candidates)
        self.model.began(costs, cluster, candidates)
        expected = costs.expected[cluster]
        self.running[id(statement)] = cluster, expected
        self._add(cluster, 1, expected.alone)
        return cluster

    def ended(self, statement: Statement, end: float) -> None:
        cluster, expected = self.running.pop(id(statement))
        self._add(cluster, -1, -expected.alone)
        self.model.ended(statement.template, cluster, expected, end - statement.arrival, True)

    def _add(self, cluster: ClusterName, statements: int, seconds: float) -> None:
        load = self.loads[cluster]
        self.loads[cluster] = Load(load.statements + statements, load.seconds + seconds)


def statements(seed: int, count: int, load: float, bursts: bool) -> list[Statement]:
    """Reads that keep all slots busy for the part `load` of the time, all clusters being as fast
    as usual. With `bursts` twice as many come for some seconds of each two minutes."""
    chance = Random(seed)
    weights = [1 / (number + 1) ** POPULARITY for number in range(TEMPLATES)]
    templates = [_template(chance) for _ in weights]
    sizes = [size for size, _ in templates]
    mean = sum(size * weight for size, weight in zip(sizes, weights, strict=True)) / sum(weights)
    mean *= exp(TIMES**2 / 2)
    rate = load * sum(SLOTS[each] / SPEED[each] for each in SLOTS) / mean
    usual = (PERIOD - BURST * BURST_BY) / (PERIOD - BURST)
    found: list[Statement] = []
    now = 0.0
    for _ in range(count):
        factor = 1.0 if not bursts else BURST_BY if now % PERIOD < BURST else usual
        now += chance.expovariate(rate * factor)
        number = chance.choices(range(TEMPLATES), weights)[0]
        size, suits = templates[number]
        seconds = size * exp(chance.gauss(0, TIMES))
        there = {each: seconds * suit for each, suit in suits.items()}
        found.append(Statement(now, number + 1, there))
    return found


def _template(chance: Random) -> tuple[float, dict[ClusterName, float]]:
    """The median of its seconds, and what becomes of a second in each cluster that may run it."""
    size = exp(chance.gauss(0, SIZES))
    candidates = chance.sample(list(SLOTS), chance.choice((2, 2, 3)))
    return size, {each: SPEED[each] * exp(chance.gauss(0, SUITS)) for each in candidates}


def run(arrivals: Sequence[Statement], choice: Choice) -> list[float]:
    """The seconds from each statement's arrival to its end, sorted."""
    clusters = {each: Cluster(each, arrivals[-1].arrival) for each in SLOTS}
    ends: list[tuple[float, int]] = []
    times = []
    for number, statement in enumerate(arrivals):
        while ends and ends[0][0] <= statement.arrival:
            end, ended = heappop(ends)
            choice.ended(arrivals[ended], end)
        cluster = choice.choose(statement, clusters)
        end = clusters[cluster].run(statement.arrival, statement.seconds[cluster])
        heappush(ends, (end, number))
        times.append(end - statement.arrival)
    return sorted(times)


CHOICES: Mapping[str, Callable[[], Choice]] = {"first": First, "random": AtRandom, "cost": Cost}


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median and the 99th percentile of a choice, each by the oracle's."""

    p50: float
    p99: float


def ratios(seed: int, count: int, load: float, bursts: bool) -> dict[str, Ratio]:
    """The ratios of each choice, for one seed."""
    arrivals = statements(seed, count, load, bursts)
    best = run(arrivals, Oracle())
    found = {}
    for name, choice in CHOICES.items():
        times = run(arrivals, choice())
        found[name] = Ratio(*(quantile(times, part) / quantile(best, part) for part in (0.5, 0.99)))
    return found


def quantile(times: Sequence[float], part: float) -> float:
    """The quantile of sorted times."""
    return times[min(len(times) - 1, int(len(times) * part))]


def geometric(values: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, values)) / len(values))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.statements.choice", description=__doc__)
    parser.add_argument("--statements", type=int, default=30_000, help="of a seed (%(default)s)")
    parser.add_argument("--seeds", type=int, default=8, help="(%(default)s)")
    parser.add_argument("--load", type=float, nargs="+", default=[0.4, 0.5, 0.6, 0.7])
    args = parser.parse_args()
    print("arrivals  load  choice        p50       p99   worst p99, by the oracle's")
    for bursts in (False, True):
        for load in args.load:
            seeds = range(1, args.seeds + 1)
            found = [ratios(seed, args.statements, load, bursts) for seed in seeds]
            for name in CHOICES:
                p50, p99 = [each[name].p50 for each in found], [each[name].p99 for each in found]
                arrivals = "bursts" if bursts else "even"
                figures = f"{geometric(p50):9.2f} {geometric(p99):9.2f} {max(p99):11.2f}"
                print(f"{arrivals:8} {load:5.2f}  {name:8} {figures}", flush=True)


if __name__ == "__main__":
    main()
