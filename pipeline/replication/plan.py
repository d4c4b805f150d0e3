"""What a replication between two metastores will do, decided before it starts (FA-R1..R10)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from conf.names import ClusterName, TableRef, parse_partition_name, partition_name
from metastore.client.types import Partition, Table
from pipeline.copy.copy_catalog import data_location
from pipeline.copy.files import FileListing
from pipeline.copy.plan import ROUND, CopyFiles, CopyReason, PlannedCopy, Stage, Sweep, Verify
from pipeline.errors import NotCopyable
from pipeline.replication.schema import SchemaChange, follow, refuse_renaming

Spec = tuple[tuple[str, str], ...]

STAGING = "_causeway"  # below the table's own directory; Hive and Spark overlook such names there
OF, FROM = "replicated.of", "replicated.from"
WHOLE = ""  # the name of an unpartitioned table


@dataclass(frozen=True, slots=True)
class ReplicationRequest:
    """One instance: the partitions of `source` that match `source_spec`, into `target`.

    The n-th pair of `target_spec` says what the n-th key and value of `source_spec` become there
    (FA-R7); keys that neither names stay as they are. Without specs every partition, or the
    unpartitioned table. `location` is that of a table to be created (else below its database's);
    `cluster` is the target's default cluster if Causeway routes there too, so that its secondary
    copies become stale.
    """

    source: TableRef
    target: TableRef
    source_spec: Spec = ()
    target_spec: Spec = ()
    location: str | None = None
    propagate_deletes: bool = False
    checksum: bool = True
    cluster: ClusterName | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """Write down the table's and the partitions' metadata beside the data (FA-R1)."""

    table: TableRef

    def __str__(self) -> str:
        return f"export   metadata of {self.table}"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """The target has no such table: it is made from the exported metadata (FA-R3)."""

    table: TableRef

    def __str__(self) -> str:
        return f"create   {self.table}"


@dataclass(frozen=True, slots=True)
class ChangeColumns:
    """The source has gained columns or wider types."""

    table: TableRef
    change: SchemaChange

    def __str__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self.change.columns)
        return f"alter    {self.table}: {columns}"


@dataclass(frozen=True, slots=True)
class Register:
    """Make known in the target: new partitions are added, known ones change their location."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"register {', '.join(self.names[:3]) or 'the table'}{_more(self.names)}"


@dataclass(frozen=True, slots=True)
class Drop:
    """The source has dropped them, and it was asked for that the target follows."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"drop     {', '.join(self.names[:3])}{_more(self.names)}"


ReplicaStep = (
    Export | CreateTable | ChangeColumns | Stage | CopyFiles | Verify | Register | Drop | Sweep
)


@dataclass(frozen=True, slots=True)
class ReplicationPlan:
    """`items` go by their names in the target; `origins` has their names in the source."""

    request: ReplicationRequest
    base: str
    items: tuple[PlannedCopy, ...]
    origins: Mapping[str, str]
    fresh: int = 0
    drops: tuple[str, ...] = ()
    create: bool = False
    change: SchemaChange | None = None

    @property
    def staging(self) -> str:
        return f"{self.base}/{STAGING}"

    @property
    def rounds(self) -> tuple[tuple[PlannedCopy, ...], ...]:
        return tuple(self.items[at : at + ROUND] for at in range(0, len(self.items), ROUND))

    @property
    def steps(self) -> tuple[ReplicaStep, ...]:
        """In the order in which they run."""
        target = self.request.target
        steps: list[ReplicaStep] = [Export(self.request.source)] if self.items else []
        if self.create:
            steps.append(CreateTable(target))
        if self.change is not None:
            steps.append(ChangeColumns(target, self.change))
        for items in self.rounds:
            steps += [Stage(self.staging, len(items)), CopyFiles(items)]
            steps.append(Verify(items, self.request.checksum))
            steps.append(Register(tuple(item.name for item in items)))
        if self.drops:
            steps.append(Drop(self.drops))
        return (*steps, Sweep(self.staging)) if steps else ()

    def lines(self) -> tuple[str, ...]:
        """The plan for people."""
        head = (
            f"{self.request.source} to {self.request.target}: {len(self.items)} to copy,"
            f" {self.fresh} up to date, {len(self.drops)} to drop"
        )
        return (head, *map(str, self.steps))


@dataclass(frozen=True, slots=True)
class SourceObject:
    """A source partition (or table) and what its directory holds."""

    name: str
    location: str
    listing: FileListing | None


def plan_replication(
    request: ReplicationRequest,
    source: Table,
    seen: Sequence[SourceObject],
    target: Table | None,
    there: Mapping[str, Partition],
    database_location: str,
) -> ReplicationPlan:
    """`seen` are the source's matching partitions, `there` the target's, by name.

    Raises NotCopyable, UnsafeSchemaChange.
    """
    keys = target_keys(request, source)
    refuse_renaming(source, keys)
    change = None if target is None else follow(source, target, keys)
    location = request.location or f"{database_location.rstrip('/')}/{request.target.name}"
    base = location if target is None else base_of(data_location(target))
    items, origins, fresh = [], {}, 0
    for each in seen:
        name = target_name(request, source, each.name)
        origins[name] = each.name
        old = _old(name, target, there)
        of = "" if each.listing is None else fingerprint(each.listing)
        if old is not None and old.get(OF) == of and of:
            fresh += 1
            continue
        why = CopyReason.ABSENT if old is None else CopyReason.STALE
        retires = there[name].location if name in there else None
        if not source.partition_keys and target is not None:
            retires = data_location(target)
        items.append(PlannedCopy(name, each.location, of, why, retires))
    drops = _drops(there, origins) if request.propagate_deletes else ()
    return ReplicationPlan(
        request, base, tuple(items), origins, fresh, drops, target is None, change
    )


def _old(name: str, target: Table | None, there: Mapping[str, Partition]) -> dict[str, str] | None:
    if name == WHOLE:
        return None if target is None else target.parameters
    return there[name].parameters if name in there else None


def _drops(there: Mapping[str, Partition], origins: Mapping[str, str]) -> tuple[str, ...]:
    """Only what a replication made is ever dropped by one."""
    return tuple(sorted(n for n, p in there.items() if n not in origins and FROM in p.parameters))


def target_keys(request: ReplicationRequest, source: Table) -> tuple[str, ...]:
    """The names of the source's partition keys in the target, in order. Raises NotCopyable."""
    known = [name.lower() for name, _ in source.partition_keys]
    for key, _ in request.source_spec:
        if key not in known:
            raise NotCopyable(f"{request.source} has no partition key {key} ({', '.join(known)}).")
    if len(request.source_spec) != len(request.target_spec):
        raise NotCopyable("source and target name different numbers of partition keys.")
    pairs = zip(request.source_spec, request.target_spec, strict=True)
    names = {old: new for (old, _), (new, _) in pairs}
    return tuple(names.get(key, key) for key in known)


def target_name(request: ReplicationRequest, source: Table, name: str) -> str:
    """What a source partition is called in the target."""
    if not source.partition_keys:
        return WHOLE
    pairs = zip(request.source_spec, request.target_spec, strict=True)
    changed = {old: (new, value) for (old, _), (new, value) in pairs}
    spec = parse_partition_name(name)
    return partition_name(changed.get(key, (key, value)) for key, value in spec)


def matches(spec: Spec, name: str) -> bool:
    """Whether a partition's name has every (key, value) of a spec: static keys are respected."""
    values = dict(parse_partition_name(name))
    return all(values.get(key) == value for key, value in spec)


def base_of(location: str) -> str:
    """A table's own directory, whether or not a replica's run lies below it."""
    return location.partition(f"/{STAGING}/")[0].rstrip("/")


def fingerprint(listing: FileListing) -> str:
    """Equal only for the same paths, lengths and times."""
    digest = blake2b(digest_size=16)
    for entry in listing.files:
        digest.update(f"{entry.path}\0{entry.length}\0{entry.modified}\n".encode())
    return digest.hexdigest()


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - 3} more" if len(names) > 3 else ""
