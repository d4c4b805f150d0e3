"""The copies that would let a refused statement run, and the statements that make them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conf.formats import size_text
from conf.names import ClusterName, TableRef, quoted
from conf.partitions import PlacedPartitions, Replicas, TableFacts
from router.needs import Input
from router.obstacles import NAMED
from router.request import Facts, is_copyable

STATEMENTS = 3  # in a message
PARTITIONS = 10_000  # of one table that are copied one by one
FAR = 3  # times the fewest bytes that are copied to a cluster that suits later queries
RATE = 100_000_000  # bytes a second, for an estimate
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Spec = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CopyNeeded:
    """A table, or these partitions of it, that is to be copied. `size` in bytes is None where the
    metastore has no statistics of it."""

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
        ", ".join(f"{quoted_name(key)} = {_text(value)}" for key, value in spec)
        for spec in partitions
    )
    clauses = ", ".join(f"PARTITION ({spec})" for spec in specs)
    names = f"{quoted_name(table.db)}.{quoted_name(table.name)}"
    what = f"{names} {clauses}".rstrip()
    return f"ALTER TABLE {what} COPY {quoted_name(source)} TO {quoted_name(target)}"


def copies_needed(
    inputs: Iterable[Input], facts: Facts, cluster: ClusterName
) -> list[CopyNeeded] | None:
    """The copies with which the cluster has all inputs: one for each table and cluster to copy
    from, with every partition that is read and that the cluster lacks, or the whole table if those
    are more than PARTITIONS. Empty if it lacks nothing; None if it lacks a table that cannot be
    copied."""
    return _copies(inputs, facts, cluster, PARTITIONS)


def cheapest(
    inputs: Sequence[Input],
    facts: Facts,
    clusters: Iterable[ClusterName],
    lacking: Mapping[ClusterName, float],
    most: int,
) -> tuple[CopyNeeded, ...]:
    """The copies with which one of the clusters has all inputs; empty if no copies help.

    Copies of known sizes come before others. Among the ways of at most `most` bytes, and at most
    FAR times those of the fewest, the one after which its cluster would need the fewest bytes to
    have the tables of `lacking` as well: later queries find there what this one has copied.
    """
    needed = [(each, copies_needed(inputs, facts, each)) for each in clusters]
    ways = [(cluster, tuple(way)) for cluster, way in needed if way]
    if not ways:
        return ()
    _, fewest = min(ways, key=lambda way: _bytes(way[1]))
    unknown, least = _bytes(fewest)
    bound = max(least, min(FAR * least, most))

    def total(way: tuple[ClusterName, tuple[CopyNeeded, ...]]) -> float:
        cluster, copies = way
        return known_bytes(copies) + lacking.get(cluster, 0.0)

    near = [way for way in ways if (size := _bytes(way[1]))[0] == unknown and size[1] <= bound]
    return min(near, key=total)[1]


def bytes_lacking(
    tables: Iterable[TableFacts], clusters: Iterable[ClusterName]
) -> dict[ClusterName, float]:
    """How many bytes of these tables each cluster lacks; tables of unknown size do not count."""
    found = dict.fromkeys(clusters, 0.0)
    for table in tables:
        for cluster in found:
            found[cluster] += (table.size or 0) * _share_lacking(table, cluster)
    return found


def _share_lacking(table: TableFacts, cluster: ClusterName) -> float:
    placed = table.partitions
    if placed is None or not placed.complete or len(placed.partitions) > PARTITIONS:
        return 0.0 if table.replicas.readable_in(cluster) else 1.0
    lacking = {n for n, each in enumerate(placed.replicas) if not each.readable_in(cluster)}
    return sum(group in lacking for group in placed.groups) / max(len(placed.partitions), 1)


def known_bytes(copies: Iterable[CopyNeeded]) -> float:
    """The bytes of those copies whose sizes are known."""
    return sum(copy.size or 0 for copy in copies)


def cure(inputs: Sequence[Input], facts: Facts, clusters: Iterable[ClusterName]) -> str:
    """What to say about copies that let the statement run in one of the clusters: the fewest, of
    the fewest bytes; empty if more than STATEMENTS would be needed, or no copy can help."""
    ways = [way for each in clusters if (way := _copies(inputs, facts, each, NAMED))]
    ways = [way for way in ways if len(way) <= STATEMENTS]
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
    inputs: Iterable[Input], facts: Facts, cluster: ClusterName, listed: int
) -> list[CopyNeeded] | None:
    """`copies_needed`, but where a copy has more than `listed` partitions, one of the whole table;
    None if the table has primaries in several clusters, since a statement copies from one."""
    found: list[CopyNeeded] = []
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
                found += _of_partitions(read.table, read.placed, rows, cluster, size)
                continue
            sources = {each.primary for each in read.placed.replicas}
        if len(sources) > 1:
            return None
        found.append(CopyNeeded(read.table, (), sources.pop(), cluster, size))
    return found


def _rows_by_source(
    rows: Iterable[int], placed: PlacedPartitions, lacking: set[Replicas]
) -> dict[ClusterName, list[int]]:
    """Those of the rows that are to be copied, ascending, by their primary."""
    sources = [each.primary if each in lacking else None for each in placed.replicas]
    found: dict[ClusterName, list[int]] = {}
    for row in sorted(rows):
        source = sources[placed.groups[row]]
        if source is not None:
            found.setdefault(source, []).append(row)
    return found


def _of_partitions(
    table: TableRef,
    placed: PlacedPartitions,
    rows: dict[ClusterName, list[int]],
    cluster: ClusterName,
    size: int | None,
) -> list[CopyNeeded]:
    """A copy for each source. A partition has the average share of the table's `size`."""
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
    """A name as a statement has it."""
    return text if _PLAIN.fullmatch(text) else quoted(text)


def _text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
