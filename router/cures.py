"""The statements that would copy what a refused statement lacks. Only for the refusal's message."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from conf.names import ClusterName, TableRef
from conf.sizes import size_text
from router.needs import Input
from router.request import Facts, is_copyable

MOST = 3  # statements in a message
RATE = 100_000_000  # bytes a second, for an estimate
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Spec = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CopyNeeded:
    """A table, or one partition of it, that is to be copied. `size` in bytes is None where the
    metastore has no statistics of it."""

    table: TableRef
    partition: Spec
    source: ClusterName
    target: ClusterName
    size: float | None

    def __str__(self) -> str:
        """The statement (DC-P1)."""
        values = ", ".join(f"{_name(key)} = {_text(value)}" for key, value in self.partition)
        part = f" PARTITION ({values})" if values else ""
        table = f"{_name(self.table.db)}.{_name(self.table.name)}"
        return f"ALTER TABLE {table}{part} COPY {_name(self.source)} TO {_name(self.target)}"


def cure(inputs: Sequence[Input], facts: Facts, clusters: Iterable[ClusterName]) -> str:
    """What to say about copies that let the statement run in one of the clusters: the fewest, of
    the fewest bytes; empty if more than MOST would be needed, or no copy can help."""
    ways = []
    for cluster in clusters:
        needed = [copy for each in inputs for copy in _needed(each, facts, cluster)]
        if needed and None not in needed:
            ways.append([copy for copy in needed if copy is not None])
    ways = [way for way in ways if len(way) <= MOST]
    if not ways:
        return ""
    way = min(ways, key=_rank)
    return f"For example: {'; '.join(map(str, way))}{_cost(way)}"


def _rank(way: Sequence[CopyNeeded]) -> tuple[int, bool, float]:
    return len(way), any(copy.size is None for copy in way), sum(copy.size or 0 for copy in way)


def _cost(way: Sequence[CopyNeeded]) -> str:
    if any(copy.size is None for copy in way):
        return ""
    size = sum(copy.size or 0 for copy in way)
    seconds = max(1, round(size / RATE))
    return f" -- {size_text(size)}, about {seconds} s at {size_text(RATE)}/s"


def _needed(read: Input, facts: Facts, cluster: ClusterName) -> Iterator[CopyNeeded | None]:
    """The copies of an input that the cluster lacks; None: no statement copies them."""
    lacking = {each for each in read.replicas if not each.readable_in(cluster)}
    if not lacking:
        return
    known, placed = facts[read.table], read.placed
    if not is_copyable(facts, read.table):
        yield None
        return
    size = None if known is None else known.size
    if placed is None:
        (replicas,) = lacking
        yield CopyNeeded(read.table, (), replicas.primary, cluster, size)
        return
    groups = {number for number, each in enumerate(placed.replicas) if each in lacking}
    rows = sorted(row for row in read.rows if placed.groups[row] in groups)
    if len(rows) <= MOST:
        share = None if size is None else size / max(len(placed.partitions), 1)
        for row in rows:
            source = placed.replicas[placed.groups[row]].primary
            yield CopyNeeded(read.table, placed.partitions.spec(row), source, cluster, share)
        return
    primaries = {each.primary for each in placed.replicas}
    if len(primaries) > 1:
        yield None  # the statement copies from one cluster
        return
    yield CopyNeeded(read.table, (), primaries.pop(), cluster, size)


def _name(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else "`" + text.replace("`", "``") + "`"


def _text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
