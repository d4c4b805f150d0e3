"""Advice at noon: replays statements of the morning, and plans copies with which more of them run.

The replay, the candidates, the search and the policy are those of `causeway advise`. A sample of
the morning's statements represents all of them.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from advice.copies import Advice, Budgets, advice, candidates
from advice.demand import DistinctText, ReplaySummary, summarize
from advice.policy import CopyPolicy
from advice.replay import ReplayOutcome, replay
from advice.stock import DAY, Stock, TableStock
from bench.fleet.fleet import CLUSTERS, TODAY, Copy, Fleet, day_of
from bench.fleet.links import RATE, Transfer
from bench.fleet.metadata import Metastore
from bench.fleet.statements import Drawn
from bench.fleet.templates import Templates
from conf.names import TableRef
from dialect.statement import Namespace
from metastore.snapshot.partitions import PartitionSheet

SHARE = 0.97  # of the statements that are to run
LINK_SHARE = 0.5  # of what a link can send a day may be for copies
NOON = datetime(TODAY.year, TODAY.month, TODAY.day, 12, tzinfo=UTC).timestamp()


@dataclass(slots=True)
class Planned:
    """The results of planning. `seconds` are processor times by step; all else depends only on the
    seed."""

    replayed: int = 0
    tables: int = 0
    demands: int = 0
    candidates: int = 0
    made: int = 0
    dropped: int = 0
    share_before: float = 0.0
    share_then: float = 0.0
    bytes: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)


class _Clock:
    def __init__(self, planned: Planned) -> None:
        self._planned, self._since = planned, time.process_time()

    def lap(self, name: str) -> None:
        now = time.process_time()
        self._planned.seconds[name] = round(now - self._since, 3)
        self._since = now


def plan(
    fleet: Fleet, templates: Templates, log: Sequence[Drawn], statements: int
) -> tuple[list[Transfer], Planned]:
    """Applies the advice to the model, and returns the transfers that fill its copies.

    `log` is a sample of the morning's `statements`.
    """
    planned = Planned(replayed=len(log))
    clock = _Clock(planned)
    stock = _stock(fleet, templates, log)
    clock.lap("stock")
    result = _replayed(fleet, stock, log, 2 * statements / max(len(log), 1))
    clock.lap("replay")
    budget = LINK_SHARE * RATE * DAY
    sent = {(a, b): budget for a in CLUSTERS for b in CLUSTERS if a != b}
    found = candidates(stock, result.demands, result.writes, Budgets(sent=sent))
    clock.lap("candidates")
    made = CopyPolicy(SHARE, hysteresis=0.0).copies(found)
    clock.lap("search")
    chosen = advice(found, made)
    clock.lap("advice")
    total = found.problem.total or 1.0
    planned.tables, planned.demands = len(stock.tables), len(result.demands)
    planned.candidates = len(found.copies)
    planned.made = sum(each.action == "make" for each in chosen)
    planned.dropped = sum(each.action == "drop" for each in chosen)
    planned.share_before = round(found.problem.met(found.present) / total, 4)
    planned.share_then = round(found.problem.met(made) / total, 4)
    planned.bytes = round(found.kept(made))
    return applied(fleet, stock, chosen), planned


def _stock(fleet: Fleet, templates: Templates, log: Sequence[Drawn]) -> Stock:
    """The tables of the log, and those that have copies."""
    numbers = set(fleet.copies)
    for drawn in log:
        template = drawn.template
        numbers.update((template.main, *template.joined))
        if template.output is not None:
            numbers.add(template.output)
    runs = {each.output: each.runs for each in templates.pipelines}
    metastore = Metastore(fleet)
    tables: Mapping[TableRef, TableStock] = {
        fleet.ref(n): table_stock(fleet, metastore, n, runs.get(n, 0)) for n in sorted(numbers)
    }
    return Stock(CLUSTERS, CLUSTERS[0], tables)


def table_stock(fleet: Fleet, metastore: Metastore, table: int, runs: int) -> TableStock:
    """One table with all of its partitions, as `causeway advise` reads it from the metastore."""
    record = metastore.record(table)
    facts = record.facts()
    if record.info.partition_keys:
        names = metastore.get_partition_names(record.info.ref)
        sheet = PartitionSheet(record.info.partition_keys, names, record.placement.exceptions)
        rows = sheet.unknown(None)
        listed = metastore.get_partition_facts(record.info.ref, [sheet.name(row) for row in rows])
        sheet.learn(rows, {each.values: each.parameters for each in listed})
        facts = replace(record, partitions=sheet).facts()
    written = runs * fleet.bytes_of(table)
    return TableStock(record.info, facts, float(record.size or 0), written)


def _replayed(fleet: Fleet, stock: Stock, log: Sequence[Drawn], weight: float) -> ReplaySummary:
    """Replays each text once; a statement of the log counts as `weight` a day."""
    day = int(NOON // DAY)
    texts = Counter((drawn.template.text(fleet, day_of(drawn.age)), day) for drawn in log)
    outcomes = []
    for (text, _), count in texts.items():
        outcome = replay(text, Namespace(), stock, NOON)
        assert isinstance(outcome, ReplayOutcome)
        outcomes.append((DistinctText(text, 0, day), count, count * weight, outcome))
    return summarize(outcomes)


def applied(fleet: Fleet, stock: Stock, chosen: Sequence[Advice]) -> list[Transfer]:
    """Makes and drops copies in the model; returns the transfers that fill new copies."""
    wanted: dict[tuple[int, int], int] = {}
    dropped = []
    for each in chosen:
        place = fleet.number(each.table), CLUSTERS.index(each.cluster)
        if each.action == "drop":
            dropped.append(place)
        else:
            days = _days_of(fleet, stock, each)
            wanted[place] = max(days, wanted.get(place, 0))
    for table, cluster in dropped:
        if (table, cluster) not in wanted:
            fleet.copies[table].pop(cluster, None)
            fleet.facts_changed(table)
    return [
        transfer
        for (table, cluster), days in wanted.items()
        for transfer in _made(fleet, table, cluster, days)
    ]


def _days_of(fleet: Fleet, stock: Stock, each: Advice) -> int:
    """The newest days that the advice copies; 0: a table without partitions."""
    found = stock.stock_of(each.table)
    bands = None if found is None else found.bands
    days = None if bands is None else bands.last_days(max(part.number for part in each.parts))
    return fleet.days[fleet.number(each.table)] if days is None else days


def _made(fleet: Fleet, table: int, cluster: int, days: int) -> list[Transfer]:
    """Adds a copy of the newest days, which keeps the days that were there already."""
    copies = fleet.copies.setdefault(table, {})
    old = copies.get(cluster)
    if old is not None and old.days >= days:
        return []
    wanted = [0] if not fleet.days[table] else [age + 1 for age in fleet.ages(table) if age <= days]
    have = {}
    if old is not None:
        have = {day: version for day in wanted if (version := old.version(day)) is not None}
    copies[cluster] = Copy(days, since_start=False, have=have)
    fleet.facts_changed(table)
    missing = tuple(day for day in wanted if day not in have)
    return [Transfer(table, cluster, missing, fleet.bytes_of(table, len(missing)))]
