"""The selection of copies as a problem of numbers.

Copies have prices; demands have weights and options. A demand is met if all copies of one of its
options are selected. An option without copies is always available, and a demand without options is
never met. The options of one demand have no copy in common, because each is in another cluster. A
solution is a cheap selection that meets a target, a weight of demands, within limits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

OptionCopies = tuple[int, ...]  # numbers of copies, ascending


@dataclass(frozen=True, slots=True)
class Limit:
    """The `loads` of all selected copies may be at most `bound` in all."""

    name: str
    bound: float
    loads: Mapping[int, float]

    def load(self, selected: Iterable[int]) -> float:
        return sum(self.loads.get(each, 0) for each in selected)


@dataclass(frozen=True, slots=True)
class SelectionProblem:
    """`prices` by copy; `weights` and `options` by demand."""

    prices: Sequence[float]
    weights: Sequence[float]
    options: Sequence[tuple[OptionCopies, ...]]
    limits: tuple[Limit, ...] = ()
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", float(sum(self.weights)))

    def price(self, selected: Iterable[int]) -> float:
        return sum(self.prices[each] for each in selected)

    def met(self, selected: Iterable[int]) -> float:
        """The weight of the demands that the selection meets."""
        copies = set(selected)
        return sum(
            weight
            for weight, options in zip(self.weights, self.options, strict=True)
            if any(copies.issuperset(option) for option in options)
        )

    def reachable(self) -> float:
        """The weight of the demands that all copies together meet."""
        return sum(w for w, options in zip(self.weights, self.options, strict=True) if options)

    def within_limits(self, selected: Iterable[int]) -> bool:
        copies = tuple(selected)
        return all(limit.load(copies) <= limit.bound * (1 + 1e-9) for limit in self.limits)
