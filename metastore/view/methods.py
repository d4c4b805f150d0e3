"""A row for every call of the metastore: its effect, and the positions of names and objects in it.

A path is a position in the arguments or in the result: field ids separated by dots, with `[]` for
each element of a list. In a result `0` is the value that the call returns. A row is

    name | act | names | objects in | objects out | field of MetaException in the result

where names are the paths `t=DATABASE,TABLE`, and for partitions `v=` a list of values or `n=` a
name. A call without a row is refused. Tests compare the rows with the service's IDL.
"""

from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

from metastore.client.object_spans import Shape
from thriftcodec.skip import EACH, Path


class Act(Enum):
    """The effect of a call on objects that belong to clusters."""

    RELAY = "relay"  # reads, or changes nothing that belongs to a cluster
    CREATE_TABLE = "create"
    ALTER_TABLE = "alter"
    DROP_TABLE = "drop"
    ADD_PARTITIONS = "add"
    ALTER_PARTITIONS = "alter_p"
    RENAME_PARTITION = "rename_p"
    DROP_PARTITIONS = "drop_p"
    EXCHANGE = "exchange"
    CREATE_DATABASE = "create_d"
    ALTER_DATABASE = "alter_d"
    DROP_DATABASE = "drop_d"
    TOUCH = "touch"  # metadata beside the object: statistics, constraints, indexes
    WRITTEN = "written"  # data is written


@dataclass(frozen=True, slots=True)
class ObjectPath:
    """The path at which a call has objects, and their shape."""

    path: Path
    shape: Shape


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """The row of a call. `databases` and `tables` are the paths of their names, in pairs; `values`
    and `partition_name` are the paths of partitions."""

    name: str
    act: Act
    databases: tuple[Path, ...] = ()
    tables: tuple[Path, ...] = ()
    values: Path | None = None
    partition_name: Path | None = None
    inbound: tuple[ObjectPath, ...] = ()
    outbound: ObjectPath | None = None
    meta_exception: int | None = None
    since: str = ""  # the first version of Hive that has it; empty for 2.3 and before
    by_cluster: bool = False  # whether our IDL declares `<name>_on_cluster`


ON_CLUSTER = "_on_cluster"
CLUSTER_FIELD = 100  # of the arguments of every `<call>_on_cluster`

# Calls of fb303, which concern the service and no cluster.
_SERVICE = """
aliveSince getCounter getCounters getCpuProfile getName getOption getOptions getStatus
getStatusDetails getVersion reinitialize setOption shutdown
"""

_RELAYED = """
abort_txn abort_txns add_dynamic_partitions add_master_key add_token alter_function
cache_file_metadata cancel_delegation_token check_lock clear_file_metadata commit_txn
create_function create_role create_type drop_function drop_role drop_type flushCache getMetaConf
get_aggr_stats_for get_all_databases get_all_functions get_all_tables get_all_token_identifiers
get_config_value get_current_notificationEventId get_databases get_delegation_token get_fields
get_fields_with_environment_context get_file_metadata get_file_metadata_by_expr get_foreign_keys
get_function get_functions get_index_by_name get_index_names get_indexes get_master_keys
get_next_notification get_num_partitions_by_filter get_open_txns get_open_txns_info
get_partition_column_statistics get_partition_names get_partition_names_ps get_partition_values
get_partitions_statistics_req get_primary_keys get_principals_in_role get_privilege_set
get_role_grants_for_principal get_role_names get_schema get_schema_with_environment_context
get_table_column_statistics get_table_meta get_table_names_by_filter get_table_statistics_req
get_tables get_tables_by_type get_token get_type get_type_all grant_privileges
grant_revoke_privileges grant_revoke_role grant_role heartbeat heartbeat_txn_range
isPartitionMarkedForEvent list_privileges list_roles lock open_txns
partition_name_has_valid_characters partition_name_to_spec partition_name_to_vals put_file_metadata
remove_master_key remove_token renew_delegation_token revoke_privileges revoke_role setMetaConf
set_ugi show_compact show_locks unlock update_master_key
"""

_ROWS = """
get_database                              | relay    |                 |                 | 0:database        | 2
get_table                                 | relay    | t=1,2           |                 | 0:table           | 1
get_table_req                             | relay    | t=1.1,1.2       |                 | 0.1:table         | 1
get_table_objects_by_name                 | relay    |                 |                 | 0[]:table         |
get_table_objects_by_name_req             | relay    |                 |                 | 0.1[]:table       | 1
get_partition                             | relay    | t=1,2           |                 | 0:partition       | 1
get_partition_by_name                     | relay    | t=1,2           |                 | 0:partition       | 1
get_partition_with_auth                   | relay    | t=1,2           |                 | 0:partition       | 1
get_partitions                            | relay    | t=1,2           |                 | 0[]:partition     | 2
get_partitions_with_auth                  | relay    | t=1,2           |                 | 0[]:partition     | 2
get_partitions_ps                         | relay    | t=1,2           |                 | 0[]:partition     | 1
get_partitions_ps_with_auth               | relay    | t=1,2           |                 | 0[]:partition     | 2
get_partitions_by_filter                  | relay    | t=1,2           |                 | 0[]:partition     | 1
get_partitions_by_names                   | relay    | t=1,2           |                 | 0[]:partition     | 1
get_partitions_by_expr                    | relay    | t=1.1,1.2       |                 | 0.1[]:partition   | 1
get_partitions_pspec                      | relay    | t=1,2           |                 | 0[].5.1[]:partition | 2
get_part_specs_by_filter                  | relay    | t=1,2           |                 | 0[].5.1[]:partition | 1
create_table                              | create   | t=1.2,1.1       | 1:table         |                   | 3
create_table_with_constraints             | create   | t=1.2,1.1       | 1:table         |                   | 3
create_table_with_environment_context     | create   | t=1.2,1.1       | 1:table         |                   | 3
alter_table                               | alter    | t=1,2           | 3:table         |                   | 2
alter_table_with_cascade                  | alter    | t=1,2           | 3:table         |                   | 2
alter_table_with_environment_context      | alter    | t=1,2           | 3:table         |                   | 2
drop_table                                | drop     | t=1,2           |                 |                   | 2
drop_table_with_environment_context       | drop     | t=1,2           |                 |                   | 2
add_partition                             | add      | t=1.2,1.3       | 1:partition     | 0:partition       | 3
add_partition_with_environment_context    | add      | t=1.2,1.3       | 1:partition     | 0:partition       | 3
add_partitions                            | add      | t=1[].2,1[].3   | 1[]:partition   |                   | 3
add_partitions_req                        | add      | t=1.1,1.2       | 1.3[]:partition | 0.1[]:partition   | 3
add_partitions_pspec                      | add      | t=1[].1,1[].2   | 1[].5.1[]:partition 1[].4.1[]:bare | | 3
append_partition                          | add      | t=1,2           |                 | 0:partition       | 3
append_partition_with_environment_context | add      | t=1,2           |                 | 0:partition       | 3
append_partition_by_name                  | add      | t=1,2           |                 | 0:partition       | 3
append_partition_by_name_with_environment_context | add | t=1,2         |                 | 0:partition       | 3
alter_partition                           | alter_p  | t=1,2           | 3:partition     |                   | 2
alter_partition_with_environment_context  | alter_p  | t=1,2           | 3:partition     |                   | 2
alter_partitions                          | alter_p  | t=1,2           | 3[]:partition   |                   | 2
alter_partitions_with_environment_context | alter_p  | t=1,2           | 3[]:partition   |                   | 2
rename_partition                          | rename_p | t=1,2 v=3       | 4:partition     |                   | 2
drop_partition                            | drop_p   | t=1,2 v=3       |                 |                   | 2
drop_partition_with_environment_context   | drop_p   | t=1,2 v=3       |                 |                   | 2
drop_partition_by_name                    | drop_p   | t=1,2 n=3       |                 |                   | 2
drop_partition_by_name_with_environment_context | drop_p | t=1,2 n=3     |                 |                   | 2
drop_partitions_req                       | drop_p   | t=1.1,1.2 n=1.3.1[] |             | 0.1[]:partition   | 2
exchange_partition                        | exchange | t=2,3 t=4,5     |                 | 0:partition       | 1
exchange_partitions                       | exchange | t=2,3 t=4,5     |                 | 0[]:partition     | 1
create_database                           | create_d |                 | 1:database      |                   | 3
alter_database                            | alter_d  |                 | 2:database      |                   | 1
drop_database                             | drop_d   |                 |                 |                   | 3
update_table_column_statistics            | touch    | t=1.1.2,1.1.3   |                 |                   | 3
update_partition_column_statistics        | touch    | t=1.1.2,1.1.3 n=1.1.4 |           |                   | 3
set_aggr_stats_for                        | touch    | t=1.1[].1.2,1.1[].1.3 n=1.1[].1.4 |  |               | 3
delete_table_column_statistics            | touch    | t=1,2           |                 |                   | 2
delete_partition_column_statistics        | touch    | t=1,2 n=3       |                 |                   | 2
add_primary_key                           | touch    | t=1.1[].1,1.1[].2 |               |                   | 2
add_foreign_key                           | touch    | t=1.1[].4,1.1[].5 |               |                   | 2
drop_constraint                           | touch    | t=1.1,1.2       |                 |                   | 2
add_index                                 | touch    | t=1.3,1.4       | 2:table         |                   | 3
alter_index                               | touch    | t=1,2           |                 |                   | 2
drop_index_by_name                        | touch    | t=1,2           |                 |                   | 2
markPartitionForEvent                     | touch    | t=1,2           |                 |                   | 1
compact                                   | written  | t=1.1,1.2 n=1.3 |                 |                   |
compact2                                  | written  | t=1.1,1.2 n=1.3 |                 |                   |
fire_listener_event                       | written  | t=1.3,1.4 v=1.5 |                 |                   |
"""  # noqa: E501  (a table reads better on one line a row)


# The calls that Hive 3 added, as far as its generated clients have them.
_RELAYED_3 = """
add_runtime_stats add_schema_version add_serde allocate_table_write_ids alter_catalog alter_ischema
alter_resource_plan alter_wm_pool alter_wm_trigger cm_recycle create_catalog create_ischema
create_or_drop_wm_trigger_to_pool_mapping create_or_update_wm_mapping create_resource_plan
create_wm_pool create_wm_trigger drop_catalog drop_ischema drop_resource_plan drop_schema_version
drop_wm_mapping drop_wm_pool drop_wm_trigger get_active_resource_plan get_all_resource_plans
get_catalog get_catalogs get_check_constraints get_default_constraints get_ischema
get_lock_materialization_rebuild get_materialization_invalidation_info
get_materialized_views_for_rewriting get_metastore_db_uuid get_not_null_constraints
get_notification_events_count get_resource_plan get_runtime_stats get_schema_all_versions
get_schema_latest_version get_schema_version get_schemas_by_cols get_serde
get_triggers_for_resourceplan get_unique_constraints get_valid_write_ids
heartbeat_lock_materialization_rebuild map_schema_version_to_serde refresh_privileges
repl_tbl_writeid_state set_schema_version_state validate_resource_plan
"""

_ROWS_3 = """
alter_table_req                           | alter    | t=1.2,1.3       | 1.4:table       |                   | 2
alter_partitions_req                      | alter_p  | t=1.2,1.3       | 1.4[]:partition |                   | 2
truncate_table                            | written  | t=1,2 n=3[]     |                 |                   | 1
add_unique_constraint                     | touch    | t=1.1[].2,1.1[].3 |               |                   | 2
add_not_null_constraint                   | touch    | t=1.1[].2,1.1[].3 |               |                   | 2
add_default_constraint                    | touch    | t=1.1[].2,1.1[].3 |               |                   | 2
add_check_constraint                      | touch    | t=1.1[].2,1.1[].3 |               |                   | 2
update_table_column_statistics_req        | touch    | t=1.1[].1.2,1.1[].1.3 |           |                   | 3
update_partition_column_statistics_req    | touch    | t=1.1[].1.2,1.1[].1.3 n=1.1[].1.4 | |               | 3
update_creation_metadata                  | touch    | t=2,3           |                 |                   | 1
"""  # noqa: E501


@cache
def methods() -> dict[str, MethodSpec]:
    """Every call by name."""
    table = {name: MethodSpec(name, Act.RELAY) for name in _SERVICE.split()}
    for since, relayed, rows in (("", _RELAYED, _ROWS), ("3", _RELAYED_3, _ROWS_3)):
        specs = [MethodSpec(name, Act.RELAY) for name in relayed.split()]
        specs += [_read_row(line) for line in rows.strip().splitlines()]
        declared = not since
        table.update({spec.name: replace(spec, since=since, by_cluster=declared) for spec in specs})
    return table


def spec_of(name: str) -> MethodSpec | None:
    """The row of a call, by its name or its name with `_on_cluster`; None if there is none."""
    spec = methods().get(name.removesuffix(ON_CLUSTER))
    if spec is None or name == spec.name or spec.by_cluster:
        return spec
    return None


def parse_path(text: str) -> Path:
    """Parses a path: `1.3[]` is (1, 3, EACH)."""
    path: list[int] = []
    for part in text.split("."):
        path.append(int(part.removesuffix("[]")))
        if part.endswith("[]"):
            path.append(EACH)
    return tuple(path)


def _read_row(line: str) -> MethodSpec:
    name, act, names, inbound, outbound, exception = (cell.strip() for cell in line.split("|"))
    by_kind: dict[str, list[str]] = {"t": [], "v": [], "n": []}
    for word in names.split():
        kind, _, paths = word.partition("=")
        by_kind[kind].append(paths)
    pairs = [paths.split(",") for paths in by_kind["t"]]
    return MethodSpec(
        name,
        Act(act),
        databases=tuple(parse_path(database) for database, _ in pairs),
        tables=tuple(parse_path(table) for _, table in pairs),
        values=parse_path(by_kind["v"][0]) if by_kind["v"] else None,
        partition_name=parse_path(by_kind["n"][0]) if by_kind["n"] else None,
        inbound=_places(inbound),
        outbound=next(iter(_places(outbound)), None),
        meta_exception=int(exception) if exception else None,
    )


def _places(text: str) -> tuple[ObjectPath, ...]:
    pairs = (word.split(":") for word in text.split())
    return tuple(ObjectPath(parse_path(path), Shape(shape)) for path, shape in pairs)
