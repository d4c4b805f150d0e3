"""The plan of a replication between two metastores (FA-R1 to FA-R10)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from conf.names import TableRef, parse_partition_name, partition_name
from metastore.client.types import Partition, Table
from metastore.placement.open_formats import DELTA, open_format, why_files_are_not_enough
from pipeline.copy.copy_catalog import data_location
from pipeline.copy.files import FileListing
from pipeline.copy.plan import (
    CopyFiles,
    CopyReason,
    MetadataStep,
    PlannedCopy,
    Publish,
    Round,
    RoundStep,
    Stage,
    Step,
    Sweep,
    Verify,
    rounds_of,
    step_lines,
)
from pipeline.errors import NotCopyable
from pipeline.partition_values import Spec, canonical, kinds_of, spec_finder
from pipeline.replication.schema import SchemaChange, follow, refuse_renaming

STAGING = "_causeway"  # below the table's own directory, where Hive and Spark ignore such names
OF, FROM = "replicated.of", "replicated.from"
WHOLE = ""  # the name of an unpartitioned table


@dataclass(frozen=True, slots=True)
class ReplicationRequest:
    """Replicate the partitions of `source` that have the values of one of `specs` into `target`.

    `specs` are pairs of specs of the source and of the target, all with the same keys. The n-th key
    and value of the first become the n-th of the second (FA-R7); other keys do not change. Empty
    specs select every partition, or the unpartitioned table.

    A table that is created is at `location` (default: below its database). `between` are the names
    of the clusters of source and target.
    """

    source: TableRef
    target: TableRef
    specs: tuple[tuple[Spec, Spec], ...] = (((), ()),)
    location: str | None = None
    propagate_deletes: bool = False
    checksum: bool = True
    between: tuple[str, str] = ("", "")

    @property
    def source_specs(self) -> tuple[Spec, ...]:
        return tuple(source for source, _ in self.specs)

    @property
    def target_specs(self) -> tuple[Spec, ...]:
        return tuple(target for _, target in self.specs)


@dataclass(frozen=True, slots=True)
class CreateTable(MetadataStep):
    """Make the target's table, which does not exist, like the source's (FA-R3)."""

    table: TableRef

    def __str__(self) -> str:
        return f"create   {self.table}"


@dataclass(frozen=True, slots=True)
class ChangeColumns(MetadataStep):
    """Give the target's table the source's new columns and wider types."""

    table: TableRef
    change: SchemaChange

    def __str__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self.change.columns)
        return f"alter    {self.table}: {columns}"


@dataclass(frozen=True, slots=True)
class Drop(MetadataStep):
    """Drop partitions that the source has dropped, where the request says so."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {len(self.names) - 3} more" if len(self.names) > 3 else ""
        return f"drop     {', '.join(self.names[:3])}{more}"


@dataclass(frozen=True, slots=True)
class ReplicationPlan:
    """The objects to copy, `items`, are named as in the target; `origins` maps the names of all
    selected objects in the target to those in the source. `base` is the directory of the target's
    table, `fresh` the number of objects that are up to date, `drops` are partitions to drop.
    `create`: the target's table does not exist; `change` are the columns that it needs otherwise.
    With `sweeps` the plan ends with a sweep.
    """

    request: ReplicationRequest
    base: str
    items: tuple[PlannedCopy, ...]
    origins: Mapping[str, str]
    fresh: int = 0
    drops: tuple[str, ...] = ()
    create: bool = False
    change: SchemaChange | None = None
    sweeps: bool = True

    @property
    def staging(self) -> str:
        return f"{self.base}/{STAGING}"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in the order of execution; none when nothing has to be done."""
        rounds = tuple(
            self._round(items, self._table_steps if number == 0 else ())
            for number, items in enumerate(rounds_of(self.items))
        )
        alone: tuple[Step, ...] = () if rounds else self._table_steps
        drop = (Drop(self.drops),) if self.drops else ()
        sweep = (Sweep(self.staging),) if rounds and self.sweeps else ()
        return (*rounds, *alone, *drop, *sweep)

    @property
    def _table_steps(self) -> tuple[MetadataStep, ...]:
        """The changes of the table itself. Those of an unpartitioned table are published with its
        data, in one change of its metadata.
        """
        if WHOLE in self.origins and self.items:
            return ()
        target = self.request.target
        create = (CreateTable(target),) if self.create else ()
        change = () if self.change is None else (ChangeColumns(target, self.change),)
        return (*create, *change)

    def _round(
        self, items: tuple[PlannedCopy, ...], table_steps: tuple[MetadataStep, ...]
    ) -> Round:
        steps: tuple[RoundStep, ...] = (
            Stage(self.staging, len(items)),
            CopyFiles(items),
            Verify(items, self.request.checksum),
            *table_steps,
            Publish(items, str(self.request.target)),
        )
        return Round(items, steps)

    def lines(self) -> tuple[str, ...]:
        """The plan as lines of text for people."""
        head = (
            f"{self.request.source} to {self.request.target}: {len(self.items)} to copy,"
            f" {self.fresh} up to date, {len(self.drops)} to drop"
        )
        return (head, *step_lines(self.steps))


@dataclass(frozen=True, slots=True)
class SourceTable:
    """The table that is replicated. `keys` are the names of its partition keys in the target;
    `delta`: it is a table of Delta.
    """

    table: Table
    keys: tuple[str, ...]
    location: str
    delta: bool


def check_source(request: ReplicationRequest, table: Table) -> SourceTable:
    """Raises NotCopyable for a table that cannot be replicated so."""
    if table.kind.endswith("_VIEW"):
        raise NotCopyable(f"{request.source} is a view: it has no data of its own.")
    if (why := why_files_are_not_enough(table)) is not None:
        raise NotCopyable(why)
    delta = open_format(table) == DELTA
    return SourceTable(table, target_keys(request, table), data_location(table), delta)


@dataclass(frozen=True, slots=True)
class SourceObject:
    """A source partition (or table) and the content of its directory; None if there is none."""

    name: str
    location: str
    listing: FileListing | None


def plan_replication(
    request: ReplicationRequest,
    source: SourceTable,
    sources: Sequence[SourceObject],
    target: Table | None,
    existing: Mapping[str, Partition],
    database_location: str,
) -> ReplicationPlan:
    """The plan for the partitions `sources` of the source, or for its unpartitioned table.
    `existing` are the target's partitions that the request selects, by name. Raises NotCopyable,
    UnsafeSchemaChange.
    """
    refuse_renaming(source.table, source.keys)
    change = None if target is None else follow(source.table, target, source.keys)
    location = request.location or new_location(database_location, request.target)
    base = location if target is None else base_of(data_location(target))
    items, origins, fresh = [], {}, 0
    rename = target_names(request, source.table)
    for each in sources:
        name = rename(each.name)
        origins[name] = each.name
        old = _parameters(name, target, existing)
        of = "" if each.listing is None else fingerprint(each.listing)
        if old is not None and old.get(OF) == of and of:
            fresh += 1
            continue
        why = CopyReason.ABSENT if old is None else CopyReason.STALE
        retires = existing[name].location if name in existing else None
        if not source.keys and target is not None:
            retires = data_location(target)
        items.append(PlannedCopy(name, each.location, of, why, retires, delta=source.delta))
    drops = _drops(existing, origins) if request.propagate_deletes else ()
    return ReplicationPlan(
        request, base, tuple(items), origins, fresh, drops, target is None, change
    )


def new_location(database_location: str, table: TableRef) -> str:
    """The location of a table that a replication creates, unless the request has another."""
    return f"{database_location.rstrip('/')}/{table.name}"


def _parameters(
    name: str, target: Table | None, existing: Mapping[str, Partition]
) -> dict[str, str] | None:
    """The parameters of an object of the target; None when it does not exist."""
    if name == WHOLE:
        return None if target is None else target.parameters
    return existing[name].parameters if name in existing else None


def _drops(existing: Mapping[str, Partition], origins: Mapping[str, str]) -> tuple[str, ...]:
    """The partitions of the target that the source does not have and that a replication made."""
    return tuple(
        sorted(n for n, p in existing.items() if n not in origins and FROM in p.parameters)
    )


def target_keys(request: ReplicationRequest, source: Table) -> tuple[str, ...]:
    """The names of the source's partition keys in the target, in order. Raises NotCopyable."""
    known = [name.lower() for name, _ in source.partition_keys]
    source_spec, target_spec = request.specs[0]
    for key, _ in source_spec:
        if key not in known:
            raise NotCopyable(f"{request.source} has no partition key {key} ({', '.join(known)}).")
    if len(source_spec) != len(target_spec):
        raise NotCopyable("source and target name different numbers of partition keys.")
    names = {old: new for (old, _), (new, _) in zip(source_spec, target_spec, strict=True)}
    return tuple(names.get(key, key) for key in known)


def target_names(request: ReplicationRequest, source: Table) -> Callable[[str], str]:
    """A function from the name of a selected source partition to its name in the target."""
    if not source.partition_keys:
        return lambda name: WHOLE
    kinds = kinds_of(source.partition_keys)
    first, targets = spec_finder(request.source_specs, kinds), dict(request.specs)

    def rename(name: str) -> str:
        spec = first(name) or ()
        pairs = zip(spec, targets.get(spec, ()), strict=True)
        changed = {
            key: (new, canonical(value, kinds.get(key, ""))) for (key, _), (new, value) in pairs
        }
        old = parse_partition_name(name)
        return partition_name(changed.get(key, (key, value)) for key, value in old)

    return rename


def base_of(location: str) -> str:
    """A table's own directory, also for a location in the directory of a run."""
    return location.partition(f"/{STAGING}/")[0].rstrip("/")


def fingerprint(listing: FileListing) -> str:
    """A hash of the paths, lengths and times of a directory's files."""
    digest = blake2b(digest_size=16)
    for entry in listing.files:
        digest.update(f"{entry.path}\0{entry.length}\0{entry.modified}\n".encode())
    return digest.hexdigest()
