"""Finds tables that should have their primary in another cluster, by past statements.

A statement runs in a cluster that has all that it reads, and that is the primary of what it writes.
If most statements use a table together with tables of another cluster, they cannot run, or need
copies which the table's writes make stale. A plan moves such tables one after the other, each time
the one with the greatest gain of statements, because a move changes the gain of others.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from advice.copies import Budgets, Link
from advice.demand import TableUse
from advice.stock import Stock
from conf.names import ClusterName, TableRef

MOST = 20  # moves in one plan
_LEAST = 0.001  # least net gain of a move, as a share of all statements
_CLEARLY = 2.0  # least ratio of gained to lost statements


@dataclass(frozen=True, slots=True)
class Move:
    """A table's primary moves to another cluster. `gained` statements a day run only after the
    move, `lost` ones only before, if the table then has no copies. `size` is the table's in
    bytes."""

    table: TableRef
    source: ClusterName
    target: ClusterName
    gained: float
    lost: float
    size: float

    @property
    def net(self) -> float:
        return self.gained - self.lost


@dataclass(frozen=True, slots=True)
class Primaries:
    """A plan: its moves in order, all statements a day, and those that run before and after it."""

    moves: Sequence[Move]
    total: float
    before: float
    after: float


def primaries(stock: Stock, uses: Iterable[TableUse], budgets: Budgets) -> Primaries:
    """The plan for these statements. All tables moved to a cluster have at most the bytes of its
    budget `kept`, and those moved over a link at most its `sent` bytes of one day."""
    search = _MoveSearch(stock, [use for use in uses if use.reads or use.writes])
    before = search.running()
    room = _Room(dict(budgets.kept), dict(budgets.sent))
    moves: list[Move] = []
    ways = {table: search.ways(table) for table in sorted(search.by_table)}
    while len(moves) < MOST:
        possible = [move for each in ways.values() for move in each if room.has(move)]
        if not possible:
            break
        best = max(possible, key=lambda move: (move.net, -move.size))
        moves.append(best)
        room.take(best)
        search.moved[best.table] = best.target
        for table in search.neighbours(best.table):
            ways[table] = search.ways(table)
    return Primaries(moves, search.total, before, search.running())


@dataclass(slots=True)
class _Room:
    """The bytes left in clusters and on links. A missing one has no limit."""

    kept: dict[ClusterName, float]
    sent: dict[Link, float]

    def has(self, move: Move) -> bool:
        link = move.source, move.target
        kept = self.kept.get(move.target, move.size)
        return move.size <= min(kept, self.sent.get(link, move.size))

    def take(self, move: Move) -> None:
        link = move.source, move.target
        if move.target in self.kept:
            self.kept[move.target] -= move.size
        if link in self.sent:
            self.sent[link] -= move.size


class _MoveSearch:
    """The clusters in which statements run after the moves in `moved`."""

    def __init__(self, stock: Stock, uses: Sequence[TableUse]) -> None:
        self.stock = stock
        self.moved: dict[TableRef, ClusterName] = {}
        self.total = sum(use.rate for use in uses)
        self._uses = uses
        self.by_table: defaultdict[TableRef, list[TableUse]] = defaultdict(list)
        for use in uses:
            for table in _named(use):
                self.by_table[table].append(use)

    def running(self) -> float:
        """The statements a day that run."""
        return sum(use.rate for use in self._uses if self._runs(use, self.moved))

    def neighbours(self, table: TableRef) -> set[TableRef]:
        """The tables that occur in a statement together with this one."""
        return {each for use in self.by_table[table] for each in _named(use)}

    def ways(self, table: TableRef) -> list[Move]:
        """The moves of a table with a sufficient gain; none if it was moved already."""
        found = self.stock.stock_of(table)
        homes = self._homes(table, {})
        if found is None or table in self.moved or not found.facts.copyable or len(homes) != 1:
            return []
        (source,) = homes
        size = found.known_size(self.stock.usual_size)
        moves = []
        for target in self.stock.clusters:
            if target != source:
                gained, lost = self._change(table, target)
                if gained - lost >= _LEAST * self.total and gained >= _CLEARLY * lost:
                    moves.append(Move(table, source, target, gained, lost, size))
        return moves

    def _change(self, table: TableRef, target: ClusterName) -> tuple[float, float]:
        then = {**self.moved, table: target}
        gained = lost = 0.0
        for use in self.by_table[table]:
            ran, runs = self._runs(use, self.moved), self._runs(use, then)
            if runs and not ran:
                gained += use.rate
            elif ran and not runs:
                lost += use.rate
        return gained, lost

    def _runs(self, use: TableUse, moved: Mapping[TableRef, ClusterName]) -> bool:
        """Whether a cluster can run the statements by the router's rules (DC-R3, DC-R4, DC-R7,
        D4)."""
        tried = {home for table in use.writes for home in self._homes(table, moved)}
        if len(tried) > 1:
            return False
        if not tried:
            tried = {home for table, _ in use.reads for home in self._homes(table, moved)}
            if self.stock.use_default:
                tried.add(self.stock.default)
        for table, clusters in use.reads:
            tried &= {moved[table]} if table in moved else clusters
        return bool(tried)

    def _homes(
        self, table: TableRef, moved: Mapping[TableRef, ClusterName]
    ) -> frozenset[ClusterName]:
        """The primaries of a table and of its partitions; none of a view or a missing table."""
        if table in moved:
            return frozenset({moved[table]})
        found = self.stock.stock_of(table)
        if found is None or found.info.view is not None:
            return frozenset()
        return frozenset(each.primary for each in found.all_replicas)


def _named(use: TableUse) -> set[TableRef]:
    return {*use.writes, *(table for table, _ in use.reads)}
