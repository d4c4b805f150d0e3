"""Tables whose own metadata names the files of their data: Iceberg and Delta (D16).

Iceberg's metadata has the absolute paths of the primary's files, so a cluster with a copy of the
files would still read the primary. A copy that Causeway makes has its own metadata
(`pipeline.iceberg`). Delta's log has paths relative to the table's directory: a copy of the
directory is a copy of the table if it has all files that the log names (`pipeline.delta`).
"""

from conf.placement import METADATA
from metastore.client.types import Table

ICEBERG, DELTA = "Iceberg", "Delta"
_PROVIDERS = {"iceberg": ICEBERG, "delta": DELTA}
_CLASSES = {"org.apache.iceberg.": ICEBERG, "io.delta.": DELTA}


def open_format(table: Table) -> str | None:
    """`Iceberg` or `Delta`; None for a table of any other format.

    Spark writes the format into `spark.sql.sources.provider`, Iceberg's catalogs write it into
    `table_type`. Hive's tables of the format have its storage handler or input format.
    """
    parameters = table.parameters
    for key in ("spark.sql.sources.provider", "table_type"):
        if name := _PROVIDERS.get(parameters.get(key, "").lower()):
            return name
    classes = (parameters.get("storage_handler", ""), table.storage.input_format)
    for prefix, name in _CLASSES.items():
        if any(each.startswith(prefix) for each in classes):
            return name
    return None


def metadata_of(table: Table) -> str:
    """The location of an Iceberg table's metadata file; empty for any other table."""
    return table.parameters.get(METADATA, "") if open_format(table) == ICEBERG else ""


def why_not_copied(table: Table) -> str | None:
    """The reason why no copy of the table can be made, as a sentence; None if one can be made."""
    if open_format(table) != ICEBERG or (metadata_of(table) and not table.partition_keys):
        return None
    return f"{table.ref} is a table of {ICEBERG} whose metadata file the metastore does not name."


def why_files_are_not_enough(table: Table) -> str | None:
    """The reason why a copy of the table's files is no copy of the table, as a sentence; None if it
    is one."""
    name = open_format(table)
    if name != ICEBERG:
        return None
    return (
        f"{table.ref} is a table of {name}: its metadata names the files of the primary, so a copy"
        " of its files cannot be read in another cluster."
    )
