"""The copies with which a refused statement could run, and the statements that make them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conf.formats import size_text
from conf.names import ClusterName, TableRef, quoted
from conf.partitions import PlacedPartitions, Replicas, TableFacts
from router.needs import InputTable
from router.obstacles import NAMED
from router.request import Facts, is_copyable

MAX_STATEMENTS = 3  # in a message
MAX_PARTITIONS = 10_000  # of more partitions, the whole table is copied
MAX_FACTOR = 3  # of the fewest bytes: for a cluster that suits later queries, more may be copied
RATE = 100_000_000  # bytes a second, for an estimate of the time
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Spec = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CopyNeeded:
    """A copy of a table, or of these partitions of it, that is to be made. `size` is in bytes; None
    if the metastore has no statistics."""

    table: TableRef
    partitions: tuple[Spec, ...]
    source: ClusterName
    target: ClusterName
    size: float | None

    def __str__(self) -> str:
        return copy_statement(self.table, self.partitions, self.source, self.target)


def copy_statement(
    table: TableRef, partitions: Iterable[Spec], source: ClusterName, target: ClusterName
) -> str:
    """The statement that copies the table, or these partitions of it (DC-P1)."""
    specs = (
        ", ".join(f"{quoted_name(key)} = {_quoted_text(value)}" for key, value in spec)
        for spec in partitions
    )
    clauses = ", ".join(f"PARTITION ({spec})" for spec in specs)
    names = f"{quoted_name(table.db)}.{quoted_name(table.name)}"
    what = f"{names} {clauses}".rstrip()
    return f"ALTER TABLE {what} COPY {quoted_name(source)} TO {quoted_name(target)}"


def copies_needed(
    inputs: Iterable[InputTable], facts: Facts, cluster: ClusterName
) -> list[CopyNeeded] | None:
    """The copies with which the cluster has all inputs; empty if it lacks nothing, None if it lacks
    a table that cannot be copied.

    There is one copy for each table and source cluster, with the partitions that are read and that
    the cluster lacks, or of the whole table if these are more than MAX_PARTITIONS.
    """
    return _copies(inputs, facts, cluster, MAX_PARTITIONS)


def cheapest_copies(
    inputs: Sequence[InputTable],
    facts: Facts,
    clusters: Iterable[ClusterName],
    lacking: Mapping[ClusterName, float],
    most: int,
) -> tuple[CopyNeeded, ...]:
    """The cheapest copies with which one of the clusters has all inputs; empty if no copies help.

    Copies of known sizes come before others. Of the clusters that need at most `most` bytes, and at
    most MAX_FACTOR times the fewest, the one is chosen that needs the fewest bytes together with
    its `lacking` bytes of other tables: later queries then find more of their tables there.
    """
    needed = [(each, copies_needed(inputs, facts, each)) for each in clusters]
    ways = [(cluster, tuple(way)) for cluster, way in needed if way]
    if not ways:
        return ()
    _, fewest = min(ways, key=lambda way: _bytes(way[1]))
    unknown, least = _bytes(fewest)
    bound = max(least, min(MAX_FACTOR * least, most))

    def total(way: tuple[ClusterName, tuple[CopyNeeded, ...]]) -> float:
        cluster, copies = way
        return known_bytes(copies) + lacking.get(cluster, 0.0)

    near = [way for way in ways if (size := _bytes(way[1]))[0] == unknown and size[1] <= bound]
    return min(near, key=total)[1]


def bytes_lacking(
    tables: Iterable[TableFacts], clusters: Iterable[ClusterName]
) -> dict[ClusterName, float]:
    """The bytes of these tables that each cluster lacks. Tables of unknown size do not count."""
    lacking = dict.fromkeys(clusters, 0.0)
    for table in tables:
        for cluster in lacking:
            lacking[cluster] += (table.size or 0) * _share_lacking(table, cluster)
    return lacking


def _share_lacking(table: TableFacts, cluster: ClusterName) -> float:
    """The share of the table's partitions that the cluster cannot read, from 0 to 1."""
    placed = table.partitions
    if placed is None or not placed.complete or len(placed.partitions) > MAX_PARTITIONS:
        return 0.0 if table.replicas.readable_in(cluster) else 1.0
    lacking = {n for n, each in enumerate(placed.replicas) if not each.readable_in(cluster)}
    return sum(group in lacking for group in placed.groups) / max(len(placed.partitions), 1)


def known_bytes(copies: Iterable[CopyNeeded]) -> float:
    """The bytes of the copies with a known size."""
    return sum(copy.size or 0 for copy in copies)


def copy_hint(inputs: Sequence[InputTable], facts: Facts, clusters: Iterable[ClusterName]) -> str:
    """A sentence with the copies with which one of the clusters could run the statement: the fewest
    statements, then the fewest bytes. Empty if more than MAX_STATEMENTS are needed, or none
    help."""
    ways = [way for each in clusters if (way := _copies(inputs, facts, each, NAMED))]
    ways = [way for way in ways if len(way) <= MAX_STATEMENTS]
    if not ways:
        return ""
    way = min(ways, key=_rank)
    return f"For example: {'; '.join(map(str, way))}{_cost(way)}"


def _rank(way: Sequence[CopyNeeded]) -> tuple[int, bool, float]:
    return len(way), *_bytes(way)


def _bytes(way: Sequence[CopyNeeded]) -> tuple[bool, float]:
    return any(copy.size is None for copy in way), known_bytes(way)


def _cost(way: Sequence[CopyNeeded]) -> str:
    if any(copy.size is None for copy in way):
        return ""
    size = known_bytes(way)
    seconds = max(1, round(size / RATE))
    return f" -- {size_text(size)}, about {seconds} s at {size_text(RATE)}/s"


def _copies(
    inputs: Iterable[InputTable], facts: Facts, cluster: ClusterName, listed: int
) -> list[CopyNeeded] | None:
    """As `copies_needed`, with a copy of the whole table instead of more than `listed` partitions.
    None if such a table has primaries in several clusters: a statement copies from one."""
    copies: list[CopyNeeded] = []
    for read in inputs:
        lacking = read.lacking_in(cluster)
        if not lacking:
            continue
        if not is_copyable(facts, read.table):
            return None
        known = facts[read.table]
        size = None if known is None else known.size
        if read.placed is None:
            sources = {each.primary for each in lacking}
        else:
            rows = _rows_by_source(read.rows, read.placed, lacking)
            if max(map(len, rows.values())) <= listed:
                copies += _partition_copies(read.table, read.placed, rows, cluster, size)
                continue
            sources = {each.primary for each in read.placed.replicas}
        if len(sources) > 1:
            return None
        copies.append(CopyNeeded(read.table, (), sources.pop(), cluster, size))
    return copies


def _rows_by_source(
    rows: Iterable[int], placed: PlacedPartitions, lacking: set[Replicas]
) -> dict[ClusterName, list[int]]:
    """The rows that are to be copied, ascending, by their primary cluster."""
    sources = [each.primary if each in lacking else None for each in placed.replicas]
    by_source: dict[ClusterName, list[int]] = {}
    for row in sorted(rows):
        source = sources[placed.groups[row]]
        if source is not None:
            by_source.setdefault(source, []).append(row)
    return by_source


def _partition_copies(
    table: TableRef,
    placed: PlacedPartitions,
    rows: dict[ClusterName, list[int]],
    cluster: ClusterName,
    size: int | None,
) -> list[CopyNeeded]:
    """One copy for each source. Each partition counts as an average one of the table's `size`."""
    share = None if size is None else size / max(len(placed.partitions), 1)
    return [
        CopyNeeded(
            table,
            tuple(map(placed.partitions.spec, each)),
            source,
            cluster,
            None if share is None else share * len(each),
        )
        for source, each in rows.items()
    ]


def quoted_name(text: str) -> str:
    """The name as it is written in a statement, with quotes if it needs them."""
    return text if _PLAIN.fullmatch(text) else quoted(text)


def _quoted_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
