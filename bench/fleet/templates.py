"""The templates of the fleet's statements: their texts and their real analyses.

- *jobs* read one partition of a large table, joined with few dimensions; their shares of paths and
  bytes are those of the trace.
- *dashboards* read the newest days of a table, joined with as many as queries of TPC-DS join, and
  repeat few texts.
- *pipelines* write today's partition of a table, or a whole dimension, some times a day.

Each template is analysed once. Statements of a template differ only in the day that they name; the
analysed condition for that day replaces the template's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from bench.fleet.fleet import AREA, DIMENSIONS, WHOLE, Fleet, day_of
from bench.fleet.shapes import TABLES_OF_QUERIES, Weighted
from dialect.analyze import analyze
from dialect.statement import Known, Namespace, PartitionPredicate, Read

DASHBOARDS, PIPELINES = 20, 50  # of an area
OF_DIMENSIONS = 15  # of the pipelines of an area
FOREIGN = 0.10  # of the templates join dimensions of another area
WINDOWS = Weighted((0.3, 0.4, 0.3))  # of dashboards
WINDOW_DAYS = (1, 7, 30)
RUNS = Weighted((0.3, 0.2, 0.4, 0.1))  # of pipelines
RUNS_A_DAY = (1, 4, 24, 96)
VARIANTS = 20  # of a dashboard's text
_WANTED = "1970-01-01"  # the day in a template's text


@dataclass(frozen=True, slots=True)
class Template:
    """`main` is read with a condition on its day (`operator`), `joined` as a whole. `output` is
    written, today's partition of it if it has partitions. `runs` a day are those of pipelines,
    `window` are days of dashboards."""

    main: int
    joined: tuple[int, ...]
    operator: str = "="
    output: int | None = None
    runs: int = 0
    window: int = 1

    @property
    def output_day(self) -> int:
        """The day that is written, as in `fleet.Object`; of dimensions WHOLE."""
        output = self.output
        return WHOLE if output is None or output % AREA < DIMENSIONS else 1

    def text(self, fleet: Fleet, day: str) -> str:
        joins = "".join(
            f" JOIN {fleet.ref(table)} d{n} ON f.k{n} = d{n}.k"
            for n, table in enumerate(self.joined, 1)
        )
        where = f" WHERE f.ds {self.operator} '{day}'"
        source = f"FROM {fleet.ref(self.main)} f{joins}{where}"
        label = "d1.name" if self.joined else "f.note"
        if self.output is None:
            return f"SELECT f.k, {label}, sum(f.v) AS v {source} GROUP BY f.k, {label}"
        target = fleet.ref(self.output)
        if self.output_day == WHOLE:
            rows = f"SELECT f.k, {label}, 'kind' AS kind {source}"
            return f"INSERT OVERWRITE TABLE {target} {rows}"
        keys = ", ".join(f"f.k{n}" for n in range(1, 13))
        part = f"PARTITION (ds = '{day_of(0)}')"
        return f"INSERT OVERWRITE TABLE {target} {part} SELECT f.k, {keys}, f.v, {label} {source}"


@dataclass(frozen=True, slots=True)
class Templates:
    """All templates, by kind."""

    jobs: Sequence[Template]
    dashboards: Sequence[Template]
    pipelines: Sequence[Template]


def templates_of(fleet: Fleet, seed: int, paths: float) -> Templates:
    """Templates for each area; the jobs of an area can read about `paths` partitions."""
    random = Random(seed + 1)
    jobs: list[Template] = []
    dashboards: list[Template] = []
    pipelines: list[Template] = []
    queries = Weighted(tuple(TABLES_OF_QUERIES.values()))
    numbers = tuple(TABLES_OF_QUERIES)
    for area in range(fleet.areas):
        facts = [area * AREA + n for n in range(DIMENSIONS, AREA)]
        dated = [table for table in facts if fleet.days[table]]
        random.shuffle(dated)
        left = paths
        for table in dated:
            if left <= 0:
                break
            left -= fleet.days[table]
            joined = _dimensions(fleet, random, area, random.choice((0, 1, 1, 2)))
            jobs.append(Template(table, joined))
        for _ in range(DASHBOARDS):
            joined = _dimensions(fleet, random, area, numbers[queries.draw(random)] - 1)
            window = WINDOW_DAYS[WINDOWS.draw(random)]
            dashboards.append(Template(random.choice(dated), joined, ">=", window=window))
        pipelines += _pipelines(fleet, random, area, dated)
    random.shuffle(dashboards)
    return Templates(jobs, dashboards, pipelines)


def _pipelines(fleet: Fleet, random: Random, area: int, dated: list[int]) -> list[Template]:
    daily = [table for table in dated if fleet.hours[table] == 1]
    dimensions = random.sample(range(DIMENSIONS), OF_DIMENSIONS)
    outputs = [area * AREA + n for n in dimensions]
    outputs += random.sample(daily, PIPELINES - OF_DIMENSIONS)
    return [
        Template(
            random.choice([each for each in dated if each != output]),
            _dimensions(fleet, random, area, random.choice((0, 1, 1, 2)), output),
            output=output,
            runs=RUNS_A_DAY[RUNS.draw(random)],
        )
        for output in outputs
    ]


def _dimensions(
    fleet: Fleet, random: Random, area: int, count: int, output: int | None = None
) -> tuple[int, ...]:
    """Dimensions of the area, the first ones more often; with one of another area at times."""
    found: dict[int, None] = {}
    while len(found) < min(count, DIMENSIONS - 2):
        table = area * AREA + int(DIMENSIONS * random.random() ** 2)
        if table != output:
            found[table] = None
    if found and random.random() < FOREIGN:
        found.popitem()
        other = random.randrange(fleet.areas) * AREA + random.randrange(DIMENSIONS)
        if other != output:
            found[other] = None
    return tuple(found)


class Analyses:
    """The analyses of statements: a template's analysis with the condition for the named day.

    Templates are cached by identity, so they must live as long as this object.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._known: dict[int, Known] = {}
        self._conditions: dict[tuple[str, str], PartitionPredicate] = {}
        self.count = 0

    def statement(self, template: Template, age: int) -> Known:
        """The statement of the template that names the day of that age."""
        known = self._known.get(id(template))
        if known is None:
            known = self._known[id(template)] = self.analysed(template.text(self._fleet, _WANTED))
        main = self._fleet.ref(template.main)
        condition = self._condition(template, day_of(age))
        reads = tuple(Read(main, condition) if each.table == main else each for each in known.reads)
        return replace(known, reads=reads)

    def analysed(self, text: str) -> Known:
        self.count += 1
        found = analyze(text, Namespace(), self._fleet)
        assert isinstance(found, Known), (found, text)
        return found

    def _condition(self, template: Template, day: str) -> PartitionPredicate:
        """The condition of any table: their partitions have the same key."""
        key = template.operator, day
        if key not in self._conditions:
            table = self._fleet.ref(template.main)
            text = f"SELECT f.k FROM {table} f WHERE f.ds {template.operator} '{day}'"
            found = analyze(text, Namespace(), self._fleet)
            assert isinstance(found, Known)
            self._conditions[key] = found.reads[0].partitions
        return self._conditions[key]
