"""The copies of a table as they are shown to people: since when each is stale, its files and bytes.

No decision uses these facts. Times come from the clocks of the processes that wrote and copied.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from conf.bases import read_bases
from conf.formats import utc
from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement
from conf.write_ids import is_time, time_of

_bases = lru_cache(64)(read_bases)  # all partitions of a table have the same text


@dataclass(frozen=True, slots=True)
class ClusterCopy:
    """A cluster's copy of one object.

    `since` is the time at which the first write that the copy misses began; None if the copy is
    fresh, or the time is not known. `at` is the time at which the copy was published, None if not
    known. Times are epoch seconds.
    """

    cluster: ClusterName
    location: str
    fresh: bool
    since: float | None
    at: float | None
    files: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class CopySum:
    """The copies in one cluster of the objects of a table: of the table itself, or its partitions.

    `primary`, `fresh`, `stale` and `absent` are numbers of objects. `since` is the earliest time at
    which a copy became stale; `unknown` is the number of stale copies of which that time is not
    known. `at` is the time of the latest publication. `files` and `bytes` are totals, None if there
    is no copy or one of the numbers is not known; the number of a primary object is that of a fresh
    copy of it.
    """

    cluster: ClusterName
    primary: int = 0
    fresh: int = 0
    stale: int = 0
    absent: int = 0
    since: float | None = None
    unknown: int = 0
    at: float | None = None
    files: int | None = None
    bytes: int | None = None

    @property
    def state(self) -> str:
        """The state of the worst object: absent, stale, fresh or primary."""
        counts = {"absent": self.absent, "stale": self.stale, "fresh": self.fresh}
        return next((state for state, count in counts.items() if count), "primary")

    def lag(self, now: float) -> float | None:
        """Seconds from `since` until `now`; 0 if the clock of `now` is behind; None without
        `since`."""
        return None if self.since is None else round(max(now - self.since, 0), 3)

    def document(self, now: float) -> dict[str, object]:
        """The sum as a JSON object."""
        return {
            "cluster": self.cluster,
            "state": self.state,
            "primary": self.primary,
            "fresh": self.fresh,
            "stale": self.stale,
            "absent": self.absent,
            "stale_since": None if self.since is None else utc(self.since),
            "lag": self.lag(now),
            "unknown": self.unknown,
            "copied": None if self.at is None else utc(self.at),
            "files": self.files,
            "bytes": self.bytes,
        }


@dataclass(frozen=True, slots=True)
class TableCopies:
    """A table's own placement, and those of its partitions by name. `partitions` is None for a
    table without partitions, or one that is copied as a whole.

    Of a partition only the primary and the copies are certain here, not its version. `location` is
    the table's own location, that of the primary's data.
    """

    table: TableRef
    placement: Placement
    partitions: dict[str, Placement] | None = None
    location: str = ""

    def location_in(self, cluster: ClusterName) -> str:
        """The location of the cluster's copy of the whole table; else the table's own location."""
        copies = {each.cluster: each.location for each in self.placement.copies}
        return copies.get(cluster, self.location)

    @property
    def objects(self) -> Collection[Placement]:
        """The placements of the objects that have the table's data."""
        return [self.placement] if self.partitions is None else self.partitions.values()

    @property
    def copied(self) -> bool:
        """Whether any of its objects has a copy."""
        return any(each.copies for each in self.objects)


def cluster_copies(placement: Placement) -> list[ClusterCopy]:
    """The copies of a table or partition, by cluster."""
    return [_state(placement, copy) for copy in placement.copies]


def lacking_since(placement: Placement, copy: Copy) -> float | None:
    """The time since which the copy is stale, in epoch seconds; None if it is fresh, or the time is
    not known."""
    if placement.is_fresh(copy):
        return None
    table_write, _, write = copy.of.rpartition("/")
    missed = []
    if write != placement.write:
        missed.append(time_of(str(copy.notes.get("missed"))))
    if placement.table_write is not None and table_write != placement.table_write:
        missed.append(time_of(str(_bases(placement.bases).get(table_write))))
    if not missed:  # only writes that still run
        missed = [mark.since if is_time(mark.since) else None for mark in placement.open]
    known = [each for each in missed if each is not None]
    return min(known) if len(known) == len(missed) else None


def sums(placements: Iterable[Placement], clusters: Iterable[ClusterName]) -> list[CopySum]:
    """One sum for each of the clusters, in their order, over the placements of the objects."""
    counted = {cluster: _Count(cluster) for cluster in clusters}
    for placement in placements:
        states = {state.cluster: state for state in cluster_copies(placement)}
        for cluster, count in counted.items():
            if cluster == placement.primary:
                count.add_primary(states.values())
            else:
                count.add(states.get(cluster))
    return [count.result() for count in counted.values()]


def clusters_of(placements: Iterable[Placement]) -> Iterator[ClusterName]:
    """The clusters that have any of the objects or a copy of one, sorted by name."""
    names = set()
    for placement in placements:
        names |= {placement.primary, *(copy.cluster for copy in placement.copies)}
    yield from sorted(names)


class _Count:
    """Adds up one cluster's copies."""

    def __init__(self, cluster: ClusterName) -> None:
        self._cluster = cluster
        self._primary = self._absent = 0
        self._copies: list[ClusterCopy] = []
        self._files: list[int | None] = []
        self._bytes: list[int | None] = []

    def add_primary(self, copies: Iterable[ClusterCopy]) -> None:
        self._primary += 1
        equal = [copy for copy in copies if copy.fresh]
        self._files.append(next((c.files for c in equal if c.files is not None), None))
        self._bytes.append(next((c.bytes for c in equal if c.bytes is not None), None))

    def add(self, copy: ClusterCopy | None) -> None:
        if copy is None:
            self._absent += 1
            return
        self._copies.append(copy)
        self._files.append(copy.files)
        self._bytes.append(copy.bytes)

    def result(self) -> CopySum:
        copies = self._copies
        stale = [copy for copy in copies if not copy.fresh]
        since = [copy.since for copy in stale if copy.since is not None]
        return CopySum(
            self._cluster,
            self._primary,
            len(copies) - len(stale),
            len(stale),
            self._absent,
            min(since, default=None),
            len(stale) - len(since),
            max((copy.at for copy in copies if copy.at is not None), default=None),
            _total(self._files),
            _total(self._bytes),
        )


def _state(placement: Placement, copy: Copy) -> ClusterCopy:
    at, files, size = (copy.notes.get(name) for name in ("at", "files", "bytes"))
    return ClusterCopy(
        copy.cluster,
        copy.location,
        placement.is_fresh(copy),
        lacking_since(placement, copy),
        float(at) if isinstance(at, float | int) and is_time(at) else None,
        files if isinstance(files, int) else None,
        size if isinstance(size, int) else None,
    )


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if numbers and len(known) == len(numbers) else None
