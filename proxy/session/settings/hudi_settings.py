"""Settings of Hudi by which a SELECT would have the changed rows of a table alone.

`hoodie.<table>.consume.mode` is a setting of Hive's input format, which Spark does not use for its
own Hudi tables: it would return all rows. `hoodie.datasource.query.type` has an effect only on a
table that the cluster's session has not read before. So both are refused where they matter.
"""

import re
from collections.abc import Callable, Mapping

from conf.names import TableRef
from conf.settings.names import canonical_name
from conf.tables import TableInfo
from dialect.statement import Known, Unknown
from proxy.errors import NotIncremental

_MODE = re.compile(r"hoodie\.(.+)\.consume\.mode")
_QUERY_TYPE = "hoodie.datasource.query.type"
_CHANGES = "hudi_table_changes"


def check_incremental(
    statement: Known | Unknown,
    variables: Mapping[str, str],
    describe: Callable[[TableRef], TableInfo | None],
) -> None:
    """Before a statement runs in a session with these settings. A statement that calls
    `hudi_table_changes` says by itself which rows it reads. Raises NotIncremental."""
    if isinstance(statement, Unknown) or not statement.reads or _CHANGES in statement.functions:
        return
    modes = [key for key, value in variables.items() if value.strip().lower() == "incremental"]
    for key in modes:
        for read in statement.reads:
            if _concerns(canonical_name(key), read.table):
                info = describe(read.table)
                if info is not None and info.provider == "hudi":
                    raise NotIncremental(
                        f"The session has {key}=INCREMENTAL, but a SELECT on {read.table} returns"
                        f" all rows in Spark. Use {_CHANGES}('{read.table}', 'latest_state',"
                        " '<begin>'[, '<end>']) in place of the table."
                    )


def _concerns(name: str, table: TableRef) -> bool:
    mode = _MODE.fullmatch(name)
    if mode is None:
        return name == _QUERY_TYPE
    return mode[1] in (table.name.lower(), str(table).lower())
