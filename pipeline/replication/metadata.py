"""Makes the metadata of a replica from that of its source (FA-R1, FA-R3)."""

from collections.abc import Mapping, Sequence
from copy import deepcopy

from conf.names import parse_partition_name
from conf.placement import users_parameters
from metastore.client.types import Partition, Table, write_columns
from pipeline.replication.plan import FROM, OF, ReplicationRequest, target_keys
from thriftcodec.values import LIST, STRING, Items

_VIEW_TEXT = 10  # of Table: viewOriginalText
_VOLATILE = ("transient_lastDdlTime", "COLUMN_STATS_ACCURATE")


def replica_table(
    source: Table, request: ReplicationRequest, location: str, parameters: Mapping[str, str]
) -> Table:
    """The target's table: schema, format, owner and properties of the source."""
    table = Table(deepcopy(source.struct))
    table.struct.fields.pop(_VIEW_TEXT, None)  # a metastore view puts the source's placement there
    table.set_text(1, request.target.name)
    table.set_text(2, request.target.db)
    keys = target_keys(request, source)
    kinds = (kind for _, kind in source.partition_keys)
    table.struct.set(8, LIST, write_columns(tuple(zip(keys, kinds, strict=True))))
    table.parameters = portable_parameters(source.parameters) | dict(parameters)
    set_location(table, location)
    return table


def replica_partition(
    source: Table,
    partition: Partition,
    request: ReplicationRequest,
    name: str,
    location: str,
    parameters: Mapping[str, str],
) -> Partition:
    """Changes the source's partition in place into the target's partition `name`."""
    marks = {**parameters, FROM: f"{request.source} {partition.name(source)}"}
    values = [value for _, value in parse_partition_name(name)]
    partition.struct.set(1, LIST, Items(STRING, values))
    partition.set_text(2, request.target.db)
    partition.set_text(3, request.target.name)
    partition.location = location
    partition.parameters = portable_parameters(partition.parameters) | marks
    return partition


def export_of(table: Table, partitions: Sequence[Partition]) -> dict[str, object]:
    """The metadata of a table and of some partitions as a document for JSON (FA-R1)."""
    storage = table.storage
    sorting = storage.struct.get(9) or ()
    return {
        "origin": str(table.ref),
        "owner": table.owner,
        "kind": table.kind,
        "columns": list(storage.columns),
        "partition_keys": list(table.partition_keys),
        "input_format": storage.input_format,
        "output_format": storage.output_format,
        "serde": {"library": storage.serde.library, "parameters": storage.serde.parameters},
        "buckets": {"number": storage.struct.get(6), "columns": list(storage.struct.get(8) or ())},
        "sort": [[str(each.get(1)), int(each.get(2) or 0)] for each in sorting],
        "parameters": portable_parameters(table.parameters),
        "partitions": [
            {
                "values": list(p.values),
                "location": p.location,
                "parameters": portable_parameters(p.parameters),
            }
            for p in partitions
        ],
    }


def set_location(table: Table, location: str) -> None:
    """Sets the location, also in the parameter `path` of Spark and Hudi."""
    table.location = location
    for holder in (table, table.storage.serde):
        if "path" in holder.parameters:
            holder.parameters = {**holder.parameters, "path": location}


def portable_parameters(parameters: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a source that hold in another metastore, too."""
    users = users_parameters(parameters)
    return {key: value for key, value in users.items() if key not in (*_VOLATILE, OF, FROM)}


def placement_parameters(parameters: Mapping[str, str]) -> dict[str, str]:
    """The parameters that are cluster facts."""
    users = users_parameters(parameters)
    return {key: value for key, value in parameters.items() if key not in users}
