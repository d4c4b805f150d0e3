"""Selects cheap copies for a weight of demands by heuristics.

- `_grow` adds bundles of copies until the target is met, each time the one with the lowest price
  for its weight.
- `_peel` removes copies while the target is met, each time the one with the lowest loss of weight
  for its price.
- Several starts grow with randomly changed prices: that varies which cluster gets the large tables.
- Rounds of improvement remove or add some copies at random, and then grow and peel.

The random numbers have a fixed seed and the number of rounds is fixed, so that equal problems have
equal results.
"""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from math import exp
from random import Random

from advice.solvers.problem import OptionCopies, SelectionProblem

_SLACK = 1e-9
_MAX_VISITS = 1_500_000  # of copies in bundles, in all starts and rounds; larger problems get fewer
_STARTS = 16
_ROUNDS = 100  # of improvement for each of the best starts; every start gets a quarter
_OVERSHOOT = 1.04  # factor of the target for growth, so that peeling has more to choose from
_FREE = 1e-6  # added to prices, so that copies without bytes are not selected for nothing

Selection = frozenset[int]


def search(problem: SelectionProblem, target: float, start: Iterable[int] = ()) -> Selection:
    """Copies within the limits that meet `target`, or as much of it as was found.

    `start` are copies to begin with, such as those that are there; they may be removed.
    """
    return _LocalSearch(problem, target).best(start)


class _LocalSearch:
    def __init__(self, problem: SelectionProblem, target: float) -> None:
        self.problem = problem
        self.target = min(target, problem.reachable())
        self.state = _SelectionState(problem)
        self.random = Random(20)
        size = 1 + sum(len(ids) for ids in self.state.bundles)
        self.share = min(1.0, _MAX_VISITS / size / (_STARTS * _ROUNDS / 2))  # of all rounds

    def best(self, start: Iterable[int]) -> Selection:
        state = self.state
        for copy in start:
            if state.fits(copy):
                state.add(copy)
        pool = [self._grow_and_peel(self.target), self._from_empty(), self._from_all()]
        pool += [self._from_random_prices() for _ in range(round(self.share * (_STARTS - 3)))]
        pool = [self._improve(each, _ROUNDS // 4) for each in sorted(pool, key=self._rank)]
        pool.sort(key=self._rank)
        few = max(1, len(pool) // 4)
        return min((self._improve(each, _ROUNDS) for each in pool[:few]), key=self._rank)

    def _rank(self, selected: Selection) -> tuple[float, float]:
        """Lower is better: the target first, then the price."""
        met = min(self.problem.met(selected), self.target * (1 - _SLACK))
        return -met, self.problem.price(selected)

    def _grow_and_peel(self, goal: float, factor: "Callable[[], float] | None" = None) -> Selection:
        """The selection after growth from the current state to the goal, and peeling."""
        _grow(self.state, goal, factor)
        _peel(self.state, min(self.target, self.state.weight))
        return self.state.selected()

    def _from_empty(self) -> Selection:
        self.state.clear()
        return self._grow_and_peel(min(self.target * _OVERSHOOT, self.problem.reachable()))

    def _from_all(self) -> Selection:
        """A selection peeled from all copies; grown from none if there are limits."""
        self.state.clear()
        for copy in () if self.problem.limits else range(len(self.problem.prices)):
            self.state.add(copy)
        return self._grow_and_peel(self.target)

    def _from_random_prices(self) -> Selection:
        state, true = self.state, self.state.prices
        state.prices = [price * exp(self.random.gauss(0, 1)) for price in true]
        state.clear()
        _grow(state, self.target)
        selected = state.selected()
        state.prices = true
        state.clear()
        state.reset(selected)
        return self._grow_and_peel(self.target)

    def _improve(self, selected: Selection, rounds: int) -> Selection:
        """The best selection of some rounds. A slightly worse one is accepted at times."""
        state, random = self.state, self.random
        best = present = selected
        rank = at = self._rank(selected)
        state.reset(selected)
        for _ in range(round(self.share * rounds)):
            if not present:
                break
            self._perturb(present)
            beyond = self.target if random.random() < 0.6 else self.target * _OVERSHOOT
            found = self._grow_and_peel(beyond, lambda: random.uniform(0.5, 2))
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

    def _perturb(self, present: Selection) -> None:
        """Removes some of the copies at random, or adds a few others."""
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


class _SelectionState:
    """The selected copies, and what follows for bundles and demands, updated with each change.

    A bundle is an option of one or more demands. `missing` counts the copies that a bundle lacks,
    and `lacking` is their price; `ready` counts the complete bundles of a demand.
    """

    def __init__(self, problem: SelectionProblem) -> None:
        self.problem = problem
        self.prices = [price + _FREE for price in problem.prices]
        numbers: dict[OptionCopies, int] = {}
        self.demands_of: list[list[int]] = []
        self.bundles_of: list[list[int]] = [[] for _ in problem.weights]
        self.bundles_with: list[list[int]] = [[] for _ in problem.prices]
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
                self.bundles_with[copy].append(bundle)
        self.is_selected = bytearray(len(problem.prices))
        self.limits_of: list[list[int]] = [[] for _ in problem.prices]
        for number, limit in enumerate(problem.limits):
            for copy in limit.loads:
                self.limits_of[copy].append(number)
        self.clear()

    def clear(self) -> None:
        self.is_selected = bytearray(len(self.problem.prices))
        self.missing = [len(ids) for ids in self.bundles]
        self.lacking = [sum(self.prices[each] for each in ids) for ids in self.bundles]
        self.ready = [
            sum(not self.bundles[bundle] for bundle in found) for found in self.bundles_of
        ]
        weights = zip(self.problem.weights, self.ready, strict=True)
        self.weight = float(sum(weight for weight, ready in weights if ready))
        self.used = [0.0] * len(self.problem.limits)

    def reset(self, selected: Iterable[int]) -> None:
        """Selects exactly these copies."""
        wanted, present = set(selected), self.selected()
        for copy in sorted(present - wanted):
            self.remove(copy)
        for copy in sorted(wanted - present):
            self.add(copy)

    def selected(self) -> frozenset[int]:
        return frozenset(copy for copy, selected in enumerate(self.is_selected) if selected)

    def fits(self, *copies: int) -> bool:
        """Whether the limits allow these copies, which are not selected yet, in addition."""
        loads: dict[int, float] = {}
        for copy in copies:
            for number in self.limits_of[copy]:
                more = self.problem.limits[number].loads[copy]
                loads[number] = loads.get(number, self.used[number]) + more
        limits = self.problem.limits
        return all(load <= limits[number].bound * (1 + _SLACK) for number, load in loads.items())

    def add(self, copy: int) -> None:
        if self.is_selected[copy]:
            return
        self.is_selected[copy] = 1
        price = self.prices[copy]
        for number in self.limits_of[copy]:
            self.used[number] += self.problem.limits[number].loads[copy]
        for bundle in self.bundles_with[copy]:
            self.missing[bundle] -= 1
            self.lacking[bundle] -= price
            if not self.missing[bundle]:
                for demand in self.demands_of[bundle]:
                    self.ready[demand] += 1
                    if self.ready[demand] == 1:
                        self.weight += self.problem.weights[demand]

    def remove(self, copy: int) -> None:
        if not self.is_selected[copy]:
            return
        self.is_selected[copy] = 0
        price = self.prices[copy]
        for number in self.limits_of[copy]:
            self.used[number] -= self.problem.limits[number].loads[copy]
        for bundle in self.bundles_with[copy]:
            if not self.missing[bundle]:
                for demand in self.demands_of[bundle]:
                    self.ready[demand] -= 1
                    if not self.ready[demand]:
                        self.weight -= self.problem.weights[demand]
            self.missing[bundle] += 1
            self.lacking[bundle] += price

    def gain(self, bundle: int) -> float:
        """The weight of the demands that the bundle would meet and that are not met yet."""
        weights, ready = self.problem.weights, self.ready
        return sum(weights[each] for each in self.demands_of[bundle] if not ready[each])


def _grow(state: _SelectionState, target: float, factor: Callable[[], float] | None = None) -> None:
    """Adds bundles until the target is met. `factor` returns a factor for the price of each."""
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
        wanted = [each for each in state.bundles[bundle] if not state.is_selected[each]]
        if not state.fits(*wanted):
            continue
        changed_bundles = set()
        for copy in wanted:
            state.add(copy)
            changed_bundles.update(state.bundles_with[copy])
        for other in changed_bundles:
            if other in lowest and (now := ratio(other)) is not None and now < lowest[other]:
                lowest[other] = now
                heappush(heap, (now, other))


def _peel(state: _SelectionState, target: float) -> None:
    """Removes copies, those with the lowest loss for their price first, while the target is met."""
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
    current = {copy: loss[copy] / state.prices[copy] for copy in state.selected()}
    heap = [(ratio, copy) for copy, ratio in current.items()]
    heapify(heap)
    floor = target * (1 - _SLACK)
    while heap:
        ratio, copy = heappop(heap)
        if not state.is_selected[copy] or current[copy] != ratio:
            continue
        if loss[copy] > _SLACK and state.weight - loss[copy] < floor:
            continue
        changed = set()
        for bundle in state.bundles_with[copy]:
            for demand in () if state.missing[bundle] else state.demands_of[bundle]:
                ready = state.ready[demand]
                if ready == 1:
                    for each in state.bundles[bundle]:
                        loss[each] -= weights[demand]
                        changed.add(each)
        twice = [
            demand
            for bundle in state.bundles_with[copy]
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
            if state.is_selected[each]:
                current[each] = loss[each] / state.prices[each]
                heappush(heap, (current[each], each))
