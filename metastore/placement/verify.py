"""Reads the cluster facts of a whole metastore, table by table (`causeway metastore verify`)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from conf.locations import foreign_cluster
from conf.names import ClusterName, TableRef, partition_name
from conf.placement import (
    PARTITIONS,
    PRIMARY,
    RESERVED_PREFIX,
    BadPlacement,
    Placement,
    read_partition_placement,
    read_placement,
)
from metastore.client.metastore_client import BATCH, HmsClient, batches
from metastore.client.types import Table

Filesystems = Mapping[ClusterName, str]  # each cluster's FileSystem
VIEWS = frozenset({"VIRTUAL_VIEW", "MATERIALIZED_VIEW"})
Progress = Callable[[str, int, int], None]  # kind of object, number done, number in all


@dataclass(slots=True)
class TableSurvey:
    """The facts of a table. `named`: it names its primary; `marked_itself`: it has any fact.

    Names of partitions: `own` have another primary than the table, or copies; `lacking` name no
    primary; `marked` have any fact. `problems` are sentences, and so are `elsewhere`: objects whose
    folder lies in the storage of another cluster than their primary.
    """

    ref: TableRef
    is_view: bool
    partitioned: bool
    placement: Placement | None
    named: bool
    marked_itself: bool
    partitions: int = 0
    copies: int = 0
    own: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    marked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


def table_refs(client: HmsClient) -> list[TableRef]:
    """Every table and view, in a fixed order."""
    return [
        TableRef(database, name)
        for database in sorted(client.get_all_databases())
        for name in sorted(client.get_all_tables(database))
    ]


def survey(
    client: HmsClient,
    owner: ClusterName,
    progress: Progress = lambda *_: None,
    filesystems: Filesystems | None = None,
) -> Iterator[TableSurvey]:
    """The survey of each table and view. Tables without a primary count as the owner's. With
    `filesystems`, folders are compared with those of the clusters.
    """
    refs = table_refs(client)
    for number, ref in enumerate(refs):
        progress("tables", number, len(refs))
        for table in client.get_tables(ref.db, [ref.name]):  # none if it was dropped
            yield survey_table(client, table, owner, progress, filesystems)
    progress("tables", len(refs), len(refs))


def survey_table(
    client: HmsClient,
    table: Table,
    owner: ClusterName,
    progress: Progress = lambda *_: None,
    filesystems: Filesystems | None = None,
) -> TableSurvey:
    """The facts of a table and of its partitions."""
    parameters = table.parameters
    problems: list[str] = []
    placement = None
    try:
        placement = read_placement(parameters, owner)
    except BadPlacement as error:
        problems.append(f"{table.ref}: {error}")
    surveyed = TableSurvey(
        ref=table.ref,
        is_view=table.kind in VIEWS,
        partitioned=bool(table.partition_keys),
        placement=placement,
        named=PRIMARY in parameters,
        marked_itself=any(key.startswith(RESERVED_PREFIX) for key in parameters),
        copies=0 if placement is None else len(placement.copies),
        problems=problems,
    )
    if surveyed.is_view:
        return surveyed
    placed = placement or Placement(owner)
    for location in table.folders:
        _note_folder(surveyed, str(table.ref), location, placed.primary, filesystems)
    if surveyed.partitioned:
        _survey_partitions(client, table, surveyed, placed, progress, filesystems)
    return surveyed


def _note_folder(
    surveyed: TableSurvey,
    what: str,
    location: str,
    primary: ClusterName,
    filesystems: Filesystems | None,
) -> None:
    holder = foreign_cluster(location, filesystems, primary) if filesystems and location else None
    if holder is not None:
        surveyed.elsewhere.append(
            f"{what}: folder {location} is in the storage of {holder}, the primary is {primary}"
        )


def _survey_partitions(
    client: HmsClient,
    table: Table,
    surveyed: TableSurvey,
    placement: Placement,
    progress: Progress,
    filesystems: Filesystems | None,
) -> None:
    keys = [key for key, _ in table.partition_keys]
    names = client.get_partition_names(table.ref)
    done = 0
    for batch in batches(names, BATCH):
        for facts in client.get_partition_facts(table.ref, batch):
            if len(facts.values) != len(keys):
                surveyed.problems.append(f"{table.ref}: a partition has {len(facts.values)} values")
                continue
            name = partition_name(zip(keys, facts.values, strict=True))
            primary = _note_partition(surveyed, name, facts.parameters, placement)
            _note_folder(surveyed, f"{table.ref}@{name}", facts.location, primary, filesystems)
        done += len(batch)
        progress(f"partitions of {table.ref}", done, len(names))
    exceptions = placement.exceptions
    missing = (
        [] if exceptions is None else [each for each in surveyed.own if each not in exceptions]
    )
    if missing:
        surveyed.problems.append(
            f"{table.ref}: {len(missing)} partitions have facts of their own and are not named in "
            f"{PARTITIONS}, the first of them {missing[0]}"
        )


def _note_partition(
    surveyed: TableSurvey, name: str, parameters: dict[str, str], table: Placement
) -> ClusterName:
    """Adds a partition's facts to `surveyed`; returns its primary."""
    surveyed.partitions += 1
    if PRIMARY not in parameters:
        surveyed.lacking.append(name)
    if parameters:
        surveyed.marked.append(name)
    try:
        own = read_partition_placement(parameters, table, name)
    except BadPlacement as error:
        surveyed.problems.append(f"{surveyed.ref}@{name}: {error}")
        return table.primary
    surveyed.copies += len(own.copies)
    if own.copies or own.primary != table.primary:
        surveyed.own.append(name)
    return own.primary
