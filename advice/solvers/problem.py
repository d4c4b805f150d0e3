"""The choice of copies as numbers: copies have prices, demands have weights and options.

A demand is met while all copies of one of its options are made; an option without copies is always
there, a demand without options is never met. The options of one demand share no copy, since each
is of another cluster. Wanted are the cheapest copies that meet a weight of demands within limits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Option = tuple[int, ...]  # numbers of copies, ascending


@dataclass(frozen=True, slots=True)
class Limit:
    """The copies made may have at most `bound` of what `loads` says of each."""

    name: str
    bound: float
    loads: Mapping[int, float]

    def load(self, made: Iterable[int]) -> float:
        return sum(self.loads.get(each, 0) for each in made)


@dataclass(frozen=True, slots=True)
class Problem:
    """`prices` by copy; `weights` and `options` by demand."""

    prices: Sequence[float]
    weights: Sequence[float]
    options: Sequence[tuple[Option, ...]]
    limits: tuple[Limit, ...] = ()
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", float(sum(self.weights)))

    def price(self, made: Iterable[int]) -> float:
        return sum(self.prices[each] for each in made)

    def met(self, made: Iterable[int]) -> float:
        """The weight of the demands that these copies meet."""
        have = set(made)
        return sum(
            weight
            for weight, options in zip(self.weights, self.options, strict=True)
            if any(have.issuperset(option) for option in options)
        )

    def reachable(self) -> float:
        """The weight that all copies meet, without limits."""
        return sum(w for w, options in zip(self.weights, self.options, strict=True) if options)

    def within_limits(self, made: Iterable[int]) -> bool:
        copies = tuple(made)
        return all(limit.load(copies) <= limit.bound * (1 + 1e-9) for limit in self.limits)
