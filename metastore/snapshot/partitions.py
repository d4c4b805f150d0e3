"""The partitions of a table in memory: their names, and the facts of those that were needed.

Partitions with equal facts are one group, and each partition only has the number of its group. The
facts of a group are the primary and, for each copy, the table's write id at the time of the copy,
or None if the partition was written since. So a change of the table's own facts, such as the
beginning of a write, changes no group, and a million partitions are a few columns of numbers.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from conf.bases import read_bases
from conf.names import ClusterName, partition_name
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas
from conf.placement import BadPlacement, Placement, read_placement
from conf.write_ids import is_time, time_of
from metastore.snapshot.slices import Selector, Slice, slices

# The replicas of a partition whose facts are not loaded: it can be read in no cluster.
_NOWHERE = Replicas(ClusterName(""), frozenset())


@dataclass(frozen=True, slots=True)
class _Group:
    """The facts of partitions. `primary` None: the table's. `copies` are pairs of a cluster and the
    table's write id at the time of the copy, None if the copy is stale."""

    primary: ClusterName | None
    copies: tuple[tuple[ClusterName, str | None], ...] = ()

    def replicas(self, table: Placement, covered: bool) -> Replicas:
        """The replicas while the table has that placement. `covered`: a running write may change
        the partitions."""
        if table.uniform and self == _PLAIN:
            return table.replicas()  # copied as a whole, if at all
        fresh = frozenset(
            cluster
            for cluster, under in self.copies
            if under is not None and under == table.write and not covered
        )
        stale = frozenset(cluster for cluster, _ in self.copies) - fresh
        return Replicas(self.primary or table.primary, fresh, stale)


_PLAIN = _Group(None)
_UNKNOWN = 0
_LAST_GROUP = 0xFFFF


class PartitionSheet:
    """Partitions of a table: a row for each, with its group when that is loaded."""

    __slots__ = (
        "_counts", "_exceptions", "_groups", "_missed", "_numbers", "_of", "_placed", "covered",
        "partitions",
    )  # fmt: skip

    def __init__(
        self,
        keys: Sequence[PartitionKey],
        names: Iterable[str],
        exceptions: frozenset[str] | None,
        covered: frozenset[Slice] | None = None,
    ) -> None:
        """`exceptions` are the only partitions that can have a primary or copies of their own, so
        the facts of others need not be read; None: any partition can.

        `covered` are the slices of which the sheet has all partitions; None: it has all partitions
        of the table.
        """
        self.partitions = PartitionSet(keys, (_values(name) for name in names))
        self.covered = covered
        self._exceptions = exceptions
        count = len(self.partitions)
        self._groups = [_PLAIN, _PLAIN]  # the first is that of unknown partitions
        self._numbers = {_PLAIN: 1}
        self._of = array("H", [_UNKNOWN if exceptions is None else 1]) * count
        for row in self.rows_named(exceptions or ()):
            self._of[row] = _UNKNOWN
        unknown = self._of.count(_UNKNOWN)
        self._counts = [unknown, count - unknown]
        self._placed: tuple[Placement, PlacedPartitions] | None = None
        # The first time at which a copy missed a write of its partition, by cluster and by the
        # table's write id at the time of the copy.
        self._missed: dict[tuple[ClusterName, str], float] = {}

    def __len__(self) -> int:
        return len(self.partitions)

    def with_slices(self, names: Iterable[str], added: frozenset[Slice]) -> "PartitionSheet":
        """A sheet that also has these partitions, which are all those of the added slices."""
        assert self.covered is not None  # else nothing can be added
        own = {self.partitions.row(row): self.name(row) for row in range(len(self))}
        new = {tuple(_values(name)): name for name in names}
        every = [*own.values(), *(name for row, name in new.items() if row not in own)]
        wider = PartitionSheet(self.partitions.keys, every, self._exceptions, self.covered | added)
        wider._adopt(self)
        return wider

    def _adopt(self, older: "PartitionSheet") -> None:
        """Copies the groups of the older sheet's rows, which are the first ones here."""
        added = self._of[len(older) :]
        self._groups, self._numbers = list(older._groups), dict(older._numbers)
        self._counts = list(older._counts)
        for number in (_UNKNOWN, self._numbers[_PLAIN]):
            self._counts[number] += added.count(number)
        self._of[: len(older)] = older._of
        self._missed = dict(older._missed)

    def missing(self, selectors: Iterable[Selector] | None) -> frozenset[Slice] | None:
        """The slices whose names have to be read for these selectors; None: all names."""
        if self.covered is None:
            return frozenset()
        wanted = slices(self.partitions.keys, selectors)
        return None if wanted is None else wanted - self.covered

    def unknown(self, selectors: Iterable[Selector] | None) -> Collection[int]:
        """Selected rows (None: all) whose facts are not loaded."""
        if not self._counts[_UNKNOWN]:
            return ()
        if selectors is None:
            return [row for row, group in enumerate(self._of) if group == _UNKNOWN]
        rows = {
            row
            for selector in selectors
            for row in selector.select(self.partitions)
            if self._of[row] == _UNKNOWN
        }
        return sorted(rows)

    def name(self, row: int) -> str:
        return partition_name(self.partitions.spec(row))

    def learn(
        self, rows: Iterable[int], facts: Mapping[tuple[str, ...], Mapping[str, str]]
    ) -> None:
        """Sets the facts of these rows; `facts` are the parameters by partition values.

        A row without parameters is a partition that was dropped since the names were read, or one
        without facts. It counts as one without facts. Raises BadPlacement.
        """
        self._placed = None
        for row in rows:
            own = _own(facts.get(self.partitions.row(row), {}))
            if own is not None:
                self._note_missed(own)
            number = self._number(_group(own))
            self._counts[self._of[row]] -= 1
            self._counts[number] += 1
            self._of[row] = number

    def _note_missed(self, own: Placement) -> None:
        for copy in own.copies:
            under, _, write = copy.of.rpartition("/")
            when = None if write == own.write else time_of(str(copy.notes.get("missed")))
            if when is not None:
                key = (copy.cluster, under)
                self._missed[key] = min(when, self._missed.get(key, when))

    def lacking_since(self, table: Placement) -> dict[ClusterName, float | None]:
        """Since when the copies of loaded partitions miss a write, by cluster: the earliest time in
        epoch seconds; None if all copies are fresh. A cluster is left out if it has stale copies
        and the time is known of none of them."""
        bases = {old: time_of(str(new)) for old, new in read_bases(table.bases).items()}
        used = {number for number, count in enumerate(self._counts) if count}
        copies = {copy for number in used for copy in self._groups[number].copies}
        old = [(name, under) for name, under in copies if under not in (None, table.write)]
        times = [(name, bases.get(under or "")) for name, under in old]
        for (name, under), when in self._missed.items():
            first = when if under == table.write else bases.get(under)
            times.append((name, None if first is None else min(when, first)))
        written = set()
        for mark in table.open:
            named = used
            if mark.partitions is not None:
                named = {self._of[row] for row in self.rows_named(mark.partitions)}
            touched = {copy for number in named for copy in self._groups[number].copies}
            written |= {name for name, _ in touched}
            began = mark.since if is_time(mark.since) else None
            times += [(name, began) for name, under in touched if under == table.write]
        earliest: dict[ClusterName, float | None] = {}
        for name, since in times:
            if since is not None:
                earliest[name] = min(since, earliest.get(name) or since)
        stale = written | {name for name, under in copies if under != table.write}
        fresh = {name for name, _ in copies} - stale
        return earliest | dict.fromkeys(fresh)

    def _number(self, group: _Group) -> int:
        number = self._numbers.setdefault(group, len(self._groups))
        if number > _LAST_GROUP:
            raise BadPlacement(f"more than {_LAST_GROUP} kinds of placement in one table")
        if number == len(self._groups):
            self._groups.append(group)
            self._counts.append(0)
        return number

    def placed(self, table: Placement) -> PlacedPartitions:
        """The replicas of every partition while the table has this placement.

        Rows whose facts are not loaded have no replicas, so that using them is an error and never
        wrong data.
        """
        if self._placed is None or self._placed[0] != table:
            self._placed = (table, self._place(table))
        return self._placed[1]

    def _place(self, table: Placement) -> PlacedPartitions:
        everywhere = any(mark.partitions is None for mark in table.open)
        replicas = [group.replicas(table, everywhere) for group in self._groups]
        replicas[_UNKNOWN] = _NOWHERE
        groups, counts = self._of, list(self._counts)
        if table.open and not everywhere:
            groups = array("H", groups)
            self._mark_covered(table, replicas, groups, counts)
        used = [number for number, count in enumerate(counts) if count]
        if not used:  # no partitions
            return PlacedPartitions(self.partitions, (), groups, self.covered is None)
        for number, count in enumerate(counts):
            if not count:  # no partition has this group: replace its replicas by used ones
                replicas[number] = replicas[used[0]]
        complete = self.covered is None
        return PlacedPartitions(self.partitions, tuple(replicas), groups, complete)

    def _mark_covered(
        self, table: Placement, replicas: list[Replicas], groups: "array[int]", counts: list[int]
    ) -> None:
        """Gives partitions with running writes a group without fresh copies."""
        covered: dict[int, int] = {}
        for row in self.rows_named(name for mark in table.open for name in mark.partitions or ()):
            number = groups[row]
            if number == _UNKNOWN or number in covered.values():
                continue
            if number not in covered:
                covered[number] = len(replicas)
                replicas.append(self._groups[number].replicas(table, True))
                counts.append(0)
            counts[number] -= 1
            counts[covered[number]] += 1
            groups[row] = covered[number]

    def rows_named(self, names: Iterable[str]) -> Iterator[int]:
        """The rows of the named partitions that exist."""
        for name in names:
            values = _values(name)
            if len(values) == len(self.partitions.keys):
                columns = [
                    self.partitions.rows_with(key, value) for key, value in enumerate(values)
                ]
                yield from set(columns[0]).intersection(*columns[1:])


def _values(name: str) -> list[str]:
    """The values in a partition's name. It is called a million times for a large table."""
    values = [part.partition("=")[2] for part in name.split("/")]
    return [unquote(value) for value in values] if "%" in name else values


def _own(parameters: Mapping[str, str]) -> Placement | None:
    """A partition's own facts; None if it has none."""
    return read_placement(parameters, ClusterName("")) if parameters else None


def _group(own: Placement | None) -> _Group:
    if own is None:
        return _PLAIN
    copies = []
    for copy in own.copies:
        under, slash, write = copy.of.rpartition("/")
        copies.append((copy.cluster, under if slash and write == own.write else None))
    return _Group(own.primary or None, tuple(copies))
