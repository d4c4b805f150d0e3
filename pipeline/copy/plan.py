"""The plan of a copy: which objects, and the steps that copy them (DC-P1, D10).

`CopyJob` executes the steps in their order, for copies and for replications. A `Round` holds the
steps for a number of objects; it is repeated for objects that change in the meantime.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from conf.names import ClusterName, TableRef
from pipeline.copy.copy_catalog import TABLE_ITSELF, CatalogTable, DataObject
from pipeline.copy.runs.staging import is_whole_table
from pipeline.errors import NotCopyable

ROUND_SIZE = 200  # objects that are copied, verified and published together


class CopyReason(Enum):
    """Why an object is copied."""

    ABSENT = "no copy yet"
    STALE = "its copy is stale"
    ASKED = "asked for again"


@dataclass(frozen=True, slots=True)
class PlannedCopy:
    """One object to copy. `source` is its location, `of` the version that the copy will have,
    `retires` the location of the copy that the new one replaces, `primary` the cluster of the
    source; empty in replications. `delta`: it is a table of Delta, whose log names its files.
    `metadata` is the location of the metadata file of a table of Iceberg. `continues` is the
    location of a copy that may be continued by adding the files that it lacks, `continued_metadata`
    the location of its metadata file.
    """

    name: str
    source: str
    of: str
    why: CopyReason
    retires: str | None = None
    primary: str = ""
    delta: bool = False
    metadata: str = ""
    continues: str | None = None
    continued_metadata: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """Wait for open writes, list the sources, make a directory for each object in `staging`, and
    move the files into it that an interrupted run had copied.
    """

    staging: str
    objects: int

    def __str__(self) -> str:
        noun = "directory" if self.objects == 1 else "directories"
        return f"stage    {self.objects} fresh {noun} in {self.staging}"


@dataclass(frozen=True, slots=True)
class CopyFiles:
    """Copy every file of these objects that the target does not have yet."""

    items: tuple[PlannedCopy, ...]

    def __str__(self) -> str:
        return f"copy     {objects_text(self.items)}, byte for byte"


@dataclass(frozen=True, slots=True)
class Verify:
    """List both sides again, to see that the target is complete and the source unchanged."""

    items: tuple[PlannedCopy, ...]
    checksum: bool

    def __str__(self) -> str:
        how = "lengths and checksums" if self.checksum else "lengths"
        return f"verify   {objects_text(self.items)} by {how}"


@dataclass(frozen=True, slots=True)
class Publish:
    """Record the copies in the metastore: from now on readers use them. `target` is a cluster, or
    a table of another metastore.
    """

    items: tuple[PlannedCopy, ...]
    target: str

    def __str__(self) -> str:
        return f"publish  {objects_text(self.items)} in {self.target}"


@dataclass(frozen=True, slots=True)
class Sweep:
    """Condemn directories that no table refers to; delete those condemned long enough ago."""

    staging: str

    def __str__(self) -> str:
        return f"sweep    {self.staging}"


class MetadataStep:
    """A step that only the `CopyCatalog` of the run can execute."""

    __slots__ = ()


RoundStep = Stage | CopyFiles | Verify | Publish | MetadataStep


@dataclass(frozen=True, slots=True)
class Round:
    """The steps for up to ROUND_SIZE objects."""

    items: tuple[PlannedCopy, ...]
    steps: tuple[RoundStep, ...]


Step = Round | Sweep | MetadataStep


def rounds_of(items: Sequence[PlannedCopy]) -> Iterator[tuple[PlannedCopy, ...]]:
    """The objects in groups of ROUND_SIZE."""
    for start in range(0, len(items), ROUND_SIZE):
        yield tuple(items[start : start + ROUND_SIZE])


def step_lines(steps: Sequence[Step]) -> Iterator[str]:
    """One line of text for each step, those of rounds included."""
    for step in steps:
        yield from map(str, step.steps if isinstance(step, Round) else (step,))


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """A copy of `items` of one table to `cluster`. `fresh` counts the objects that need no copy,
    `busy` names the items that are being written now. With `sweeps` the plan ends with a sweep.
    """

    table: CatalogTable
    cluster: ClusterName
    staging: str
    items: tuple[PlannedCopy, ...]
    fresh: int = 0
    busy: tuple[str, ...] = ()
    checksum: bool = True
    sweeps: bool = True

    @property
    def ref(self) -> TableRef:
        return self.table.ref

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in the order of execution; none when every copy is fresh."""
        rounds = tuple(
            Round(
                items,
                (
                    Stage(self.staging, len(items)),
                    CopyFiles(items),
                    Verify(items, self.checksum),
                    Publish(items, self.cluster),
                ),
            )
            for items in rounds_of(self.items)
        )
        sweep = (Sweep(self.staging),) if rounds and self.sweeps else ()
        return (*rounds, *sweep)

    def lines(self) -> tuple[str, ...]:
        """The plan as lines of text for people."""
        head = (
            f"{self.ref} to {self.cluster}: {len(self.items)} to copy, {self.fresh} fresh,"
            f" {len(self.busy)} being written"
        )
        objects = (f"  {item.name or self.ref}: {item.why.value}" for item in self.items)
        return (head, *objects, *step_lines(self.steps))


def plan_copy(
    table: CatalogTable,
    objects: Sequence[DataObject],
    cluster: ClusterName,
    staging: str,
    *,
    checksum: bool = True,
    again: bool = False,
) -> CopyPlan:
    """The plan that copies the objects without a fresh copy; with `again` all objects, and all of
    their files.

    Raises NotCopyable when the cluster is the primary of one of them, or the table can have no
    copies (D16).
    """
    if table.not_copied is not None:
        raise NotCopyable(table.not_copied)
    items, busy, fresh = [], [], 0
    for each in objects:
        placement = each.placement
        if placement.primary == cluster:
            name = f"{table.ref} {each.name}".rstrip()
            raise NotCopyable(f"{cluster} is the primary of {name}: it needs no copy.")
        copy = placement.copy_in(cluster)
        is_fresh = copy is not None and placement.is_fresh(copy)
        if is_fresh and not again:
            fresh += 1
            continue
        if placement.writing:
            busy.append(each.name)
        why = CopyReason.STALE
        if copy is None:
            why = CopyReason.ABSENT
        elif is_fresh:
            why = CopyReason.ASKED
        retires = None if copy is None else copy.location
        item = PlannedCopy(each.name, each.location, placement.version, why, retires)
        item = replace(
            item, primary=placement.primary, delta=table.delta, metadata=placement.metadata
        )
        may_continue = (table.delta or item.metadata) and not again
        if may_continue and copy is not None and is_whole_table(staging, copy.location):
            item = replace(item, continues=copy.location, continued_metadata=copy.metadata)
        items.append(item)
    return CopyPlan(table, cluster, staging, tuple(items), fresh, tuple(busy), checksum)


def objects_text(items: Sequence[PlannedCopy]) -> str:
    """`the table`, `ds=1`, or `7 partitions from ds=1`."""
    first = items[0].name
    if len(items) == 1:
        return "the table" if first == TABLE_ITSELF else first
    return f"{len(items)} partitions from {first}"
