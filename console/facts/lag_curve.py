"""Computes the lag of a copy over time from its instances. Pure.

The lag at a time is the age of the oldest instance that was due and had not ended at that time; 0
if there was none. The lifecycle's REST API defines the present lag in the same way.
"""

import heapq
from collections.abc import Iterable, Sequence
from itertools import pairwise

from console.drawing.curves import Point

MAX_POINTS = 300


def lag_points(
    instances: Iterable[tuple[float, float | None]], start: float, end: float
) -> list[Point]:
    """The lag in seconds from `start` to `end`. `instances` has the times at which each instance
    was due and ended; an open one has None as its end."""
    known = sorted((due, end + 1 if ended is None else ended) for due, ended in instances)
    times = {start, end}
    for due, ended in known:
        times.update(time for time in (due, ended) if start < time < end)
    points: list[Point] = []
    waiting: list[tuple[float, float]] = []
    position, order = 0, sorted(times)
    for begin, until in pairwise(order):
        while position < len(known) and known[position][0] <= begin:
            heapq.heappush(waiting, known[position])
            position += 1
        while waiting and waiting[0][1] <= begin:
            heapq.heappop(waiting)
        oldest = waiting[0][0] if waiting else None
        points.append((begin, 0.0 if oldest is None else begin - oldest))
        points.append((until, 0.0 if oldest is None else until - oldest))
    return _fewer(points)


def _fewer(points: Sequence[Point]) -> list[Point]:
    """Reduces the points to about MAX_POINTS: keeps the lowest and highest of each group of
    neighbours."""
    if len(points) <= MAX_POINTS:
        return list(points)
    size = -(-2 * len(points) // MAX_POINTS)
    kept: list[Point] = []
    for first in range(0, len(points), size):
        part = points[first : first + size]
        ends = {min(part, key=_value), max(part, key=_value)}
        kept += sorted(ends)
    return kept


def _value(point: Point) -> float:
    return point[1]
