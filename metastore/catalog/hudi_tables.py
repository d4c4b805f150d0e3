"""Recognises Hudi tables in the metastore."""

from metastore.client.types import Table

PROVIDER = "hudi"
# Hudi's own input formats, and that of causeway-guard.jar.
_FORMATS = ("org.apache.hudi.", "com.uber.hoodie.", "causeway.hudi.")
# HiveSync writes this into each table that it registers, whose input format may be Hive's (ORC).
_LAST_SYNC = "last_commit_time_sync"


def is_hudi(table: Table) -> bool:
    """Whether it is a Hudi table, registered by Spark or by Hudi's HiveSync."""
    parameters = table.parameters
    if parameters.get("spark.sql.sources.provider", "").lower() == PROVIDER:
        return True
    return table.storage.input_format.startswith(_FORMATS) or _LAST_SYNC in parameters
