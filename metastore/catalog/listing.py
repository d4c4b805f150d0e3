"""Turns a metastore table into a `conf.catalog.listing.ListedTable`, as Spark lists it."""

from conf.catalog.listing import ListedColumn, ListedTable
from metastore.catalog.spark_columns import spark_fields
from metastore.client.types import Table

_KINDS = {"MANAGED_TABLE": False, "EXTERNAL_TABLE": False, "VIRTUAL_VIEW": True}
_CREATED, _ACCESSED, _OWNER, _RETENTION = 4, 5, 3, 6


def listed(table: Table) -> ListedTable:
    """The table for GetTables and GetColumns. Its columns are None if they are not certain."""
    return ListedTable(
        table.ref.name,
        _KINDS.get(table.kind, False),
        table.parameters.get("comment", ""),
        _columns(table) if table.kind in _KINDS else None,
        _age(table),
    )


def _columns(table: Table) -> tuple[ListedColumn, ...] | None:
    try:
        fields = spark_fields(table)
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    if fields is None:
        return None
    return tuple(
        ListedColumn(each.name, each.type.column, each.comment or "", each.nullable)
        for each in fields
    )


def _age(table: Table) -> tuple[int, int, str, int]:
    fields = table.struct
    return (
        int(fields.get(_CREATED) or 0),
        int(fields.get(_ACCESSED) or 0),
        str(fields.get(_OWNER) or ""),
        int(fields.get(_RETENTION) or 0),
    )
