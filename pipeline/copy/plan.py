"""What a copy will do, decided before it does anything (DC-P1, D10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from conf.names import ClusterName, TableRef
from pipeline.copy.copy_catalog import TABLE_ITSELF, DataObject, TableState
from pipeline.errors import NotCopyable

ROUND = 200  # objects that are carried, verified and published together


class CopyReason(Enum):
    ABSENT = "no copy yet"
    STALE = "its copy is stale"
    ASKED = "asked for again"


@dataclass(frozen=True, slots=True)
class PlannedCopy:
    """One object to copy. `of` is the version of it that the copy will hold, `retires` the
    location of the copy that the new one replaces.
    """

    name: str
    source: str
    of: str
    why: CopyReason
    retires: str | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """Make a fresh directory in `staging` for each object; take over what a dead run left."""

    staging: str
    objects: int

    def __str__(self) -> str:
        return f"stage    {self.objects} fresh director{_ies(self.objects)} in {self.staging}"


@dataclass(frozen=True, slots=True)
class CopyFiles:
    """Carry every file of these objects that is not there yet."""

    items: tuple[PlannedCopy, ...]

    def __str__(self) -> str:
        return f"copy     {_objects(self.items)}, byte for byte"


@dataclass(frozen=True, slots=True)
class Verify:
    """List both sides again: the target is complete, the source and its version unchanged."""

    items: tuple[PlannedCopy, ...]
    checksum: bool

    def __str__(self) -> str:
        how = "lengths and checksums" if self.checksum else "lengths"
        return f"verify   {_objects(self.items)} by {how}"


@dataclass(frozen=True, slots=True)
class Publish:
    """Record the copies in the metastore: from here on they are read."""

    items: tuple[PlannedCopy, ...]
    cluster: ClusterName

    def __str__(self) -> str:
        return f"publish  {_objects(self.items)} in {self.cluster}"


@dataclass(frozen=True, slots=True)
class Sweep:
    """Condemn what nothing refers to any more; delete what was condemned long enough."""

    staging: str

    def __str__(self) -> str:
        return f"sweep    {self.staging}"


Step = Stage | CopyFiles | Verify | Publish | Sweep


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """A copy of `items` of one table to `cluster`; `fresh` objects are left alone, `busy` ones
    are being written now and waited for.
    """

    table: TableState
    cluster: ClusterName
    staging: str
    items: tuple[PlannedCopy, ...]
    fresh: int = 0
    busy: tuple[str, ...] = ()
    checksum: bool = True

    @property
    def ref(self) -> TableRef:
        return self.table.ref

    @property
    def rounds(self) -> tuple[tuple[PlannedCopy, ...], ...]:
        return tuple(self.items[at : at + ROUND] for at in range(0, len(self.items), ROUND))

    @property
    def steps(self) -> tuple[Step, ...]:
        """In the order in which they run."""
        steps: list[Step] = []
        for items in self.rounds:
            steps += [
                Stage(self.staging, len(items)),
                CopyFiles(items),
                Verify(items, self.checksum),
                Publish(items, self.cluster),
            ]
        return (*steps, Sweep(self.staging)) if steps else ()

    def lines(self) -> tuple[str, ...]:
        """The plan for people."""
        head = (
            f"{self.ref} to {self.cluster}: {len(self.items)} to copy, {self.fresh} fresh,"
            f" {len(self.busy)} being written"
        )
        objects = (f"  {item.name or self.ref}: {item.why.value}" for item in self.items)
        return (head, *objects, *map(str, self.steps))


def plan_copy(
    table: TableState,
    objects: Sequence[DataObject],
    cluster: ClusterName,
    staging: str,
    *,
    checksum: bool = True,
    again: bool = False,
) -> CopyPlan:
    """Which of `objects` have to be copied; `again` copies fresh ones too.

    Raises NotCopyable when the cluster is the primary of one of them.
    """
    items, busy, fresh = [], [], 0
    for each in objects:
        placement = each.placement
        if placement.primary == cluster:
            what = f"{table.ref} {each.name}".rstrip()
            raise NotCopyable(f"{cluster} is the primary of {what}: it needs no copy.")
        copy = placement.copy_in(cluster)
        if copy is not None and placement.is_fresh(copy) and not again:
            fresh += 1
            continue
        if placement.writing:
            busy.append(each.name)
        why = CopyReason.ABSENT if copy is None else CopyReason.STALE
        if copy is not None and placement.is_fresh(copy):
            why = CopyReason.ASKED
        retires = None if copy is None else copy.location
        items.append(PlannedCopy(each.name, each.location, placement.version, why, retires))
    return CopyPlan(table, cluster, staging, tuple(items), fresh, tuple(busy), checksum)


def _objects(items: Sequence[PlannedCopy]) -> str:
    if len(items) == 1 and items[0].name == TABLE_ITSELF:
        return "the table"
    first = items[0].name
    return first if len(items) == 1 else f"{len(items)} partitions from {first}"


def _ies(count: int) -> str:
    return "y" if count == 1 else "ies"
