"""The parameters of a process's script (FA-P2). Pure.

An input `in` on a table has `in_database`, `in_table`, `in_filter` and the same with `falcon_in_`;
an output `out` has `out_database`, `out_table`, `out_dataout_partitions` and so on. `in_filter` is
in the dialect of the process's engine; the filters with a dialect's suffix are always present.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pipeline.falcon.calendar import format_time
from pipeline.falcon.entities.feed import Paths, Table
from pipeline.falcon.entities.process import Engine, Process
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.inputs import Need, inputs_of, needs_read, outputs_of
from pipeline.falcon.partition_paths import Part, part_of
from pipeline.falcon.paths import path_at
from pipeline.partition_values import Spec


def parameters_of(
    process: Process,
    cluster: str,
    entity_set: EntitySet,
    nominal: datetime,
    user: str,
    run: int = 0,
    print_: str = "",
) -> dict[str, str]:
    """All parameters of the process's instance at `nominal` on `cluster`, by name. Inputs that
    count instances have none unless the fingerprint `print_` names the chosen ones.
    """
    inputs = _by_name(needs_read(inputs_of(process, cluster, entity_set.feed, nominal), print_))
    outputs = _by_name(outputs_of(process, cluster, entity_set.feed, nominal))
    found = dict(process.properties)
    found.update(_common(process, cluster, nominal, user, run))
    pig = process.workflow.engine is Engine.PIG
    parts = {
        each.name: part_of(each.partition, entity_set.cluster(cluster)) for each in process.inputs
    }
    for name, needs in inputs.items():
        found.update(_input(name, needs, parts[name], entity_set, pig))
    for name, needs in outputs.items():
        found.update(_output(name, needs, entity_set, pig))
    found["falconInputFeeds"] = "#".join(each.feed for each in process.inputs)
    found["feedNames"] = ",".join(each.feed for each in process.outputs)
    found["feedInstancePaths"] = ",".join(
        _location(need, entity_set) for needs in outputs.values() for need in needs
    )
    return found


def _by_name(needs: Iterable[Need]) -> dict[str, list[Need]]:
    found: dict[str, list[Need]] = {}
    for need in needs:
        found.setdefault(need.name, []).append(need)
    return found


def _common(
    process: Process, cluster: str, nominal: datetime, user: str, run: int
) -> dict[str, str]:
    compact = f"{nominal:%Y-%m-%d-%H-%M}"
    return {
        "nominalTime": compact,
        "timeStamp": compact,
        "nominalTimeISO": format_time(nominal),
        "cluster": cluster,
        "entityName": process.name,
        "entityType": "PROCESS",
        "operation": "GENERATE",
        "workflowUser": user,
        "userWorkflowEngine": process.workflow.engine.value,
        "userWorkflowName": process.workflow.name or process.name,
        "runId": str(run),
    }


def _input(
    name: str, needs: Sequence[Need], part: Part, entity_set: EntitySet, pig: bool
) -> dict[str, str]:
    """The parameters of an input. `part` is its part of the directories of a feed of paths."""
    first = needs[0]
    if isinstance(first.storage, Paths):
        paths = ",".join("/".join((_location(need, entity_set), *part)) for need in needs)
        return {name: paths, f"falcon_{name}_storage_type": "FILESYSTEM"}
    specs = [spec_of(need) for need in needs]
    filters = {
        "pig": filter_text(specs, "=="),
        "hive": filter_text(specs, "="),
        "java": filter_text(specs, "="),
    }
    about = _table(first, entity_set)
    about["filter"] = filters["pig" if pig else "hive"]
    found = _named(name, about)
    for dialect, text in filters.items():
        found[f"falcon_{name}_partition_filter_{dialect}"] = text
    return found


def _output(name: str, needs: Sequence[Need], entity_set: EntitySet, pig: bool) -> dict[str, str]:
    need = needs[0]
    if isinstance(need.storage, Paths):
        return {name: _location(need, entity_set), f"falcon_{name}_storage_type": "FILESYSTEM"}
    spec = spec_of(need)
    plain = ",".join(f"{key}={value}" for key, value in spec)
    quoted = ",".join(f"{key}='{value}'" for key, value in spec)
    found = _named(name, _table(need, entity_set))
    for prefix in (name, f"falcon_{name}"):
        found[f"{prefix}_dataout_partitions"] = plain
        found[f"{prefix}_partitions"] = plain if pig else quoted
    found[f"falcon_{name}_partitions_pig"] = plain
    found[f"falcon_{name}_partitions_hive"] = quoted
    found[f"falcon_{name}_partitions_java"] = plain
    assert isinstance(need.storage, Table)
    values = dict(spec)
    for key in need.storage.uri.dated:
        found[f"falcon_{name}_dated_partition_value_{key}"] = values[key]
    found[f"falcon_{name}_dated_partition_value"] = values[need.storage.uri.dated[0]]
    return found


def _table(need: Need, entity_set: EntitySet) -> dict[str, str]:
    assert isinstance(need.storage, Table)
    cluster = entity_set.cluster(need.cluster)
    return {
        "storage_type": "TABLE",
        "catalog_url": (cluster.endpoint("registry") if cluster else None) or "",
        "database": need.storage.uri.table.db,
        "table": need.storage.uri.table.name,
    }


def _named(name: str, about: Mapping[str, str]) -> dict[str, str]:
    """The values with the prefix of the document's name, and with Falcon's prefix."""
    bare = {f"{name}_{key}": value for key, value in about.items()}
    return bare | {f"falcon_{name}_{key}": value for key, value in about.items()}


def spec_of(need: Need) -> Spec:
    """The partition of a table's need."""
    assert isinstance(need.storage, Table)
    return need.storage.uri.partition(need.time)


def filter_text(specs: Sequence[Spec], equals: str) -> str:
    """The filter `(ds='a')`. Several keys are joined by AND, several partitions by OR."""
    ands = " AND " if equals == "=" else " and "
    ors = " OR " if equals == "=" else " or "
    parts = ["(" + ands.join(f"{k}{equals}'{v}'" for k, v in spec) + ")" for spec in specs]
    return parts[0] if len(parts) == 1 else "(" + ors.join(parts) + ")"


def _location(need: Need, entity_set: EntitySet) -> str:
    """The path of a directory, or metastore, table and partition as a path."""
    cluster = entity_set.cluster(need.cluster)
    if isinstance(need.storage, Paths):
        return path_at(need.storage.locations["data"], need.time, cluster)
    registry = (cluster.endpoint("registry") if cluster else None) or ""
    table = need.storage.uri.table
    pairs = ";".join(f"{key}={value}" for key, value in spec_of(need))
    return f"{registry}/{table.db}/{table.name}/{pairs}"
