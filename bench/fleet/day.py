"""A day of the fleet, in the order of time.

Reads arrive with the rates of `shapes`; pipelines start at their times and write for some minutes.
While a table is written, and until its copies are sent again, the copies are stale. The proxy's
cache returns each statement's facts, and the proxy's router decides. The model checks each decision
by its own counters. At noon the advice is applied.
"""

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import log
from random import Random
from typing import Any

from bench.fleet.figures import Period
from bench.fleet.fleet import CLUSTERS, WHOLE, Fleet
from bench.fleet.links import Link, Links, Transfer
from bench.fleet.metadata import Cache, Metastore
from bench.fleet.planning import Planned, plan
from bench.fleet.shapes import PERIODS, SECONDS
from bench.fleet.statements import Drawn, Statements
from bench.fleet.templates import Analyses, Template
from conf.names import ClusterName
from conf.settings.settings import Coverage
from dialect.statement import Known
from router.decision import RunIn
from router.request import Facts, Request, wanted_partitions
from router.route import route

NUMBERS = {name: number for number, name in enumerate(CLUSTERS)}
WRITE_SECONDS = 120.0  # median time that a pipeline writes
NOON = PERIODS // 2
REPLAYED = 50_000  # statements of the morning in the advice's log
SNAPSHOT_LIMIT, SNAPSHOT_TTL = 10_000, 60.0  # the defaults of snapshot.limit and snapshot.ttl


class StaleRead(AssertionError):
    """A decision let a statement read stale data."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the simulation. `routed` is the share of the reads that are decided; all reads
    are drawn, and all pipelines run."""

    scale: float = 1.0
    seed: int = 1
    routed: float = 1.0
    replayed: int = REPLAYED
    limit: int = SNAPSHOT_LIMIT
    ttl: float = SNAPSHOT_TTL
    advised: bool = True


@dataclass(slots=True)
class Course:
    """The results of a day."""

    options: Options
    tables: int
    partitions: int
    statements: int = 0
    templates: int = 0
    analysed: int = 0
    analysis_seconds: float = 0.0
    seconds: float = 0.0
    periods: list[Period] = field(default_factory=list)
    planned: Planned | None = None
    shapes: dict[str, Any] = field(default_factory=dict)
    links: dict[str, dict[str, float]] = field(default_factory=dict)


class Day:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._fleet = Fleet(options.scale, options.seed)
        self._statements = Statements(self._fleet, options.seed)
        self._analyses = Analyses(self._fleet)
        self._random = Random(options.seed + 3)
        self._metastore = Metastore(self._fleet)
        self._now = 0.0
        self._cache = Cache(self._metastore, options.limit, options.ttl, lambda: self._now)
        self._links = Links()
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._event = 0
        self._stale_since: dict[tuple[int, int, int], float] = {}  # by table, day and cluster
        self._log: list[Drawn] = []
        templates = self._statements.templates
        self.course = Course(options, self._fleet.tables, self._fleet.partitions)
        self.course.templates = sum(
            map(len, (templates.jobs, templates.dashboards, templates.pipelines))
        )
        morning = sum(self._statements.count(period) for period in range(NOON)) * 1.1
        self._logged = min(1.0, options.replayed / morning)

    async def run(self, progress: Callable[[str], None] = lambda _: None) -> Course:
        """Simulates the whole day. Raises StaleRead."""
        began = time.process_time()
        for number in range(PERIODS):
            if number == NOON and self._options.advised:
                self._advise()
            await self._period(number)
            period = self.course.periods[-1]
            share = period.refused / max(period.routed, 1)
            progress(f"{number / 4:5.2f} h: {period.routed:,} routed, {share:.1%} refused")
        self.course.seconds = time.process_time() - began
        self.course.shapes = self._statements.document()
        self.course.links = {
            f"{CLUSTERS[source]} to {CLUSTERS[target]}": {
                "bytes": round(sent),
                "busy": round(self._links.busy[source, target] / (PERIODS * SECONDS), 4),
            }
            for (source, target), sent in sorted(self._links.sent.items())
        }
        return self.course

    async def _period(self, number: int) -> None:
        period = Period()
        self.course.periods.append(period)
        sent, hits = sum(self._links.sent.values()), self._cache.hits
        calls = self._metastore.calls.copy()
        start, count = number * SECONDS, self._statements.count(number)
        pipelines = sorted(self._statements.runs(number), key=lambda each: -each[0])
        for at in range(count):
            until = start + (at + 0.5) * SECONDS / count
            await self._until(until, pipelines, period)
            drawn = self._statements.draw()
            if self._random.random() < self._options.routed:
                await self._decide(drawn, period)
            self._note(drawn, number)
        await self._until(start + SECONDS, pipelines, period)
        period.stale, period.queued = len(self._stale_since), self._links.queued
        period.sent = sum(self._links.sent.values()) - sent
        period.hits = self._cache.hits - hits
        period.calls = self._metastore.calls - calls
        period.weight = self._cache.snapshot.counts()["weight"]
        period.rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    async def _until(
        self, until: float, pipelines: list[tuple[float, Drawn]], period: Period
    ) -> None:
        """Runs all events until this time."""
        while True:
            event = self._events[0][0] if self._events else until
            pipeline = pipelines[-1][0] if pipelines else until
            if min(event, pipeline) >= until:
                break
            if event <= pipeline:
                self._now, _, act, arguments = heappop(self._events)
                act(*arguments)
            else:
                self._now, drawn = pipelines.pop()
                self._note(drawn, int(self._now // SECONDS))
                if await self._decide(drawn, period):
                    self._write(drawn.template)
        self._now = until

    def _at(self, when: float, act: Callable[..., None], *arguments: Any) -> None:
        self._event += 1  # equal times keep their order
        heappush(self._events, (when, self._event, act, arguments))

    def _note(self, drawn: Drawn, period: int) -> None:
        self.course.statements += 1
        if period < NOON and self._random.random() < self._logged:
            self._log.append(drawn)

    # decisions

    async def _decide(self, drawn: Drawn, period: Period) -> bool:
        """Whether the statement runs."""
        analysed = self._analyses.count
        began = time.process_time()
        statement = self._analyses.statement(*drawn)
        ready = time.process_time()
        facts = await self._facts(statement, period)
        known = time.process_time()
        decision = route(Request(statement, CLUSTERS[0], clusters=CLUSTERS), facts)
        ended = time.process_time()
        if self._analyses.count > analysed:
            self.course.analysed += 1
            self.course.analysis_seconds += ready - began
        period.decisions.add(ended - ready)
        period.routes.add(ended - known)
        if isinstance(decision, RunIn):
            period.ran += 1
            period.elsewhere += self._checked(drawn, decision.cluster)
            return True
        period.refused += 1
        period.writes_refused += bool(statement.writes)
        period.codes[getattr(decision, "code", "answer")] += 1
        return False

    async def _facts(self, statement: Known, period: Period) -> Facts:
        found = {}
        for ref, selectors in wanted_partitions(statement, Coverage.READ).items():
            found[ref] = await self._cache.facts(self._fleet.number(ref), ref, selectors)
            period.looked_up += 1
        return found

    def _checked(self, drawn: Drawn, name: ClusterName) -> bool:
        """Whether the statement needs copies in the cluster. Raises StaleRead if it would read
        stale data."""
        template, cluster, fleet = drawn.template, NUMBERS[name], self._fleet
        days: Sequence[int] = [drawn.age + 1]
        if template.operator == ">=":
            days = [each + 1 for each in fleet.ages(template.main) if each <= drawn.age]
        reads = [(template.main, days), *((each, [WHOLE]) for each in template.joined)]
        if not all(fleet.is_readable(table, days, cluster) for table, days in reads):
            raise StaleRead(f"{template.text(fleet, str(drawn.age))} in {name}")
        if template.output is not None and fleet.primaries[template.output] != cluster:
            raise StaleRead(f"{template.text(fleet, str(drawn.age))} is written in {name}")
        return any(fleet.primaries[table] != cluster for table, _ in reads)

    # writes and copies

    def _write(self, template: Template) -> None:
        output, day = template.output, template.output_day
        assert output is not None
        self._fleet.begin_write(output, day)
        self._cache.changed(output)
        for cluster in self._fleet.copies_of(output):
            self._stale_since.setdefault((output, day, cluster), self._now)
        usual = WRITE_SECONDS * (0.5 - log(1 - self._random.random()))
        most = 0.5 * PERIODS * SECONDS / template.runs
        self._at(self._now + min(usual, most), self._written, output, day)

    def _written(self, table: int, day: int) -> None:
        self._fleet.end_write(table, day)
        self._cache.changed(table)
        for cluster in self._fleet.copies_of(table):
            self._send(table, cluster, (day,))

    def _send(self, table: int, cluster: int, days: tuple[int, ...]) -> None:
        size = self._fleet.bytes_of(table, len(days))
        self._queue(Transfer(table, cluster, days, size))

    def _queue(self, transfer: Transfer) -> None:
        link = self._fleet.primaries[transfer.table], transfer.cluster
        self._links.add(link, transfer)
        self._start(link)

    def _start(self, link: Link) -> None:
        """Starts the next transfer of the link. A table that is being written is not copied; the
        end of the write queues it again."""
        transfer = self._links.next(link)
        if transfer is not None:
            table = transfer.table
            held = {
                day: self._fleet.versions.get((table, day), 0)
                for day in transfer.days
                if (table, day) not in self._fleet.writing
            }
            self._at(self._now + transfer.seconds, self._sent, link, transfer, held)

    def _sent(self, link: Link, transfer: Transfer, held: dict[int, int]) -> None:
        self._links.ended(link, transfer)
        self._start(link)
        table, cluster = transfer.table, transfer.cluster
        copy = self._fleet.copies_of(table).get(cluster)
        if copy is None or not held:
            return
        copy.have.update(held)
        self._fleet.facts_changed(table)
        self._cache.changed(table)
        for day, version in held.items():
            since = self._stale_since.get((table, day, cluster))
            if (table, day) not in self._fleet.writing and since is not None:
                if version == self._fleet.versions.get((table, day), 0):
                    del self._stale_since[table, day, cluster]
                    self.course.periods[-1].lags.append(self._now - since)
                else:
                    self._send(table, cluster, (day,))

    def _advise(self) -> None:
        transfers, self.course.planned = plan(
            self._fleet, self._statements.templates, self._log, self.course.statements
        )
        for table in list(self._fleet.copies):
            self._cache.changed(table)
        dropped = [
            each for each in self._stale_since if each[2] not in self._fleet.copies_of(each[0])
        ]
        for each in dropped:
            del self._stale_since[each]
        for transfer in transfers:
            self._queue(transfer)
