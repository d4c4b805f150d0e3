"""Draws the states of a table's partitions in each cluster. Pure.

A table may have hundreds of thousands of partitions, and neighbours are mostly in the same state.
So the picture divides them, in their order, into at most `BINS` columns, each with the shares of
the states. A table beside it lists runs: neighbours that have the same state in every cluster.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby, pairwise
from typing import NamedTuple, overload

from console.drawing.svg import HATCH, box, element, label, picture
from console.shown import number

BINS = 200
_WIDTH, _ROW, _GAP, _MARGIN = 800.0, 22.0, 6.0, 110.0
_MIN_HEIGHT = 4.0  # of a state in a column, so that it is visible


class ObjectState(Enum):
    """The state of an object in a cluster, the best first."""

    PRIMARY = "primary"
    FRESH = "fresh"
    STALE = "stale"
    ABSENT = "absent"


_ORDER = tuple(ObjectState)


@dataclass(frozen=True, slots=True)
class PartitionStates:
    """The partitions of a table in their order. `kinds` are the distinct rows of states, one state
    for each cluster; `groups` has the index of each partition's row in `kinds`. `since` has the
    time, in epoch seconds, since which a partition has a stale copy, where it is known."""

    names: Sequence[str]
    clusters: tuple[str, ...]
    kinds: tuple[tuple[ObjectState, ...], ...]
    groups: Sequence[int]
    since: Mapping[int, float] = field(default_factory=dict)


class PartitionRun(NamedTuple):
    """The neighbours from `first` to `last`, inclusive, which have the same states."""

    first: int
    last: int
    states: tuple[ObjectState, ...]

    @property
    def number(self) -> int:
        """The number of partitions."""
        return self.last - self.first + 1


class PartitionRuns(Sequence[PartitionRun]):
    """All runs of a table, in order. A run is created when it is read: there may be as many runs as
    partitions, and a page shows a few."""

    def __init__(self, states: PartitionStates) -> None:
        groups = states.groups
        self._states = states
        self._lasts = [row for row, (one, other) in enumerate(pairwise(groups)) if one != other]
        if groups:
            self._lasts.append(len(groups) - 1)

    def __len__(self) -> int:
        return len(self._lasts)

    @overload
    def __getitem__(self, index: int) -> PartitionRun: ...
    @overload
    def __getitem__(self, index: slice) -> list[PartitionRun]: ...
    def __getitem__(self, index: int | slice) -> PartitionRun | list[PartitionRun]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        last = self._lasts[index]
        states = self._states.kinds[self._states.groups[last]]
        return PartitionRun(self._lasts[index - 1] + 1 if index else 0, last, states)

    def at(self, row: int) -> int:
        """The index of the run that contains the partition `row`."""
        return bisect_left(self._lasts, row)

    def sizes(self) -> list[int]:
        """The number of partitions of each run."""
        return [last - before for before, last in pairwise((-1, *self._lasts))]


def totals(states: PartitionStates) -> list[dict[ObjectState, int]]:
    """The number of partitions in each state, for each cluster."""
    return _by_cluster(states, Counter(states.groups))


def partition_matrix(table: str, states: PartitionStates) -> str:
    """The picture: a row for each cluster, partitions from left to right."""
    count = len(states.names)
    columns = list(_columns(states))
    width = _WIDTH / max(len(columns), 1)
    shapes: dict[ObjectState, list[str]] = {state: [] for state in _ORDER}
    parts = [element("defs", HATCH)]
    for row, cluster in enumerate(states.clusters):
        top = row * (_ROW + _GAP)
        parts.append(label(_MARGIN - 8, top + 15, _short(cluster), class_="row-label"))
        cells = [column[row] for column in columns]
        for state, shape in _segments(cells, top, width):
            shapes[state].append(shape)
    bottom = len(states.clusters) * (_ROW + _GAP)
    for state, found in shapes.items():
        if found:
            path = "".join(found)
            parts.append(element("path", class_=f"s-{state.value}", d=path))
            if state is ObjectState.STALE:
                parts.append(element("path", fill="url(#hatch)", d=path))
    parts += _axis(states.names, bottom)
    return picture(
        _MARGIN + _WIDTH + 2,
        bottom + 18,
        f"{number(count)} partitions of {table} by cluster",
        _described(states),
        parts,
        class_="matrix",
    )


def share_bar(counts: Mapping[ObjectState, int], title: str) -> str:
    """A small bar of the shares of the states. The page has the same as text beside it."""
    total = sum(counts.values())
    parts = []
    left = 0.0
    for state in _ORDER:
        if share := counts.get(state, 0) / max(total, 1) * 60:
            path = box(left, 0, share, 10)
            parts.append(element("path", class_=f"s-{state.value}", d=path))
            left += share
    return picture(60, 10, title, _words(counts), parts, class_="share")


_Shares = tuple[tuple[ObjectState, float], ...]


def _columns(states: PartitionStates) -> Iterator[list[_Shares]]:
    """The shares of the states in each column, for each cluster."""
    count = len(states.groups)
    columns = min(BINS, count)
    seen: dict[tuple[tuple[int, int], ...], list[_Shares]] = {}
    for column in range(columns):
        first, end = count * column // columns, count * (column + 1) // columns
        groups = Counter(states.groups[first:end])
        key = tuple(sorted(groups.items()))
        if key not in seen:
            seen[key] = [_shares(each) for each in _by_cluster(states, groups)]
        yield seen[key]


def _shares(counts: Mapping[ObjectState, int]) -> _Shares:
    total = sum(counts.values())
    return tuple((state, counts[state] / total) for state in _ORDER if counts[state])


def _by_cluster(states: PartitionStates, groups: Mapping[int, int]) -> list[dict[ObjectState, int]]:
    counted = [dict.fromkeys(_ORDER, 0) for _ in states.clusters]
    for group, count in groups.items():
        for found, state in zip(counted, states.kinds[group], strict=True):
            found[state] += count
    return counted


def _segments(
    cells: Iterable[_Shares], top: float, width: float
) -> Iterator[tuple[ObjectState, str]]:
    """The rectangles of one cluster. Neighbours with the same shares share one."""
    column = 0
    for shares, members in groupby(cells):
        count = sum(1 for _ in members)
        base = top
        for state, height in _heights(shares):  # the worst state is on top
            yield state, box(_MARGIN + column * width, base, count * width, height)
            base += height
        column += count


def _heights(shares: _Shares) -> list[tuple[ObjectState, float]]:
    """The height of each state, the worst first. Each state is at least visible; the state with the
    largest share loses the height that this needs."""
    heights = [(state, max(share * _ROW, _MIN_HEIGHT)) for state, share in reversed(shares)]
    excess = sum(height for _, height in heights) - _ROW
    largest = max(range(len(heights)), key=lambda index: heights[index][1])
    return [
        (state, height - excess if index == largest else height)
        for index, (state, height) in enumerate(heights)
    ]


def _axis(names: Sequence[str], y: float) -> Iterator[str]:
    if not names:
        return
    yield label(_MARGIN, y + 10, _short(names[0], 40), class_="axis")
    if len(names) > 1:
        last = _short(names[-1], 40)
        yield label(_MARGIN + _WIDTH, y + 10, last, class_="axis", text_anchor="end")
    if len(names) > 2:
        middle = _short(names[len(names) // 2], 40)
        yield label(_MARGIN + _WIDTH / 2, y + 10, middle, class_="axis", text_anchor="middle")


def _described(states: PartitionStates) -> str:
    lines = []
    for cluster, counts in zip(states.clusters, totals(states), strict=True):
        lines.append(f"{cluster}: {_words(counts) or 'no partitions'}")
    return "; ".join(lines) + ". The table below lists them."


def _words(counts: Mapping[ObjectState, int]) -> str:
    return ", ".join(f"{number(counts[x])} {x.value}" for x in _ORDER if counts.get(x))


def _short(words: str, most: int = 15) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"
