"""Cheap copies for a weight of demands, by greedy growth, by peeling and by local improvement.

`_grow` adds the bundle of copies with the lowest price for its weight, again and again. `_peel`
begins with many copies and removes the one whose loss is lowest for its price, while the target is
still met. Both touch only what a change concerns. Growth begins several times, each time with
prices that are disturbed, since the greatest question is which cluster gets the large tables. The
results are improved: some copies are removed or added at random, growth completes the rest, peeling
removes what became needless. The random numbers have a fixed seed and the rounds a fixed number, so
equal problems have equal results.
"""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from math import exp
from random import Random

from advice.solvers.problem import Option, Problem

_SLACK = 1e-9
_WORK = 1_500_000  # about the visits of copies in bundles that starts and rounds may take
_STARTS = 16
_ROUNDS = 100  # of improvement, for each of the best starts; a quarter of it for every start
_BEYOND = 1.04  # growth beyond the target leaves peeling more to choose from
_FREE = 1e-6  # added to prices: a copy without bytes is no reason to make it

Made = frozenset[int]


def search(problem: Problem, target: float, start: Iterable[int] = ()) -> Made:
    """Copies within the limits that meet `target`, or as much of it as was found.

    `start` are copies to begin with, such as those that are there; they may be removed.
    """
    return _Search(problem, target).best(start)


class _Search:
    def __init__(self, problem: Problem, target: float) -> None:
        self.problem = problem
        self.target = min(target, problem.reachable())
        self.state = _State(problem)
        self.random = Random(20)
        size = 1 + sum(len(ids) for ids in self.state.bundles)
        self.share = min(1.0, _WORK / size / (_STARTS * _ROUNDS / 2))  # of all rounds

    def best(self, start: Iterable[int]) -> Made:
        state = self.state
        for copy in start:
            if state.fits(copy):
                state.add(copy)
        pool = [self._completed(self.target), self._from_nothing(), self._peeled()]
        pool += [self._disturbed() for _ in range(round(self.share * (_STARTS - 3)))]
        pool = [self._improved(each, _ROUNDS // 4) for each in sorted(pool, key=self._rank)]
        pool.sort(key=self._rank)
        few = max(1, len(pool) // 4)
        return min((self._improved(each, _ROUNDS) for each in pool[:few]), key=self._rank)

    def _rank(self, made: Made) -> tuple[float, float]:
        """Lower is better: the target first, then the price."""
        met = min(self.problem.met(made), self.target * (1 - _SLACK))
        return -met, self.problem.price(made)

    def _completed(self, goal: float, factor: "Callable[[], float] | None" = None) -> Made:
        """Grows from the present state to the goal, and peels down to the target."""
        _grow(self.state, goal, factor)
        _peel(self.state, min(self.target, self.state.weight))
        return self.state.made()

    def _from_nothing(self) -> Made:
        self.state.clear()
        return self._completed(min(self.target * _BEYOND, self.problem.reachable()))

    def _peeled(self) -> Made:
        """Peeled from all copies; from nothing where limits forbid to have all."""
        self.state.clear()
        for copy in () if self.problem.limits else range(len(self.problem.prices)):
            self.state.add(copy)
        return self._completed(self.target)

    def _disturbed(self) -> Made:
        state, true = self.state, self.state.prices
        state.prices = [price * exp(self.random.gauss(0, 1)) for price in true]
        state.clear()
        _grow(state, self.target)
        made = state.made()
        state.prices = true
        state.clear()
        state.reset(made)
        return self._completed(self.target)

    def _improved(self, made: Made, rounds: int) -> Made:
        """The best of some rounds, which now and then go on from a result that is a bit worse."""
        state, random = self.state, self.random
        best = present = made
        rank = at = self._rank(made)
        state.reset(made)
        for _ in range(round(self.share * rounds)):
            if not present:
                break
            self._kick(present)
            beyond = self.target if random.random() < 0.6 else self.target * _BEYOND
            found = self._completed(beyond, lambda: random.uniform(0.5, 2))
            reached = min(state.weight, self.target * (1 - _SLACK))
            new = -reached, self.problem.price(found)
            allowed = at[1] * (1.03 if random.random() < 0.3 else 1)
            if new[0] < at[0] - _SLACK or (new[0] <= at[0] + _SLACK and new[1] <= allowed):
                present, at = found, new
                if new < rank:
                    best, rank = found, new
            else:
                state.reset(present)
        return best

    def _kick(self, present: Made) -> None:
        """Removes some of the copies, or adds a few others."""
        random, state = self.random, self.state
        if random.random() < 0.5:
            count = max(1, int(len(present) * random.choice((0.05, 0.15, 0.3, 0.5))))
            for copy in random.sample(sorted(present), count):
                state.remove(copy)
            return
        for _ in range(random.choice((1, 2, 4, 8))):
            copy = random.randrange(len(self.problem.prices))
            if state.fits(copy):
                state.add(copy)


class _State:
    """The copies made, with what follows from them for each bundle and demand.

    A bundle is an option that one or more demands have.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.prices = [price + _FREE for price in problem.prices]
        numbers: dict[Option, int] = {}
        self.demands_of: list[list[int]] = []
        self.bundles_of: list[list[int]] = [[] for _ in problem.weights]
        self.having: list[list[int]] = [[] for _ in problem.prices]
        for demand, options in enumerate(problem.options):
            for option in options:
                bundle = numbers.setdefault(option, len(numbers))
                if bundle == len(self.demands_of):
                    self.demands_of.append([])
                self.demands_of[bundle].append(demand)
                self.bundles_of[demand].append(bundle)
        self.bundles = list(numbers)
        for bundle, ids in enumerate(self.bundles):
            for copy in ids:
                self.having[copy].append(bundle)
        self.is_made = bytearray(len(problem.prices))
        self.limits_of: list[list[int]] = [[] for _ in problem.prices]
        for number, limit in enumerate(problem.limits):
            for copy in limit.loads:
                self.limits_of[copy].append(number)
        self.clear()

    def clear(self) -> None:
        self.is_made = bytearray(len(self.problem.prices))
        self.missing = [len(ids) for ids in self.bundles]
        self.lacking = [sum(self.prices[each] for each in ids) for ids in self.bundles]
        self.ready = [
            sum(not self.bundles[bundle] for bundle in found) for found in self.bundles_of
        ]
        weights = zip(self.problem.weights, self.ready, strict=True)
        self.weight = float(sum(weight for weight, ready in weights if ready))
        self.used = [0.0] * len(self.problem.limits)

    def reset(self, made: Iterable[int]) -> None:
        """Makes exactly these copies."""
        wanted, present = set(made), self.made()
        for copy in sorted(present - wanted):
            self.remove(copy)
        for copy in sorted(wanted - present):
            self.add(copy)

    def made(self) -> frozenset[int]:
        return frozenset(copy for copy, made in enumerate(self.is_made) if made)

    def fits(self, *copies: int) -> bool:
        """Whether the limits leave room for these copies, which are not made yet."""
        loads: dict[int, float] = {}
        for copy in copies:
            for number in self.limits_of[copy]:
                more = self.problem.limits[number].loads[copy]
                loads[number] = loads.get(number, self.used[number]) + more
        limits = self.problem.limits
        return all(load <= limits[number].bound * (1 + _SLACK) for number, load in loads.items())

    def add(self, copy: int) -> None:
        if self.is_made[copy]:
            return
        self.is_made[copy] = 1
        price = self.prices[copy]
        for number in self.limits_of[copy]:
            self.used[number] += self.problem.limits[number].loads[copy]
        for bundle in self.having[copy]:
            self.missing[bundle] -= 1
            self.lacking[bundle] -= price
            if not self.missing[bundle]:
                for demand in self.demands_of[bundle]:
                    self.ready[demand] += 1
                    if self.ready[demand] == 1:
                        self.weight += self.problem.weights[demand]

    def remove(self, copy: int) -> None:
        if not self.is_made[copy]:
            return
        self.is_made[copy] = 0
        price = self.prices[copy]
        for number in self.limits_of[copy]:
            self.used[number] -= self.problem.limits[number].loads[copy]
        for bundle in self.having[copy]:
            if not self.missing[bundle]:
                for demand in self.demands_of[bundle]:
                    self.ready[demand] -= 1
                    if not self.ready[demand]:
                        self.weight -= self.problem.weights[demand]
            self.missing[bundle] += 1
            self.lacking[bundle] += price

    def gain(self, bundle: int) -> float:
        """The weight of the demands that the bundle alone would meet."""
        weights, ready = self.problem.weights, self.ready
        return sum(weights[each] for each in self.demands_of[bundle] if not ready[each])


def _grow(state: _State, target: float, factor: Callable[[], float] | None = None) -> None:
    """Adds bundles until the target is met. `factor` gives each a factor of its price."""
    lowest: dict[int, float] = {}
    factors: dict[int, float] = {}
    heap: list[tuple[float, int]] = []

    def ratio(bundle: int) -> float | None:
        gain = state.gain(bundle)
        if gain <= 0 or not state.missing[bundle]:
            return None
        if factor is None:
            return state.lacking[bundle] / gain
        if bundle not in factors:
            factors[bundle] = factor()
        return state.lacking[bundle] * factors[bundle] / gain

    for demand, ready in enumerate(state.ready):
        for bundle in () if ready else state.bundles_of[demand]:
            if bundle not in lowest and (first := ratio(bundle)) is not None:
                lowest[bundle] = first
                heap.append((first, bundle))
    heapify(heap)
    while heap and state.weight < target * (1 - _SLACK):
        found, bundle = heappop(heap)
        if lowest.get(bundle) != found:
            continue
        now = ratio(bundle)
        if now is None:
            continue
        if now > found * (1 + _SLACK):
            lowest[bundle] = now
            heappush(heap, (now, bundle))
            continue
        wanted = [each for each in state.bundles[bundle] if not state.is_made[each]]
        if not state.fits(*wanted):
            continue
        touched = set()
        for copy in wanted:
            state.add(copy)
            touched.update(state.having[copy])
        for other in touched:
            if other in lowest and (now := ratio(other)) is not None and now < lowest[other]:
                lowest[other] = now
                heappush(heap, (now, other))


def _peel(state: _State, target: float) -> None:
    """Removes copies, the least missed for their price first, while the target is met."""
    loss = [0.0] * len(state.prices)
    weights = state.problem.weights

    def only(demand: int) -> tuple[int, ...]:
        """The copies of the one bundle that meets the demand."""
        ready = (each for each in state.bundles_of[demand] if not state.missing[each])
        return state.bundles[next(ready)]

    for demand, ready in enumerate(state.ready):
        if ready == 1:
            for copy in only(demand):
                loss[copy] += weights[demand]
    current = {copy: loss[copy] / state.prices[copy] for copy in state.made()}
    heap = [(ratio, copy) for copy, ratio in current.items()]
    heapify(heap)
    floor = target * (1 - _SLACK)
    while heap:
        ratio, copy = heappop(heap)
        if not state.is_made[copy] or current[copy] != ratio:
            continue
        if loss[copy] > _SLACK and state.weight - loss[copy] < floor:
            continue
        changed = set()
        for bundle in state.having[copy]:
            for demand in () if state.missing[bundle] else state.demands_of[bundle]:
                ready = state.ready[demand]
                if ready == 1:
                    for each in state.bundles[bundle]:
                        loss[each] -= weights[demand]
                        changed.add(each)
        twice = [
            demand
            for bundle in state.having[copy]
            if not state.missing[bundle]
            for demand in state.demands_of[bundle]
            if state.ready[demand] == 2
        ]
        state.remove(copy)
        for demand in twice:
            for each in only(demand):
                loss[each] += weights[demand]
                changed.add(each)
        for each in changed:
            if state.is_made[each]:
                current[each] = loss[each] / state.prices[each]
                heappush(heap, (current[each], each))
