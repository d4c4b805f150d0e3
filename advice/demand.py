"""The statements of a log by what they need, in statements a day."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from advice.replay import Held, Option, Outcome, Verdict
from advice.statement_log import Logged
from advice.stock import DAY
from conf.names import TableRef
from dialect.parsing.fingerprint import template
from dialect.statement import Namespace

HALF_LIFE = 14.0  # days after which a statement counts half
_EXAMPLES = 5  # groups of each kind of reason that are named


@dataclass(frozen=True, slots=True)
class Work:
    """One text that is replayed once: `day` counts from 1970, None where the log has no times."""

    text: str
    namespace: int
    day: int | None

    @property
    def at(self) -> float | None:
        return None if self.day is None else self.day * DAY


@dataclass(slots=True)
class Tally:
    """The distinct texts of a log with their numbers of statements."""

    counts: Counter[Work] = field(default_factory=Counter)
    namespaces: list[Namespace] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    def add(self, each: Logged, namespace: Namespace) -> None:
        number = self._numbers.get(id(namespace))
        if number is None:
            number = self._numbers[id(namespace)] = len(self.namespaces)
            self.namespaces.append(namespace)
        day = None if each.at is None else int(each.at // DAY)
        self.counts[Work(each.text, number, day)] += 1

    @property
    def statements(self) -> int:
        return sum(self.counts.values())

    def rates(self, half_life: float = HALF_LIFE, days: float = 1.0) -> dict[Work, float]:
        """Statements a day of each text. Statements `half_life` days before the newest one count
        half; those without a time are of `days` days."""
        dated = [work.day for work in self.counts if work.day is not None]
        newest, oldest = max(dated, default=0), min(dated, default=0)
        span = newest - oldest + 1.0
        counted = half_life / log(2) * (1 - 0.5 ** (span / half_life))  # days, as they count
        return {
            work: count / days
            if work.day is None
            else count * 0.5 ** ((newest - work.day + 0.5) / half_life) / counted
            for work, count in self.counts.items()
        }


@dataclass(frozen=True, slots=True)
class Demand:
    """Statements that need the same: `rate` of them a day."""

    options: tuple[Option, ...]
    rate: float


@dataclass(frozen=True, slots=True)
class Use:
    """Statements that name the same tables, `rate` of them a day: those that they read, each with
    the clusters that have what is read of it, and those that they write."""

    reads: Held
    writes: frozenset[TableRef]
    rate: float


@dataclass(frozen=True, slots=True)
class Group:
    """Statements that do not run for one reason. `example` is one of their templates."""

    reason: str
    statements: int
    templates: int
    example: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """A log replayed. `verdicts` and `codes` count statements; `writes` are a day, by table."""

    statements: int
    texts: int
    templates: int
    verdicts: Mapping[Verdict, int]
    codes: Mapping[str, int]
    groups: Mapping[Verdict, Sequence[Group]]
    demands: Sequence[Demand]
    writes: Mapping[TableRef, float]
    rate: float
    uses: Sequence[Use] = ()


def gathered(outcomes: Iterable[tuple[Work, int, float, Outcome]]) -> Replayed:
    """Adds up outcomes, each with the number of statements and their rate."""
    verdicts: Counter[Verdict] = Counter()
    codes: Counter[str] = Counter()
    demands: defaultdict[tuple[Option, ...], float] = defaultdict(float)
    writes: defaultdict[TableRef, float] = defaultdict(float)
    uses: defaultdict[tuple[Held, frozenset[TableRef]], float] = defaultdict(float)
    reasons: defaultdict[tuple[Verdict, str], Counter[str]] = defaultdict(Counter)
    templates: set[str] = set()
    texts = 0
    for work, count, rate, outcome in outcomes:
        texts += 1
        shape = template(work.text)
        templates.add(shape)
        verdicts[outcome.verdict] += count
        if outcome.code:
            codes[outcome.code] += count
        if outcome.verdict is not Verdict.RUNS:
            reasons[outcome.verdict, outcome.because][shape] += count
        demands[outcome.options] += rate
        for table in outcome.writes:
            writes[table] += rate
        if outcome.verdict in (Verdict.RUNS, Verdict.REFUSED):
            uses[outcome.held, outcome.writes] += rate
    groups: defaultdict[Verdict, list[Group]] = defaultdict(list)
    for (verdict, reason), shapes in reasons.items():
        example, _ = shapes.most_common(1)[0]
        groups[verdict].append(Group(reason, shapes.total(), len(shapes), example))
    for found in groups.values():
        found.sort(key=lambda group: (-group.statements, group.reason))
        del found[_EXAMPLES:]
    return Replayed(
        verdicts.total(),
        texts,
        len(templates),
        verdicts,
        codes,
        groups,
        [Demand(options, rate) for options, rate in demands.items()],
        writes,
        sum(demands.values()),
        [Use(held, written, rate) for (held, written), rate in uses.items()],
    )
