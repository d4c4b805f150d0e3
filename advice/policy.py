"""A policy for plans that are made again and again: few copies are made or dropped each time."""

from collections import defaultdict
from dataclasses import dataclass

from advice.copies import Candidates
from advice.solvers.exact import cheapest


@dataclass(frozen=True, slots=True)
class CopyPolicy:
    """Decides when to make a new plan, and which copies to keep beside it.

    A new plan is made if less than `share` minus `hysteresis` of the statements run with the
    existing copies, or if a budget is exceeded. It is made for `share` of the statements. Copies
    that it does not need stay while their price is at most `spare` of the plan's and the budgets
    allow it, those of the most statements first: tables that were popular often are again.
    `drops_unread`: copies that no statement could read are dropped at once.
    """

    share: float = 0.9
    hysteresis: float = 0.02
    spare: float = 0.25
    drops_unread: bool = False

    def copies(self, candidates: Candidates) -> frozenset[int]:
        """The numbers of the copies to have."""
        problem, present = candidates.problem, candidates.present
        if self.drops_unread:
            present &= candidates.read
        enough = (self.share - self.hysteresis) * problem.total
        if problem.met(present) >= enough and problem.within_limits(present):
            return present
        selected = cheapest(problem, self.share * problem.total, present)
        return selected | self._spare(candidates, selected)

    def _spare(self, candidates: Candidates, selected: frozenset[int]) -> frozenset[int]:
        problem = candidates.problem
        left = self.spare * problem.price(selected)
        named: defaultdict[int, float] = defaultdict(float)
        for weight, options in zip(problem.weights, problem.options, strict=True):
            for option in options:
                for copy in option:
                    named[copy] += weight
        idle = [copy for copy in candidates.present - selected if named[copy] > 0]
        kept: set[int] = set()
        for copy in sorted(idle, key=lambda copy: (-named[copy], copy)):
            price = problem.prices[copy]
            if price <= left and problem.within_limits({*selected, *kept, copy}):
                kept.add(copy)
                left -= price
        return frozenset(kept)
