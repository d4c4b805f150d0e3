"""Counts the statements of a log by what they need, in statements a day."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from advice.replay import Option, ReadableIn, ReplayOutcome, ReplayVerdict
from advice.statement_log import Logged
from advice.stock import DAY
from conf.names import TableRef
from dialect.parsing.fingerprint import template
from dialect.statement import Namespace

HALF_LIFE = 14.0  # a statement that is so many days older counts half
_EXAMPLES = 5  # the most groups of each verdict


@dataclass(frozen=True, slots=True)
class DistinctText:
    """A text that is replayed once. `namespace` is its number in `TextCounts`; `day` is counted
    from 1970, None if the log has no times."""

    text: str
    namespace: int
    day: int | None

    @property
    def at(self) -> float | None:
        return None if self.day is None else self.day * DAY


@dataclass(slots=True)
class TextCounts:
    """The distinct texts of a log, with the number of statements of each."""

    counts: Counter[DistinctText] = field(default_factory=Counter)
    namespaces: list[Namespace] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    def add(self, each: Logged, namespace: Namespace) -> None:
        number = self._numbers.get(id(namespace))
        if number is None:
            number = self._numbers[id(namespace)] = len(self.namespaces)
            self.namespaces.append(namespace)
        day = None if each.at is None else int(each.at // DAY)
        self.counts[DistinctText(each.text, number, day)] += 1

    @property
    def statements(self) -> int:
        return sum(self.counts.values())

    def rates(self, half_life: float = HALF_LIFE, days: float = 1.0) -> dict[DistinctText, float]:
        """The statements a day of each text. A statement `half_life` days before the newest one
        counts half. Statements without a time are those of `days` days."""
        dated = [work.day for work in self.counts if work.day is not None]
        newest, oldest = max(dated, default=0), min(dated, default=0)
        span = newest - oldest + 1.0
        counted = half_life / log(2) * (1 - 0.5 ** (span / half_life))  # days, by their weights
        return {
            work: count / days
            if work.day is None
            else count * 0.5 ** ((newest - work.day + 0.5) / half_life) / counted
            for work, count in self.counts.items()
        }


@dataclass(frozen=True, slots=True)
class Demand:
    """Statements with the same options, `rate` a day."""

    options: tuple[Option, ...]
    rate: float


@dataclass(frozen=True, slots=True)
class TableUse:
    """Statements that read and write the same tables, `rate` a day. `reads` has each table with the
    clusters in which it can be read."""

    reads: ReadableIn
    writes: frozenset[TableRef]
    rate: float


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """The statements that do not run for one reason. `example` is one of their templates."""

    reason: str
    statements: int
    templates: int
    example: str


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """The outcomes of a log. `verdicts` and `codes` count statements; `writes` are writes a day by
    table, `rate` is all statements a day."""

    statements: int
    texts: int
    templates: int
    verdicts: Mapping[ReplayVerdict, int]
    codes: Mapping[str, int]
    groups: Mapping[ReplayVerdict, Sequence[ReasonGroup]]
    demands: Sequence[Demand]
    writes: Mapping[TableRef, float]
    rate: float
    uses: Sequence[TableUse] = ()


def summarize(outcomes: Iterable[tuple[DistinctText, int, float, ReplayOutcome]]) -> ReplaySummary:
    """Adds up outcomes, each with its text, the number of statements and their rate."""
    verdicts: Counter[ReplayVerdict] = Counter()
    codes: Counter[str] = Counter()
    demands: defaultdict[tuple[Option, ...], float] = defaultdict(float)
    writes: defaultdict[TableRef, float] = defaultdict(float)
    uses: defaultdict[tuple[ReadableIn, frozenset[TableRef]], float] = defaultdict(float)
    reasons: defaultdict[tuple[ReplayVerdict, str], Counter[str]] = defaultdict(Counter)
    templates: set[str] = set()
    texts = 0
    for work, count, rate, outcome in outcomes:
        texts += 1
        shape = template(work.text)
        templates.add(shape)
        verdicts[outcome.verdict] += count
        if outcome.code:
            codes[outcome.code] += count
        if outcome.verdict is not ReplayVerdict.RUNS:
            reasons[outcome.verdict, outcome.because][shape] += count
        demands[outcome.options] += rate
        for table in outcome.writes:
            writes[table] += rate
        if outcome.verdict in (ReplayVerdict.RUNS, ReplayVerdict.REFUSED):
            uses[outcome.readable_in, outcome.writes] += rate
    groups: defaultdict[ReplayVerdict, list[ReasonGroup]] = defaultdict(list)
    for (verdict, reason), shapes in reasons.items():
        example, _ = shapes.most_common(1)[0]
        groups[verdict].append(ReasonGroup(reason, shapes.total(), len(shapes), example))
    for found in groups.values():
        found.sort(key=lambda group: (-group.statements, group.reason))
        del found[_EXAMPLES:]
    return ReplaySummary(
        verdicts.total(),
        texts,
        len(templates),
        verdicts,
        codes,
        groups,
        [Demand(options, rate) for options, rate in demands.items()],
        writes,
        sum(demands.values()),
        [TableUse(readable_in, written, rate) for (readable_in, written), rate in uses.items()],
    )
