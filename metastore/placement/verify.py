"""Reads the cluster facts of a whole metastore, table by table (`causeway metastore verify`)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

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

VIEWS = frozenset({"VIRTUAL_VIEW", "MATERIALIZED_VIEW"})
Progress = Callable[[str, int, int], None]  # kind of object, number done, number in all


@dataclass(slots=True)
class TableSurvey:
    """The facts of a table; `named` says whether it names its primary.

    Names of partitions: `own` have another primary than the table, or copies; `lacking` name no
    primary; `marked` have any fact. `problems` are in words.
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


def table_refs(client: HmsClient) -> list[TableRef]:
    """Every table and view, in a fixed order."""
    return [
        TableRef(database, name)
        for database in sorted(client.get_all_databases())
        for name in sorted(client.get_all_tables(database))
    ]


def survey(
    client: HmsClient, owner: ClusterName, progress: Progress = lambda *_: None
) -> Iterator[TableSurvey]:
    """The survey of each table; tables without a primary count as the owner's."""
    refs = table_refs(client)
    for number, ref in enumerate(refs):
        progress("tables", number, len(refs))
        for table in client.get_tables(ref.db, [ref.name]):  # none if it was dropped
            yield survey_table(client, table, owner, progress)
    progress("tables", len(refs), len(refs))


def survey_table(
    client: HmsClient, table: Table, owner: ClusterName, progress: Progress = lambda *_: None
) -> TableSurvey:
    """The facts of a table and of its partitions."""
    parameters = table.parameters
    problems: list[str] = []
    placement = None
    try:
        placement = read_placement(parameters, owner)
    except BadPlacement as error:
        problems.append(f"{table.ref}: {error}")
    found = TableSurvey(
        ref=table.ref,
        is_view=table.kind in VIEWS,
        partitioned=bool(table.partition_keys),
        placement=placement,
        named=PRIMARY in parameters,
        marked_itself=any(key.startswith(RESERVED_PREFIX) for key in parameters),
        copies=0 if placement is None else len(placement.copies),
        problems=problems,
    )
    if found.partitioned and not found.is_view:
        _survey_partitions(client, table, found, placement or Placement(owner), progress)
    return found


def _survey_partitions(
    client: HmsClient, table: Table, found: TableSurvey, placement: Placement, progress: Progress
) -> None:
    keys = [key for key, _ in table.partition_keys]
    names = client.get_partition_names(table.ref)
    done = 0
    for batch in batches(names, BATCH):
        for facts in client.get_partition_facts(table.ref, batch):
            if len(facts.values) != len(keys):
                found.problems.append(f"{table.ref}: a partition has {len(facts.values)} values")
                continue
            name = partition_name(zip(keys, facts.values, strict=True))
            _note_partition(found, name, facts.parameters, placement)
        done += len(batch)
        progress(f"partitions of {table.ref}", done, len(names))
    exceptions = placement.exceptions
    missing = [] if exceptions is None else [each for each in found.own if each not in exceptions]
    if missing:
        found.problems.append(
            f"{table.ref}: {len(missing)} partitions have facts of their own and are not named in "
            f"{PARTITIONS}, the first of them {missing[0]}"
        )


def _note_partition(
    found: TableSurvey, name: str, parameters: dict[str, str], table: Placement
) -> None:
    found.partitions += 1
    if PRIMARY not in parameters:
        found.lacking.append(name)
    if parameters:
        found.marked.append(name)
    try:
        own = read_partition_placement(parameters, table, name)
    except BadPlacement as error:
        found.problems.append(f"{found.ref}@{name}: {error}")
        return
    found.copies += len(own.copies)
    if own.copies or own.primary != table.primary:
        found.own.append(name)
