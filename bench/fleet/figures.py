"""The counters of each period of the day, and the curves made from them."""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import frexp, ldexp
from typing import Any

MICROSECOND = 1e-6


class Durations:
    """A histogram of times, in steps of an eighth of a power of two, with quantiles of millions in
    little memory."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.total, self.count = 0.0, 0

    def add(self, seconds: float) -> None:
        mantissa, exponent = frexp(max(seconds / MICROSECOND, 1.0))  # 0.5 <= mantissa < 1
        self._counts[8 * exponent + int(16 * mantissa - 8)] += 1
        self.total += seconds
        self.count += 1

    def quantile(self, share: float) -> float:
        """The quantile in seconds, at most an eighth too high."""
        left = share * self.count
        for number in sorted(self._counts):
            left -= self._counts[number]
            if left <= 0:
                exponent, part = divmod(number, 8)
                return ldexp((9 + part) / 16, exponent) * MICROSECOND
        return 0.0

    def document(self) -> dict[str, float]:
        """Microseconds."""
        mean = self.total / max(self.count, 1)
        found = {"mean": mean, "p50": self.quantile(0.5), "p99": self.quantile(0.99)}
        found["p999"] = self.quantile(0.999)
        return {name: round(seconds / MICROSECOND, 1) for name, seconds in found.items()}


@dataclass(slots=True)
class Period:
    """The counters of a period. `ran` and `refused` count decided statements; `elsewhere` those
    that ran with copies. `lags` are the seconds from the first write that a copy missed until it
    was fresh again. `stale` copies and `queued` transfers are counted at the end of the period.
    `sent` are bytes, `hits` tables whose facts were in memory, `rss` the most memory of the
    process."""

    ran: int = 0
    refused: int = 0
    writes_refused: int = 0
    elsewhere: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    lags: array = field(default_factory=lambda: array("f"))  # type: ignore[type-arg]
    stale: int = 0
    queued: int = 0
    sent: float = 0.0
    looked_up: int = 0
    hits: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    weight: int = 0
    rss: int = 0
    decisions: Durations = field(default_factory=Durations)
    routes: Durations = field(default_factory=Durations)

    @property
    def routed(self) -> int:
        return self.ran + self.refused

    def figures(self) -> dict[str, Any]:
        """The figures that depend only on the seed."""
        lags = sorted(self.lags)
        return {
            "routed": self.routed,
            "refused": self.refused,
            "refused_writes": self.writes_refused,
            "elsewhere": self.elsewhere,
            "codes": dict(sorted(self.codes.items())),
            "copies_refreshed": len(lags),
            "lag_median": round(quantile(lags, 0.5), 1),
            "lag_p99": round(quantile(lags, 0.99), 1),
            "stale": self.stale,
            "transfers_waiting": self.queued,
            "bytes_sent": round(self.sent),
            "tables_looked_up": self.looked_up,
            "from_memory": self.hits,
            "metastore_calls": dict(sorted(self.calls.items())),
            "snapshot_weight": self.weight,
        }

    def times(self) -> dict[str, Any]:
        """The figures that depend on the machine: microseconds, and bytes of the process."""
        return {
            "decision": self.decisions.document(),
            "route": self.routes.document(),
            "memory": self.rss,
        }


def quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def totals(periods: Iterable[Period]) -> dict[str, Any]:
    """The sums of periods."""
    every = list(periods)
    codes: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    lags: list[float] = []
    for each in every:
        codes.update(each.codes)
        calls.update(each.calls)
        lags.extend(each.lags)
    lags.sort()
    routed, looked = sum(e.routed for e in every), sum(e.looked_up for e in every)
    refused = sum(e.refused for e in every)
    return {
        "routed": routed,
        "ran": sum(e.ran for e in every),
        "refused": refused,
        "refused_share": round(refused / max(routed, 1), 4),
        "refused_writes": sum(e.writes_refused for e in every),
        "elsewhere": sum(e.elsewhere for e in every),
        "codes": dict(sorted(codes.items())),
        "copies_refreshed": len(lags),
        "lag_median": round(quantile(lags, 0.5), 1),
        "lag_p99": round(quantile(lags, 0.99), 1),
        "bytes_sent": round(sum(e.sent for e in every)),
        "tables_looked_up": looked,
        "from_memory": sum(e.hits for e in every),
        "metastore_calls": dict(sorted(calls.items())),
    }
