"""The calls that the client can make: whether they only read, and their declared exceptions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallSpec:
    """`reads`: the call changes nothing. `exceptions` has the name of the exception in each field
    of the reply."""

    reads: bool
    exceptions: dict[int, str]


_META, _NONE, _EXISTS = "MetaException", "NoSuchObjectException", "AlreadyExistsException"
_INVALID, _OPERATION = "InvalidObjectException", "InvalidOperationException"


def _read(*exceptions: str) -> CallSpec:
    return CallSpec(True, dict(enumerate(exceptions, 1)))


def _write(*exceptions: str) -> CallSpec:
    return CallSpec(False, dict(enumerate(exceptions, 1)))


CALLS = {
    "set_ugi": _read(_META),
    "get_delegation_token": _read(_META),
    "get_all_databases": _read(_META),
    "get_databases": _read(_META),
    "get_database": _read(_NONE, _META),
    "create_database": _write(_EXISTS, _INVALID, _META),
    "alter_database": _write(_META, _NONE),
    "drop_database": _write(_NONE, _OPERATION, _META),
    "get_all_tables": _read(_META),
    "get_tables_by_type": _read(_META),
    "get_table": _read(_META, _NONE),
    "get_table_req": _read(_META, _NONE),
    "get_table_objects_by_name": _read(_META, _OPERATION, "UnknownDBException"),
    "get_table_objects_by_name_req": _read(_META, _OPERATION, "UnknownDBException"),
    "create_table": _write(_EXISTS, _INVALID, _META, _NONE),
    "alter_table_with_environment_context": _write(_OPERATION, _META),
    "drop_table_with_environment_context": _write(_NONE, _META),
    "get_partition_names": _read(_META),
    "get_partition_names_ps": _read(_META, _NONE),
    "get_partitions_by_names": _read(_META, _NONE),
    "add_partitions_req": _write(_INVALID, _EXISTS, _META),
    "alter_partitions_with_environment_context": _write(_OPERATION, _META),
    "drop_partition_by_name_with_environment_context": _write(_NONE, _META),
    "drop_partitions_req": _write(_NONE, _META),
    "get_all_functions": _read(_META),
    "get_metastore_db_uuid": _read(_META),
    "get_current_notificationEventId": _read(),
    "get_next_notification": _read(),
    # Only Causeway's views have these.
    "causeway_changes": _read(),
    "causeway_touched": _read(),
    "causeway_settle": _read(),
    "causeway_write": _read(_META),
    "causeway_lock": _read(),
    "causeway_unlock": _read(),
}
