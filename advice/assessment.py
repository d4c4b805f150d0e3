"""The assessment of a log: which statements run today, why others do not, and which copies help."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advice.copies import Advice, Candidates, advice
from advice.demand import ReplaySummary
from advice.replay import ReplayVerdict
from advice.solvers.exact import cheapest
from advice.stock import Stock, TableStock
from conf.names import partition_name

SHARES = (0.9, 0.95, 0.99)
MORE_SHARES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.925, 0.97)  # more points of the curve
MANY = 20_000  # with more copies in options, only SHARES are computed


@dataclass(frozen=True, slots=True)
class Point:
    """The copies with which a share of the statements runs, or the part of it that is `reached`.
    `kept` are the bytes of the copies, `sent` the bytes a day that keep them fresh."""

    share: float
    reached: float
    kept: float
    sent: float
    advice: Sequence[Advice]


@dataclass(frozen=True)
class Assessment:
    """The results for one log.

    `unread` counts the statements without a text, by reason. `today` is the share that runs,
    `reachable` the share that would run with copies of everything, which have `everything` bytes.
    """

    replayed: ReplaySummary
    unread: Mapping[str, int]
    today: float
    reachable: float
    everything: float
    points: Sequence[Point]
    sizes_unknown: int
    stock: Stock

    def document(self) -> dict[str, Any]:
        """The assessment as a JSON object."""
        replayed = self.replayed
        return {
            "statements": replayed.statements,
            "texts": replayed.texts,
            "templates": replayed.templates,
            "statements_a_day": round(replayed.rate, 3),
            "unread": dict(self.unread),
            "verdicts": {each.value: replayed.verdicts.get(each, 0) for each in ReplayVerdict},
            "codes": dict(sorted(replayed.codes.items())),
            "reasons": {
                verdict.value: [
                    {
                        "reason": group.reason,
                        "statements": group.statements,
                        "templates": group.templates,
                        "example": group.example,
                    }
                    for group in groups
                ]
                for verdict, groups in replayed.groups.items()
            },
            "share_today": round(self.today, 6),
            "share_with_all_copies": round(self.reachable, 6),
            "bytes_of_all_copies": round(self.everything),
            "tables_of_unknown_size": self.sizes_unknown,
            "points": [
                {
                    "share": point.share,
                    "reached": round(point.reached, 6),
                    "bytes": round(point.kept),
                    "bytes_a_day": round(point.sent),
                    "copies": [advice_document(each, self.stock) for each in point.advice],
                }
                for point in self.points
            ],
        }


def assess(
    replayed: ReplaySummary, candidates: Candidates, unread: Mapping[str, int]
) -> Assessment:
    """The assessment, with a point of the curve for each share that does not run today."""
    problem, total = candidates.problem, replayed.rate or 1.0
    size = sum(len(option) for options in problem.options for option in options)
    shares = sorted({*SHARES, *(MORE_SHARES if size <= MANY else ())})
    reachable, today = problem.reachable(), problem.met(candidates.present)
    wanted = [each for each in shares if each * total > today]
    points = [_point(candidates, share, total) for share in wanted]
    stock = candidates.stock
    used = {copy.part.table for copy in candidates.copies}
    unknown = sum(not table.has_size for ref in used if (table := stock.tables.get(ref)))
    everything = sum(
        table.bytes_of_all_copies(stock.clusters, stock.usual_size)
        for table in stock.tables.values()
        if table is not None and table.info.view is None
    )
    return Assessment(
        replayed, unread, today / total, reachable / total, everything, points, unknown, stock
    )


def _point(candidates: Candidates, share: float, total: float) -> Point:
    selected = cheapest(candidates.problem, share * total, candidates.present)
    return Point(
        share,
        candidates.problem.met(selected) / total,
        candidates.kept(selected),
        candidates.sent(selected),
        advice(candidates, selected),
    )


def advice_document(each: Advice, stock: Stock) -> dict[str, Any]:
    """One piece of advice as a JSON object."""
    table = stock.stock_of(each.table)
    assert table is not None  # advice is about existing tables
    return {
        "action": each.action,
        "table": str(each.table),
        "from": each.source,
        "to": each.cluster,
        "partitions": partitions_in_words(each, table),
        "filter": partition_filter(each, table),
        "days": newest_days(each, table),
        "bytes": round(each.kept),
        "bytes_a_day": round(each.sent),
        "statements_a_day": round(each.statements, 3),
    }


def newest_days(each: Advice, table: TableStock) -> int | None:
    """The number of newest days that are copied; None if all are, or if the table has no dates."""
    if table.bands is None:
        return None
    return table.bands.last_days(max(part.number for part in each.parts))


def partitions_in_words(each: Advice, table: TableStock) -> str:
    """The partitions of the advice, for people; empty for the whole table."""
    placed = table.placed
    if placed is None or _rows(each, table) == set(range(len(placed.partitions))):
        return ""
    if table.bands is not None and each.action != "drop":
        days = newest_days(each, table)
        return "" if days is None else f"the newest {days} day{'s' if days != 1 else ''}"
    names = [partition_name(placed.partitions.spec(row)) for row in sorted(_rows(each, table))]
    return ", ".join(names) if len(names) < 4 else f"{len(names)} partitions"


def partition_filter(each: Advice, table: TableStock) -> str:
    """The filter of `causeway copy --partition`; empty for the whole table."""
    placed = table.placed
    if placed is None:
        return ""
    partitions, rows = placed.partitions, _rows(each, table)
    if rows == set(range(len(partitions))):
        return ""
    if table.bands is not None and len(partitions.keys) == 1 and each.action != "drop":
        key = partitions.keys[0].name
        return f"{key} >= '{min(partitions.row(row)[0] for row in rows)}'"
    return " or ".join(
        "(" + " and ".join(f"{key} = '{value}'" for key, value in partitions.spec(row)) + ")"
        for row in sorted(rows)
    )


def _rows(each: Advice, table: TableStock) -> set[int]:
    return {row for part in each.parts for row in table.rows(part)}


def command_of(each: Advice, stock: Stock) -> str:
    """The command that executes the advice, without the options that name the metastore."""
    table = stock.stock_of(each.table)
    assert table is not None  # advice is about existing tables
    chosen = partition_filter(each, table)
    if each.action == "drop":
        named = "".join(f" --partition {name}" for name in partition_names(each, table))
        return f"causeway table assign {each.table} --no-copy {each.cluster}{named}"
    option = f' --partition "{chosen}"' if chosen else ""
    return f"causeway copy {each.table} --to {each.cluster}{option}"


def partition_names(each: Advice, table: TableStock) -> tuple[str, ...]:
    """The names of the partitions; empty for the whole table."""
    placed, rows = table.placed, sorted(_rows(each, table))
    if placed is None or len(rows) == len(placed.partitions):
        return ()
    return tuple(partition_name(placed.partitions.spec(row)) for row in rows)
