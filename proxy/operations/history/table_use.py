"""The tables and partitions that a statement reads and writes, for its row."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from weakref import ref

from conf.names import partition_name
from conf.partitions import PartitionSet
from dialect.statement import ALL, Known, PartitionPredicate, Read, Unknown, Write
from router.request import Facts

MAX_TABLES = 1_000  # that a statement reads, and that it writes
MAX_NAMED = 100  # partitions of a table


@dataclass(frozen=True, slots=True)
class TableUse:
    """One read or write of a table. `named` are partitions that the text names; otherwise
    `predicate` selects them of `placed`, which is not kept alive: the set of partitions may be
    large, and a newer one replaces it when the table changes."""

    table: str
    is_write: bool
    predicate: PartitionPredicate = ALL
    placed: "ref[PartitionSet] | None" = None
    named: tuple[tuple[tuple[str, str], ...], ...] = ()

    def document(self) -> dict[str, object]:
        """`partitions` is the number of those that are read or written, `first` are the names of
        the first; null and none where all of the table is, or it is not known."""
        count, first = self._partitions()
        return {"table": self.table, "partitions": count, "first": first}

    def _partitions(self) -> tuple[int | None, list[str]]:
        if self.named:
            return len(self.named), [partition_name(each) for each in self.named[:MAX_NAMED]]
        placed = None if self.placed is None or self.predicate is ALL else self.placed()
        if placed is None:
            return None, []
        rows = self.predicate.select(placed)
        return len(rows), [partition_name(placed.spec(row)) for row in islice(rows, MAX_NAMED)]


def tables_used(statement: Known | Unknown | None, facts: Facts) -> tuple[TableUse, ...]:
    """What the statement reads and writes, by the facts of its decision; quick."""
    if not isinstance(statement, Known):
        return ()
    reads, writes = statement.reads[:MAX_TABLES], statement.writes[:MAX_TABLES]
    return (*_reads(reads, facts), *_writes(writes))


def _reads(reads: Iterable[Read], facts: Facts) -> Iterator[TableUse]:
    for read in reads:
        known = facts.get(read.table)
        placed = None if known is None or known.partitions is None else known.partitions.partitions
        yield TableUse(
            str(read.table), False, read.partitions, None if placed is None else ref(placed)
        )


def _writes(writes: Sequence[Write]) -> Iterator[TableUse]:
    named: dict[str, dict[tuple[tuple[str, str], ...], None]] = {}
    whole = {str(write.table) for write in writes if write.dynamic or not write.named}
    for write in writes:
        named.setdefault(str(write.table), {}).update(dict.fromkeys(write.named))
    for table, specs in named.items():
        yield TableUse(table, True, named=() if table in whole else tuple(specs))
