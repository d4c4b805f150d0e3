"""The answers to SHOW and DESCRIBE statements as Spark 3.5 gives them, from the metastore's facts.

All functions are pure. None means that the answer is not certain: the cluster is asked.
`tests/e2e/clients/test_catalog_statements.py` compares the answers with Spark's, byte by byte.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from conf.spark_table import SparkColumn, SparkStorage, SparkTable, SparkView
from proxy.catalog.java_dates import java_date
from proxy.protocol.results import Cell, Table
from thriftcodec.values import BOOL, STRING

# Patterns that mean the same to Spark and to the metastore: letters, digits, _, * and |.
_CERTAIN_PATTERN = re.compile(r"[A-Za-z0-9_*]+(?:\|[A-Za-z0-9_*]+)*")
_CATALOG = "spark_catalog"
_REDACTED = "*********(redacted)"
# The defaults of spark.sql.redaction.options.regex and spark.redaction.regex.
_SECRET = re.compile("url|secret|password|token|access[.]?key", re.IGNORECASE | re.ASCII)
_VIEWS = "view."  # begins the properties in which Spark keeps a view
# Properties that SHOW TBLPROPERTIES leaves out, if another program set them.
_RESERVED = frozenset(
    ("comment", "location", "provider", "owner", "external", "is_managed_location")
)
_DESCRIBED = ("col_name", "data_type", "comment")
_MEANINGS = ("name of the column", "data type of the column", "comment of the column")
_LISTED = (STRING, STRING, BOOL)
_PLAIN_NAME = re.compile(r"\w+", re.ASCII)
# Spark and Hive escape the same characters in a partition's name.
_ESCAPES = "|".join(f"{ord(each):02X}" for each in "\"#%'*/:=?\\\x7f{[]^")
_PART = re.compile(rf"(?:[^\x00-\x1f\"#%'*/:=?\\\x7f{{\[\]^]|%(?:{_ESCAPES}))+")

Row = tuple[str, str, str | None]


def _table(
    columns: tuple[str, ...],
    rows: Sequence[tuple[Cell, ...]],
    types: tuple[int, ...] = (),
    comments: tuple[str, ...] = (),
) -> Table:
    return Table(columns, rows, types, comments, of_statement=True)


def databases(names: Iterable[str], pattern: str | None) -> Table:
    """SHOW DATABASES."""
    return _table(("namespace",), [(_if_needed(name),) for name in matching(names, pattern)])


def tables(database: str, names: Iterable[str], pattern: str | None) -> Table:
    """SHOW TABLES, in a session without temporary views."""
    return _listed("tableName", database, names, pattern)


def views(database: str, names: Iterable[str], pattern: str | None) -> Table:
    """SHOW VIEWS, in a session without temporary views."""
    return _listed("viewName", database, names, pattern)


def tables_extended(described: Iterable[SparkTable | None], zone: str) -> Table | None:
    """SHOW TABLE EXTENDED of these tables."""
    rows = []
    for table in described:
        text = None if table is None else _information(table, zone)
        if table is None or text is None:
            return None
        rows.append((table.ref.db, table.ref.name, 0, text))
    header = ("namespace", "tableName", "isTemporary", "information")
    return _table(header, rows, (*_LISTED, STRING))


def columns(table: SparkTable) -> Table:
    """SHOW COLUMNS."""
    return _table(("col_name",), [(each.name,) for each in table.columns])


def partitions(table: SparkTable, names: Iterable[str]) -> Table | None:
    """SHOW PARTITIONS. `names` are those of the metastore."""
    written = table.partition_columns
    if not (written and table.partitions_in_catalog and all(map(_PLAIN_NAME.fullmatch, written))):
        return None
    rows = []
    for name in sorted(names, key=_java_order):
        parts = [each.partition("=") for each in name.split("/")]
        if [key for key, _, _ in parts] != [key.lower() for key in written]:
            return None
        if not all(_PART.fullmatch(value) for _, _, value in parts):
            return None
        pairs = zip(written, parts, strict=True)
        rows.append(("/".join(f"{key}={value}" for key, (_, _, value) in pairs),))
    return _table(("partition",), rows)


def properties(table: SparkTable, key: str | None) -> Table | None:
    """SHOW TBLPROPERTIES, or the one property `key`."""
    shown = {key: table.properties[key] for key in _own_properties(table)}
    if table.view is None:
        if table.storage is None or not _RESERVED.isdisjoint(shown):
            return None
        shown |= {f"option.{key}": value for key, value in table.storage.properties}
    if key is not None:
        if key not in shown:
            return None
        shown = {key: shown[key]}
    rows = sorted(_redacted(shown.items()), key=lambda row: _java_order(row[0]))
    return _table(("key", "value"), rows)


def description(table: SparkTable) -> Table:
    """DESCRIBE."""
    return _table(_DESCRIBED, [*_columns(table), *_defaults(table)], comments=_MEANINGS)


def extended_description(table: SparkTable, zone: str) -> Table | None:
    """DESCRIBE EXTENDED and DESCRIBE FORMATTED. `zone` is the time zone of Spark's JVM."""
    details = _details(table, zone)
    if details is None:
        return None
    head = [("", "", ""), ("# Detailed Table Information", "", "")]
    rows = [*_columns(table), *head, *((key, value, "") for key, value in details)]
    rows += _defaults(table)
    return _table(_DESCRIBED, rows, comments=_MEANINGS)


def _listed(column: str, database: str, names: Iterable[str], pattern: str | None) -> Table:
    rows = [(database, name, 0) for name in matching(names, pattern)]
    return _table(("namespace", column, "isTemporary"), rows, _LISTED)


def is_certain(pattern: str | None) -> bool:
    """Whether a pattern means the same to all that read it; None: any name."""
    return pattern is None or _CERTAIN_PATTERN.fullmatch(pattern) is not None


def matching(names: Iterable[str], pattern: str | None) -> Iterator[str]:
    """The names that a certain pattern means."""
    return filter(_compiled("*" if pattern is None else pattern).fullmatch, names)


@lru_cache(1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Between two `*` a text is looked for where it fits first: no other place is tried."""
    alternatives = []
    for each in pattern.split("|"):
        first, *others = re.split(r"\*+", each)
        between = "".join(f"(?>.*?{part})" for part in others[:-1])
        alternatives.append(first + between + "".join(f".*{last}" for last in others[-1:]))
    return re.compile("|".join(alternatives), re.IGNORECASE | re.ASCII | re.DOTALL)


def _columns(table: SparkTable) -> list[Row]:
    rows: list[Row] = [_column(each) for each in table.columns]
    if table.partition_columns:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [_column(each) for each in table.columns[-len(table.partition_columns) :]]
    return rows


def _defaults(table: SparkTable) -> list[Row]:
    rows = [(each.name, each.simple, each.default) for each in table.columns if each.default]
    return [("", "", ""), ("# Column Default Values", "", ""), *rows] if rows else []


def _column(column: SparkColumn) -> Row:
    return (column.name, column.simple, column.comment)


def _information(table: SparkTable, zone: str) -> str | None:
    details = _details(table, zone)
    if details is None:
        return None
    if table.partition_columns:
        details.append(("Partition Columns", _quoted(table.partition_columns)))
    tree = "".join(f" |{line}\n" for each in table.columns for line in each.tree)
    details.append(("Schema", f"root\n{tree}"))
    return "".join(f"{key}: {value}\n" if value else f"{key}\n" for key, value in details)


def _details(table: SparkTable, zone: str) -> list[tuple[str, str]] | None:
    """What Spark calls the table's detailed information."""
    created, storage = java_date(table.created, zone), table.storage
    accessed = "UNKNOWN" if table.accessed <= 0 else java_date(table.accessed, zone)
    if created is None or accessed is None or storage is None or not storage.is_ordered:
        return None
    if table.view is None and storage.location is None:
        return None
    own = _own_properties(table)
    if not own and table.properties:
        return None
    rows = [("Catalog", _CATALOG), ("Database", table.ref.db), ("Table", table.ref.name)]
    if table.owner:
        rows.append(("Owner", table.owner))
    rows += [("Created Time", created), ("Last Access", accessed)]
    rows += [("Created By", f"Spark {table.version}"), ("Type", table.kind)]
    if table.provider is not None:
        rows.append(("Provider", table.provider))
    if table.buckets is not None:
        rows += [
            ("Num Buckets", str(table.buckets.count)),
            ("Bucket Columns", _quoted(table.buckets.columns)),
            ("Sort Columns", _quoted(table.buckets.sorted_by)),
        ]
    if table.comment is not None:
        rows.append(("Comment", table.comment))
    if table.view is not None:
        rows += _view(table.view)
    if own:
        shown = dict(_redacted(table.properties.items()))
        rows.append(("Table Properties", _pairs((key, shown[key]) for key in own)))
    if table.statistics:
        rows.append(("Statistics", table.statistics))
    rows += _storage(storage)
    if table.partitions_in_catalog:
        rows.append(("Partition Provider", "Catalog"))
    return rows


def _view(view: SparkView) -> Iterator[tuple[str, str]]:
    yield "View Text", view.text
    yield "View Original Text", view.original
    yield "View Catalog and Namespace", ".".join(map(_if_needed, view.namespace))
    if view.produced:
        yield "View Query Output Columns", f"[{', '.join(view.produced)}]"


def _storage(storage: SparkStorage) -> Iterator[tuple[str, str]]:
    if storage.location is not None:
        yield "Location", storage.location
    yield "Serde Library", storage.serde
    yield "InputFormat", storage.input_format
    yield "OutputFormat", storage.output_format
    if storage.compressed:
        yield "Compressed", ""
    if storage.properties:
        yield "Storage Properties", _pairs(_redacted(storage.properties))


def _own_properties(table: SparkTable) -> list[str]:
    """The names of the properties that are no part of a view, in Spark's order."""
    return sorted((key for key in table.properties if not key.startswith(_VIEWS)), key=_java_order)


def _redacted(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for key, value in pairs:
        secret = _SECRET.search(key) or _SECRET.search(value)
        yield key, _REDACTED if secret else value


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return f"[{', '.join(f'{key}={value}' for key, value in pairs)}]"


def _quoted(names: Iterable[str]) -> str:
    quoted = ("`" + name.replace("`", "``") + "`" for name in names)
    return f"[{', '.join(quoted)}]"


def _if_needed(name: str) -> str:
    """A part of a name as Spark quotes it where that is needed."""
    if _PLAIN_NAME.fullmatch(name) and not name.isdigit():
        return name
    return "`" + name.replace("`", "``") + "`"


def _java_order(name: str) -> bytes:
    """The key by which Java sorts texts."""
    return name.encode("utf-16-be", errors="surrogatepass")
