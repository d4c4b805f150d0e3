"""The answers of Spark 3.5 to SHOW and DESCRIBE statements, made from the metastore's facts.

All functions are pure. None means that the answer is not certain; then the cluster answers.
`tests/e2e/clients/test_catalog_statements.py` compares the answers with Spark's, byte by byte.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from conf.catalog.spark_table import SparkColumn, SparkDatabase, SparkStorage, SparkTable, SparkView
from conf.names import is_plain, quoted, quoted_if_needed
from proxy.catalog import table_ddl
from proxy.catalog.java_dates import java_date
from proxy.catalog.spark_texts import RESERVED, java_order, own_properties, redacted
from proxy.protocol.results import Cell, ResultTable
from thriftcodec.values import BOOL, STRING

# Patterns with the same meaning in Spark and in the metastore: letters, digits, _, * and |.
_CERTAIN_PATTERN = re.compile(r"[A-Za-z0-9_*]+(?:\|[A-Za-z0-9_*]+)*")
_CATALOG = "spark_catalog"
_DESCRIBED = ("col_name", "data_type", "comment")
_MEANINGS = ("name of the column", "data type of the column", "comment of the column")
_INFO = ("info_name", "info_value")
_OF_COLUMN = ("name of the column info", "value of the column info")
_OF_NAMESPACE = ("name of the namespace info", "value of the namespace info")
# Column statistics: the name in Spark's row, and in the parameter in which Spark stores them.
_STATISTICS = (
    ("min", "min"),
    ("max", "max"),
    ("num_nulls", "nullCount"),
    ("distinct_count", "distinctCount"),
    ("avg_col_len", "avgLen"),
    ("max_col_len", "maxLen"),
)
# Types whose minimum and maximum are shown as they are stored.
_SHOWN_AS_STORED = re.compile(r"tinyint|smallint|int|bigint|boolean|date|decimal\(\d+,\d+\)")
# Values of partitions that a cast to the column's type and back does not change.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,8}", re.ASCII)
_VALUE = re.compile(r"[\w.-]+", re.ASCII)
# Spark's own data sources: their tables need no other classes and no schema from files.
_OWN_SOURCES = frozenset(("hive", "parquet", "orc", "csv", "json", "text"))
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
) -> ResultTable:
    return ResultTable(columns, rows, types, comments, of_statement=True)


def databases(names: Iterable[str], pattern: str | None) -> ResultTable:
    """SHOW DATABASES."""
    return _table(("namespace",), [(quoted_if_needed(name),) for name in matching(names, pattern)])


def tables(database: str, names: Iterable[str], pattern: str | None) -> ResultTable:
    """SHOW TABLES, in a session without temporary views."""
    return _listed("tableName", database, names, pattern)


def views(database: str, names: Iterable[str], pattern: str | None) -> ResultTable:
    """SHOW VIEWS, in a session without temporary views."""
    return _listed("viewName", database, names, pattern)


def tables_extended(described: Iterable[SparkTable | None], zone: str) -> ResultTable | None:
    """SHOW TABLE EXTENDED of these tables."""
    rows = []
    for table in described:
        text = None if table is None else _information(table, zone)
        if table is None or text is None:
            return None
        rows.append((table.ref.db, table.ref.name, 0, text))
    header = ("namespace", "tableName", "isTemporary", "information")
    return _table(header, rows, (*_LISTED, STRING))


def columns(table: SparkTable) -> ResultTable:
    """SHOW COLUMNS."""
    return _table(("col_name",), [(each.name,) for each in table.columns])


def partitions(table: SparkTable, names: Iterable[str]) -> ResultTable | None:
    """SHOW PARTITIONS. `names` are the metastore's names of the partitions."""
    written = table.partition_columns
    if not (written and table.partitions_in_catalog and all(map(_PLAIN_NAME.fullmatch, written))):
        return None
    rows = []
    for name in sorted(names, key=java_order):
        parts = [each.partition("=") for each in name.split("/")]
        if [key for key, _, _ in parts] != [key.lower() for key in written]:
            return None
        if not all(_PART.fullmatch(value) for _, _, value in parts):
            return None
        pairs = zip(written, parts, strict=True)
        rows.append(("/".join(f"{key}={value}" for key, (_, _, value) in pairs),))
    return _table(("partition",), rows)


def properties(table: SparkTable, key: str | None) -> ResultTable | None:
    """SHOW TBLPROPERTIES, or the one property `key`."""
    shown = {key: table.properties[key] for key in own_properties(table)}
    if table.view is None:
        if table.storage is None or not RESERVED.isdisjoint(shown):
            return None
        shown |= {f"option.{key}": value for key, value in table.storage.properties}
    if key is not None:
        if key not in shown:
            return None
        shown = {key: shown[key]}
    rows = sorted(redacted(shown.items()), key=lambda row: java_order(row[0]))
    return _table(("key", "value"), rows)


def description(table: SparkTable) -> ResultTable:
    """DESCRIBE."""
    return _table(_DESCRIBED, [*_columns(table), *_defaults(table)], comments=_MEANINGS)


def extended_description(table: SparkTable, zone: str) -> ResultTable | None:
    """DESCRIBE EXTENDED and DESCRIBE FORMATTED. `zone` is the time zone of Spark's JVM."""
    details = _details(table, zone)
    if details is None:
        return None
    head = [("", "", ""), ("# Detailed Table Information", "", "")]
    rows = [*_columns(table), *head, *((key, value, "") for key, value in details)]
    rows += _defaults(table)
    return _table(_DESCRIBED, rows, comments=_MEANINGS)


def create_statement(table: SparkTable) -> ResultTable | None:
    """SHOW CREATE TABLE."""
    text = table_ddl.statement(table)
    return None if text is None else _table(("createtab_stmt",), [(text,)])


def column_description(table: SparkTable, name: str, extended: bool) -> ResultTable | None:
    """DESCRIBE of the column `name`. None for a view, because Spark plans the view's query."""
    named = [each for each in table.columns if each.name.lower() == name.lower()]
    if len(named) != 1 or table.provider not in _OWN_SOURCES or not named[0].is_complete:
        return None
    (column,) = named
    comment = "NULL" if column.comment is None else column.comment
    rows = [("col_name", name), ("data_type", column.simple), ("comment", comment)]
    if extended:
        if not _are_certain(column.simple, column.statistics):
            return None
        rows += [(row, column.statistics.get(key, "NULL")) for row, key in _STATISTICS]
        rows.append(("histogram", "NULL"))
        rows += [("default", column.default)] if column.default is not None else []
    return _table(_INFO, rows, comments=_OF_COLUMN)


def _are_certain(kind: str, statistics: Mapping[str, str]) -> bool:
    """Whether Spark shows these statistics of a column as they are stored."""
    if not statistics:
        return True
    is_known = statistics.get("version") == "2" and not any(
        key.startswith("histogram") for key in statistics
    )
    counts = [statistics[key] for _, key in _STATISTICS[2:] if key in statistics]
    return (
        is_known
        and all(each.isdecimal() for each in counts)
        and (_SHOWN_AS_STORED.fullmatch(kind) is not None or "min" not in statistics)
    )


def database_description(
    database: SparkDatabase, written: str, extended: bool
) -> ResultTable | None:
    """DESCRIBE DATABASE; `written` is the database's name in the statement."""
    if not (is_plain(written) and database.owner and database.location is not None):
        return None
    if not RESERVED.isdisjoint(database.properties):
        return None
    rows = [
        ("Catalog Name", _CATALOG),
        ("Namespace Name", written),
        ("Comment", database.comment),
        ("Location", database.location),
        ("Owner", database.owner),
    ]
    if extended:
        shown = sorted(redacted(database.properties.items()), key=lambda row: java_order(row[0]))
        pairs = ", ".join(f"({key},{value})" for key, value in shown)
        rows.append(("Properties", f"({pairs})" if shown else ""))
    return _table(_INFO, rows, comments=_OF_NAMESPACE)


def metastore_values(table: SparkTable, spec: Iterable[tuple[str, str]]) -> list[str] | None:
    """The values of a partition spec as Spark passes them to the metastore, one for each partition
    column; an empty text means any value. None if Spark may refuse or change the spec."""
    kinds = {each.name.lower(): each.simple for each in table.columns}
    given = dict(spec)
    keys = [each.lower() for each in table.partition_columns]
    if not set(given) <= set(keys) or not all(
        _is_canonical(value, kinds.get(key, "")) for key, value in given.items()
    ):
        return None
    return [given.get(key, "") for key in keys]


def _is_canonical(value: str, kind: str) -> bool:
    """Whether a cast to the column's type and back gives the same text."""
    if kind in ("int", "bigint"):
        return _INTEGER.fullmatch(value) is not None
    return kind == "string" and _VALUE.fullmatch(value) is not None


def _listed(column: str, database: str, names: Iterable[str], pattern: str | None) -> ResultTable:
    rows = [(database, name, 0) for name in matching(names, pattern)]
    return _table(("namespace", column, "isTemporary"), rows, _LISTED)


def is_certain(pattern: str | None) -> bool:
    """Whether a pattern has the same meaning in Spark and in the metastore; None means any name."""
    return pattern is None or _CERTAIN_PATTERN.fullmatch(pattern) is not None


def matching(names: Iterable[str], pattern: str | None) -> Iterator[str]:
    """The names that match a certain pattern (`is_certain`)."""
    return filter(_compiled("*" if pattern is None else pattern).fullmatch, names)


@lru_cache(1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern. For speed, the text between two `*` is only compared at
    its first place in the name."""
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
    """The rows that Spark shows as "Detailed Table Information"."""
    created, storage = java_date(table.created, zone), table.storage
    accessed = "UNKNOWN" if table.accessed <= 0 else java_date(table.accessed, zone)
    if created is None or accessed is None or storage is None or not storage.is_ordered:
        return None
    if table.view is None and storage.location is None:
        return None
    own = own_properties(table)
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
        shown = dict(redacted(table.properties.items()))
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
    yield "View Catalog and Namespace", ".".join(map(quoted_if_needed, view.namespace))
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
        yield "Storage Properties", _pairs(redacted(storage.properties))


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return f"[{', '.join(f'{key}={value}' for key, value in pairs)}]"


def _quoted(names: Iterable[str]) -> str:
    return f"[{', '.join(map(quoted, names))}]"
