"""The stock: the tables' schemas, replicas and sizes, and the parts that are copied as units.

A part is a whole table, a band of partitions of similar age, or one partition of a table with few
partitions without dates. A copy of the newest N days is a copy of the first bands.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from advice.partition_days import partition_days
from conf.catalog.tables import NotLoaded, TableInfo
from conf.names import ClusterName, TableRef, partition_name
from conf.partitions import PlacedPartitions, Replicas, TableFacts
from conf.settings.settings import Coverage

DAY = 86_400.0  # seconds
# The ages in days at which bands begin: the newest day, the day before, and so on.
BANDS = (0, 1, 2, 3, 7, 14, 31, 62, 93, 186, 366, 731)
FEW = 64  # up to so many partitions without dates are parts of their own
WHOLE = -1


class Part(NamedTuple):
    """A unit of copying. `number` is a band, a partition's row, or WHOLE."""

    table: TableRef
    number: int


@dataclass(frozen=True)
class TableStock:
    """One table. `size` is its bytes, `written` the bytes a day that keep a copy of the whole table
    fresh, and `sizes` the bytes of each partition. None means unknown.
    """

    info: TableInfo
    facts: TableFacts
    size: float | None = None
    written: float | None = None
    sizes: Sequence[float | None] = field(default=())

    @property
    def ref(self) -> TableRef:
        return self.info.ref

    @property
    def placed(self) -> PlacedPartitions | None:
        return self.facts.partitions if self.info.partition_keys else None

    @property
    def all_replicas(self) -> Sequence[Replicas]:
        """The replicas of the table and of its partitions."""
        placed = () if self.placed is None else self.placed.replicas
        return self.facts.replicas, *placed

    @cached_property
    def bands(self) -> "_Bands | None":
        """The partitions by age; None if the table has no dated partitions."""
        placed = self.placed
        found = None if placed is None else partition_days(placed.partitions)
        return None if found is None else _Bands(*found)

    def parts(self, rows: Collection[int] | None, at: float | None = None) -> frozenset[Part]:
        """The parts with these partitions (None: the data of a table without partitions). `at` is
        the Unix time of the statement that reads them; None is the day of the newest partition."""
        placed = self.placed
        if placed is None or rows is None:
            return frozenset([Part(self.ref, WHOLE)])
        if not rows:
            return frozenset()
        if self.bands is not None:
            last = self.bands.reached(rows, at)
            return frozenset(Part(self.ref, number) for number in range(last + 1))
        if len(placed.partitions) <= FEW:
            return frozenset(Part(self.ref, row) for row in rows)
        return frozenset([Part(self.ref, WHOLE)])

    def rows(self, part: Part) -> Sequence[int]:
        """The row numbers of a part's partitions today; none of a table without partitions."""
        placed = self.placed
        if placed is None:
            return ()
        if part.number == WHOLE:
            return range(len(placed.partitions))
        return self.bands.rows[part.number] if self.bands is not None else (part.number,)

    def replicas(self, part: Part) -> frozenset[Replicas]:
        """The distinct replicas of a part's data."""
        placed = self.placed
        if placed is None:
            return frozenset([self.facts.replicas])
        return frozenset(placed.replicas[placed.groups[row]] for row in self.rows(part))

    def bytes_outside(self, part: Part, cluster: ClusterName, default: float) -> float:
        """The bytes of a copy of the part in the cluster, without partitions whose primary it is.
        `default` is used as the size of a table of unknown size."""
        placed = self.placed
        if placed is None:
            own = self.facts.replicas.primary == cluster
            return 0.0 if own else self.known_size(default)
        share = self.known_size(default) / max(len(placed.partitions), 1)
        return sum(
            share if (size := self._size(row)) is None else size
            for row in self.rows(part)
            if placed.replicas[placed.groups[row]].primary != cluster
        )

    def bytes_of_all_copies(self, clusters: Collection[ClusterName], default: float) -> float:
        """The bytes of copies of the whole table in all clusters. Each partition counts as often as
        there are clusters that are not its primary."""
        placed = self.placed
        if placed is None:
            return self.known_size(default) * _others(self.facts.replicas, clusters)
        others = [_others(replicas, clusters) for replicas in placed.replicas]
        share = self.known_size(default) / max(len(placed.partitions), 1)
        if not self.sizes:
            counts = Counter(placed.groups)
            return share * sum(others[group] * count for group, count in counts.items())
        return sum(
            (share if (size := self._size(row)) is None else size) * others[group]
            for row, group in enumerate(placed.groups)
        )

    def _size(self, row: int) -> float | None:
        return self.sizes[row] if row < len(self.sizes) else None

    @property
    def has_size(self) -> bool:
        return self.size is not None or (bool(self.sizes) and None not in self.sizes)

    def known_size(self, default: float) -> float:
        """The table's bytes, estimated from partitions of known size if necessary, else
        `default`."""
        if self.size is not None:
            return self.size
        known = [size for size in self.sizes if size is not None]
        if not known or self.placed is None:
            return default
        return sum(known) / len(known) * len(self.placed.partitions)

    def written_a_day(self, part: Part, default: float, writes: float) -> float:
        """The bytes a day that keep a copy of the part fresh. If the stock does not have them, a
        dated table gets a day's partitions each day, and each of `writes` a day changes the whole
        of another table."""
        if self.bands is not None:
            if part.number != 0:
                return 0.0  # older bands were copied when they were new
            if self.written is not None:
                return self.written
            return self.known_size(default) / self.bands.span
        whole = self.written
        if whole is None:
            whole = writes * self.known_size(default)
        placed = self.placed
        if placed is None or part.number == WHOLE:
            return whole
        return whole / max(len(placed.partitions), 1)

    def name(self, part: Part) -> str:
        """The part for people: the table and the partitions."""
        placed = self.placed
        if placed is None or part.number == WHOLE:
            return str(self.ref)
        if self.bands is None:
            return f"{self.ref} {partition_name(placed.partitions.spec(part.number))}"
        return f"{self.ref} {self.bands.words(part.number)}"


def _others(replicas: Replicas, clusters: Collection[ClusterName]) -> int:
    return len(clusters) - (replicas.primary in clusters)


class _Bands:
    """The partitions of a table by age. `key` is the position of the key with the date."""

    def __init__(self, key: int, days: Sequence[int | None]) -> None:
        self.key = key
        self.days = days
        known = [day for day in days if day is not None]
        self.newest = max(known)
        self.span = self.newest - min(known) + 1  # days
        oldest = self.span - 1
        self.starts = tuple(start for start in BANDS if start <= oldest)
        self.rows: list[list[int]] = [[] for _ in self.starts]
        for row, day in enumerate(days):
            self.rows[self._band(day, self.newest)].append(row)

    def _band(self, day: int | None, today: int) -> int:
        """The band of a day. Partitions without a date are in the oldest band."""
        if day is None:
            return len(self.starts) - 1
        age = today - day
        return max((at for at, start in enumerate(self.starts) if start <= age), default=0)

    def reached(self, rows: Collection[int], at: float | None) -> int:
        """The last band that a statement at this time needs for these partitions."""
        if len(rows) == len(self.days):
            return len(self.starts) - 1
        today = self.newest if at is None else _day_of(at)
        found = [self.days[row] for row in rows]
        if None in found:
            return len(self.starts) - 1
        return self._band(min(day for day in found if day is not None), today)

    def last_days(self, band: int) -> int | None:
        """The number of newest days in the bands up to this one; None if these are all days."""
        return self.starts[band + 1] if band + 1 < len(self.starts) else None

    def words(self, band: int) -> str:
        until = self.last_days(band)
        first = self.starts[band]
        if until is None:
            return f"from day {first + 1} on" if first else "all days"
        return f"day {until}" if until == first + 1 else f"days {first + 1} to {until}"


def _day_of(at: float) -> int:
    return int(at // DAY) + 719_163  # the ordinal of 1970-01-01


@dataclass(frozen=True)
class Stock:
    """All tables, and the clusters in their order. If the stock is `complete`, a table that is not
    in it does not exist; else it was not looked up yet."""

    clusters: tuple[ClusterName, ...]
    default: ClusterName
    tables: Mapping[TableRef, TableStock | None]
    use_default: bool = False
    coverage: Coverage = Coverage.READ
    filesystems: Mapping[ClusterName, str] = field(default_factory=dict)
    complete: bool = True

    def table(self, ref: TableRef) -> TableInfo | None:
        """The table, as for `conf.catalog.tables.Catalog`. Raises NotLoaded."""
        found = self.stock_of(ref)
        return None if found is None else found.info

    def stock_of(self, ref: TableRef) -> TableStock | None:
        """The table's stock; None if there is no such table. Raises NotLoaded."""
        found = self.tables.get(ref)
        if found is None and not self.complete and ref not in self.tables:
            raise NotLoaded(ref)
        return found

    @cached_property
    def usual_size(self) -> float:
        """The bytes used for a table of unknown size: the mean of the others, or 1 GB."""
        known = [each.known_size(0) for each in self.tables.values() if each and each.has_size]
        return sum(known) / len(known) if known else 1e9
