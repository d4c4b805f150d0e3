"""GetSchemas, GetTables and GetColumns as Spark 3.5's Thrift Server answers them, from lists.

The meaning of patterns, the rows and their order were found by tests with that server
(`tests/e2e/clients/test_metadata.py` compares the two). A function returns None if the answer is
not certain, and then the cluster answers. Spark matches names of databases and tables in the
metastore, by LIKE without regard to case, but names of columns by a Java regular expression, with
regard to case.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from conf.catalog.listing import ListedTable
from proxy.protocol.results import TYPE_IDS, Cell, ResultTable
from proxy.protocol.types import OperationType
from thriftcodec.values import BYTE, I16, I32, LIST, STRING, Items, Struct

Listed = Sequence[tuple[str, Sequence[ListedTable]]]  # tables by database
Matcher = Callable[[str], bool]
Row = tuple[Cell, ...]

MAX_ROWS = 200_000  # in one answer
MAX_PATTERN = 512  # characters: a name of 256 with an escape before each letter
NO_DATABASE = "causeway-none"  # a pattern that matches no database
GLOBAL_TEMP = "global_temp"
SCHEMAS, TABLES, COLUMNS = "GetSchemas", "GetTables", "GetColumns"
METADATA_KINDS = {
    SCHEMAS: OperationType.GET_SCHEMAS,
    TABLES: OperationType.GET_TABLES,
    COLUMNS: OperationType.GET_COLUMNS,
}

# Patterns of letters, digits, wildcards and | between parts. Other characters have a meaning in
# one of the programs that read the pattern: Hive, its database, Java.
_NAME = r"(?:[A-Za-z0-9_%.]|\\_)+"
_SCHEMA_PATTERN = re.compile(rf"{_NAME}(?:\|{_NAME})*")
_STARRED = r"(?:[A-Za-z0-9_%.*]|\\_)+"
_TABLE_PATTERN = re.compile(rf"{_STARRED}(?:\|{_STARRED})*")
_COLUMN_PATTERN = re.compile(r"(?:[A-Za-z0-9_% ]|\\_)+")

TABLES_HEADER = (
    *("TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS", "TYPE_CAT"),
    *("TYPE_SCHEM", "TYPE_NAME", "SELF_REFERENCING_COL_NAME", "REF_GENERATION"),
)
_SCHEMAS_HEADER = ("TABLE_SCHEM", "TABLE_CATALOG")
_COLUMNS = {
    "TABLE_CAT": STRING,
    "TABLE_SCHEM": STRING,
    "TABLE_NAME": STRING,
    "COLUMN_NAME": STRING,
    "DATA_TYPE": I32,
    "TYPE_NAME": STRING,
    "COLUMN_SIZE": I32,
    "BUFFER_LENGTH": BYTE,
    "DECIMAL_DIGITS": I32,
    "NUM_PREC_RADIX": I32,
    "NULLABLE": I32,
    "REMARKS": STRING,
    "COLUMN_DEF": STRING,
    "SQL_DATA_TYPE": I32,
    "SQL_DATETIME_SUB": I32,
    "CHAR_OCTET_LENGTH": I32,
    "ORDINAL_POSITION": I32,
    "IS_NULLABLE": STRING,
    "SCOPE_CATALOG": STRING,
    "SCOPE_SCHEMA": STRING,
    "SCOPE_TABLE": STRING,
    "SOURCE_DATA_TYPE": I16,
    "IS_AUTO_INCREMENT": STRING,
}
_JDBC = {
    **{"BOOLEAN": 16, "TINYINT": -6, "SMALLINT": 5, "INT": 4, "BIGINT": -5, "FLOAT": 6},
    **{"DOUBLE": 8, "DECIMAL": 3, "STRING": 12, "VARCHAR": 12, "CHAR": 1, "BINARY": -2},
    **{"DATE": 91, "TIMESTAMP": 93, "TIMESTAMP_NTZ": 93, "INTERVAL": 1111, "VOID": 0},
    **{"ARRAY": 2003, "MAP": 2000, "STRUCT": 2002},
}
# Prefixes of settings that change how Spark lists names or types.
_UNUSUAL = (
    "spark.sql.casesensitive",
    "spark.sql.timestamptype",
    "spark.sql.debug",
    "spark.sql.globaltempdatabase",
    "spark.sql.ansi.enforcereservedkeywords",
    "spark.sql.legacy.charvarcharasstring",
)
_NUMERIC = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True, slots=True)
class MetadataRequest:
    """A call that can be answered from lists of tables.

    `databases`, `tables` and `columns` match the names that the call selects, `kinds` are the types
    of tables (empty: all). `globally`: the call selects the database of global temporary views,
    too. `temporary` are arguments with which the cluster returns only the session's temporary and
    the server's global views; these are the last rows of an answer.
    """

    name: str
    databases: Matcher
    tables: Matcher
    columns: Matcher
    kinds: frozenset[str]
    globally: bool
    temporary: Struct

    @property
    def header(self) -> tuple[str, ...]:
        match self.name:
            case "GetSchemas":
                return _SCHEMAS_HEADER
            case "GetTables":
                return TABLES_HEADER
        return tuple(_COLUMNS)

    @property
    def types(self) -> tuple[int, ...]:
        return tuple(_COLUMNS.values()) if self.name == COLUMNS else (STRING,) * len(self.header)

    def described(self) -> list[tuple[str, int]]:
        """The names and types (TTypeId) of the columns, as GetResultSetMetadata has them."""
        return list(zip(self.header, map(TYPE_IDS.__getitem__, self.types), strict=True))

    def schemas(self, databases: Sequence[str]) -> ResultTable:
        """The answer to GetSchemas."""
        names = (*databases, GLOBAL_TEMP) if self.globally else databases
        return ResultTable(self.header, [(name, "") for name in names], self.types)

    def answer(self, listed: Listed, temporary: Sequence[Row]) -> ResultTable | None:
        """All rows; None if they are too many, or the columns of a table are not certain."""
        chosen = [
            (database, [each for each in tables if self.tables(each.name)])
            for database, tables in listed
        ]
        if any(each.columns is None for _, tables in chosen for each in tables):
            return None
        rows = self._rows(chosen, temporary)
        if rows is None or len(rows) > MAX_ROWS:
            return None
        return ResultTable(self.header, rows, self.types)

    def _rows(self, chosen: Listed, temporary: Sequence[Row]) -> "_Rows | None":
        if self.name == TABLES:
            tables = [
                (database, each, 0)
                for database, each in _pairs(chosen)
                if not self.kinds or _kind(each) in self.kinds
            ]
            return _Rows(tables, _table_row, temporary)
        by_name = dict(chosen)
        order = scala_order(list(by_name))
        if order is None:
            return None
        columns = [
            (database, table, position)
            for database, table in _pairs((name, by_name[name]) for name in order)
            for position, column in enumerate(table.columns or ())
            if self.columns(column.name)
        ]
        return _Rows(columns, _column_row, temporary)


def metadata_request(name: str, arguments: Struct) -> MetadataRequest | None:
    """The request in a metadata call; None if only the cluster can answer it."""
    if name not in METADATA_KINDS:
        return None
    try:
        schema = _argument(arguments, 3)
        tables = _argument(arguments, 4) if name != SCHEMAS else None
        columns = _argument(arguments, 5) if name == COLUMNS else None
        kinds = _kinds(arguments) if name == TABLES else frozenset()
    except ValueError:
        return None
    if any(len(each or "") > MAX_PATTERN for each in (schema, tables, columns)):
        return None
    if schema and not _SCHEMA_PATTERN.fullmatch(schema):
        return None
    if tables is not None and not _TABLE_PATTERN.fullmatch(tables):
        return None
    if columns is not None and not _COLUMN_PATTERN.fullmatch(columns):
        return None
    globally = _means_global(schema) or (name == SCHEMAS and not schema)
    pattern = GLOBAL_TEMP.replace("_", "\\_") if globally else NO_DATABASE
    return MetadataRequest(
        name,
        _like(schema or "%"),
        _like("%" if tables is None else tables),
        _regular("%" if columns is None else columns),
        kinds,
        globally,
        Struct({**arguments.fields, 3: (STRING, pattern.encode())}),
    )


def lists_as_usual(settings: Mapping[str, str]) -> bool:
    """Whether Spark lists tables as by default with these settings."""
    return not any(key.lower().startswith(_UNUSUAL) for key in settings)


def _argument(arguments: Struct, field: int) -> str | None:
    if field not in arguments:
        return None
    value = arguments.get(field)
    if not isinstance(value, bytes):
        raise ValueError(field)
    return value.decode()


def _kinds(arguments: Struct) -> frozenset[str]:
    value = arguments.get(5, Items(STRING))
    if not isinstance(value, Items):
        raise ValueError(LIST)
    return frozenset(each.decode() for each in value if isinstance(each, bytes))


def _spark_pattern(pattern: str, anything: str) -> str:
    """Spark's translation of a pattern, step by step: of `__` in a word it replaces only one."""
    pattern = re.sub(r"([^\\])%", rf"\1{anything}", pattern)
    pattern = re.sub(r"^%", anything, pattern.replace("\\%", "%"))
    pattern = re.sub(r"([^\\])_", r"\1.", pattern)
    return re.sub(r"^_", ".", pattern.replace("\\_", "_"))


def _like(pattern: str) -> Matcher:
    """Matches as the metastore does: `*` is any text, `.` any letter, | separates alternatives."""
    return _matcher(_spark_pattern(pattern, "*").replace("*", ".*"), re.IGNORECASE | re.DOTALL)


def _regular(pattern: str) -> Matcher:
    """Matches as Spark does, by a regular expression in Java."""
    if pattern == "%":
        return lambda name: True
    return _matcher(_spark_pattern(pattern, ".*"))


def _means_global(schema: str | None) -> bool:
    """Whether Spark adds the global temporary views, which it decides by another translation."""
    if schema is None:
        return True
    wildcards = {"%": ".*", "_": ".", "\\_": "_"}
    regular = re.sub(r"\\_|.", lambda match: wildcards.get(match[0], match[0].lower()), schema)
    return _matcher(regular)(GLOBAL_TEMP)


def _matcher(regular: str, flags: re.RegexFlag = re.NOFLAG) -> Matcher:
    """Matches whole names with a pattern of letters, `.`, `.*` and | between alternatives.

    The part between two `.*` has a fixed length, so its first place in the name is as good as any
    other. The atomic groups try no other place; else a few `%` in a pattern could take minutes.
    """
    alternatives = []
    for each in regular.split("|"):
        first, *others = re.split(r"(?:\.\*)+", each)
        between = "".join(f"(?>.*?{part})" for part in others[:-1])
        alternatives.append(first + between + "".join(f".*{last}" for last in others[-1:]))
    matches = re.compile("|".join(alternatives), flags).fullmatch
    return lambda name: matches(name) is not None


def scala_order(names: Sequence[str]) -> list[str] | None:
    """The names in the order of Scala's immutable map, which is the order of GetColumns.

    Up to four names keep their order; more are ordered by their hash, five bits at a time. None if
    two hashes are equal.
    """
    if len(names) <= 4:
        return list(names)
    hashes = {name: _scala_hash(name) for name in names}
    if len(set(hashes.values())) < len(names):
        return None
    return sorted(names, key=lambda name: [hashes[name] >> bits & 31 for bits in range(0, 32, 5)])


def _scala_hash(name: str) -> int:
    code = 0
    units = name.encode("utf-16-be", errors="surrogatepass")
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    code = (code + ~(code << 9)) & 0xFFFFFFFF
    code ^= code >> 14
    code = (code + (code << 4)) & 0xFFFFFFFF
    return code ^ code >> 10


def _kind(table: ListedTable) -> str:
    return "VIEW" if table.is_view else "TABLE"


def _pairs(
    listed: Iterable[tuple[str, Sequence[ListedTable]]],
) -> Iterator[tuple[str, ListedTable]]:
    return ((database, table) for database, tables in listed for table in tables)


def _table_row(database: str, table: ListedTable, _: int) -> Row:
    return ("", database, table.name, _kind(table), table.comment, None, None, None, None, None)


def _column_row(database: str, table: ListedTable, position: int) -> Row:
    assert table.columns is not None, "an answer has only tables with certain columns"
    column = table.columns[position]
    kind = column.type
    return (
        *(None, database, table.name, column.name, _JDBC[kind.base], kind.sql, kind.size, None),
        *(kind.digits, 10 if kind.base in _NUMERIC else None, int(column.nullable)),
        *(column.comment, None, None, None, None, position, "YES", None, None, None, None, "NO"),
    )


class _Rows(Sequence[Row]):
    """Rows that are made when they are fetched, to save memory, followed by the rows of `tail`."""

    def __init__(
        self,
        places: Sequence[tuple[str, ListedTable, int]],
        make: Callable[[str, ListedTable, int], Row],
        tail: Sequence[Row],
    ) -> None:
        self._places = places
        self._make = make
        self._tail = tail

    def __len__(self) -> int:
        return len(self._places) + len(self._tail)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        count = len(self._places)
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            rows = [self._make(*place) for place in self._places[start:stop:step]]
            rest = range(start, stop, step)[len(rows) :]
            return rows + [self._tail[index - count] for index in rest]
        index = range(len(self))[at]
        return self._make(*self._places[index]) if index < count else self._tail[index - count]
