"""A standing policy: which copies to have as statements change, with little to move."""

from collections import defaultdict
from dataclasses import dataclass

from advice.copies import Candidates
from advice.solvers.exact import cheapest


@dataclass(frozen=True, slots=True)
class Policy:
    """Copies are planned again when less than `share` minus `hysteresis` of the statements run with
    those that are there, or a budget is exceeded; then for `share` of them. Between plans nothing
    is moved. Copies that a new plan does not need stay as long as their price is at most `spare` of
    the plan's and budgets allow it, those that most statements name first: what was popular often
    is again. `drops_unread`: copies that no statement could read are dropped at once.
    """

    share: float = 0.9
    hysteresis: float = 0.02
    spare: float = 0.25
    drops_unread: bool = False

    def copies(self, found: Candidates) -> frozenset[int]:
        """The numbers of the copies to have."""
        problem, present = found.problem, found.present
        if self.drops_unread:
            present &= found.read
        enough = (self.share - self.hysteresis) * problem.total
        if problem.met(present) >= enough and problem.within_limits(present):
            return present
        made = cheapest(problem, self.share * problem.total, present)
        return made | self._spare(found, made)

    def _spare(self, found: Candidates, made: frozenset[int]) -> frozenset[int]:
        problem = found.problem
        left = self.spare * problem.price(made)
        named: defaultdict[int, float] = defaultdict(float)
        for weight, options in zip(problem.weights, problem.options, strict=True):
            for option in options:
                for copy in option:
                    named[copy] += weight
        idle = [copy for copy in found.present - made if named[copy] > 0]
        kept: set[int] = set()
        for copy in sorted(idle, key=lambda copy: (-named[copy], copy)):
            price = problem.prices[copy]
            if price <= left and problem.within_limits({*made, *kept, copy}):
                kept.add(copy)
                left -= price
        return frozenset(kept)
