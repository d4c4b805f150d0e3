"""The tables and partitions that a statement reads and writes, for its row in the history."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from weakref import ref

from conf.names import partition_name
from conf.partitions import PartitionSet
from dialect.statement import ALL, Known, PartitionPredicate, Read, Unknown, Write
from router.request import Facts

MAX_TABLES = 1_000  # reads of a statement; the same for its writes
MAX_NAMED = 100  # names of a table's partitions


@dataclass(frozen=True, slots=True)
class TableUse:
    """One read or write of a table.

    `named` has the partitions that the statement's text names. If it is empty, `predicate` selects
    the partitions from the set `placed`. That is a weak reference, since sets may be large and are
    replaced when the table changes.
    """

    table: str
    is_write: bool
    predicate: PartitionPredicate = ALL
    placed: "ref[PartitionSet] | None" = None
    named: tuple[tuple[tuple[str, str], ...], ...] = ()

    def document(self) -> dict[str, object]:
        """The use as JSON types. `partitions` is the number of partitions that are read or written,
        and `first` has the names of the first ones. For a whole table, and if the partitions are
        not known, `partitions` is null and `first` is empty."""
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
    """The statement's reads and writes, with the partition sets of its decision's facts.

    Fast: partitions are selected later, by `TableUse.document`.
    """
    if not isinstance(statement, Known):
        return ()
    reads, writes = statement.reads[:MAX_TABLES], statement.writes[:MAX_TABLES]
    return (*_reads(reads, facts), *_writes(writes))


def _reads(reads: Iterable[Read], facts: Facts) -> Iterator[TableUse]:
    for read in reads:
        table = facts.get(read.table)
        placed = None if table is None or table.partitions is None else table.partitions.partitions
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
