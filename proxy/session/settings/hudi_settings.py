"""Settings of Hudi by which a session reads only the changed rows of a table (HU-10).

`hoodie.<table>.consume.mode` and its range are settings of Hive's input format, which Spark does
not use for its own Hudi tables. The proxy turns them into a range in the statement's claim, by
which the guard reads the table. `hoodie.datasource.query.type` has an effect only on a table that
the cluster's session has not read before, so it is refused.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from conf.names import TableRef
from conf.settings.names import canonical_name
from conf.tables import TableInfo
from dialect.statement import NONE, Known, Unknown
from proxy.errors import NotIncremental
from router.claim import ChangeRange, Changes

_CONSUME = re.compile(r"hoodie\.(.+)\.consume\.(.+)")
_QUERY_TYPE = "hoodie.datasource.query.type"
_USE_DATABASE = "hoodie.incremental.use.database"
_CHANGES = "hudi_table_changes"  # a call of it names its rows itself
_EARLIEST = ("earliest", "000")  # the word, and the instant before all others
_ALL_COMMITS = -1
# They read the rows that they change, which a session's range does not concern.
_CHANGING = frozenset({"update", "delete", "merge", "analyze"})

Describe = Callable[[TableRef], TableInfo | None]


@dataclass(frozen=True, slots=True)
class HudiSettings:
    """A session's settings of Hudi by canonical name. `unclear` are names with unknown values."""

    values: Mapping[str, str]
    unclear: frozenset[str]

    def is_incremental(self, name: str) -> bool:
        """Whether tables of this name, with or without a database, are read incrementally."""
        key = f"hoodie.{name}.consume.mode"
        if key in self.unclear:
            raise NotIncremental(f"The value of {key} is not known.")
        return self.values.get(key, "").strip().lower() == "incremental"

    def name_of(self, table: TableRef) -> str | None:
        """The name by which the settings select the table; None when it is read as a whole."""
        names = [str(table).lower()]
        if self.values.get(_USE_DATABASE, "").strip().lower() != "true":
            names.append(table.name.lower())
        return next((name for name in names if self.is_incremental(name)), None)

    def range(self, name: str) -> ChangeRange:
        """Raises NotIncremental."""
        start = self._instant(f"hoodie.{name}.consume.start.timestamp")
        if start is None:
            raise NotIncremental(f"hoodie.{name}.consume.start.timestamp is not set.")
        end = self._instant(f"hoodie.{name}.consume.end.timestamp")
        return ChangeRange(start, end, self._commits(f"hoodie.{name}.consume.max.commits"))

    def _value(self, key: str) -> str | None:
        if key in self.unclear:
            raise NotIncremental(f"The value of {key} is not known.")
        value = self.values.get(key)
        return None if value is None else value.strip()

    def _instant(self, key: str) -> str | None:
        value = self._value(key)
        if value is None:
            return None
        if value.lower() == _EARLIEST[0]:
            return _EARLIEST[1]
        if not (value.isascii() and value.isdigit()):
            raise NotIncremental(f"{key}={value} is no instant; digits or {_EARLIEST[0]} are.")
        return value

    def _commits(self, key: str) -> int | None:
        value = self._value(key) or "1"
        if not re.fullmatch(r"-?\d{1,9}", value) or int(value) < _ALL_COMMITS or int(value) == 0:
            raise NotIncremental(f"{key}={value} is neither a number of commits nor -1.")
        return None if int(value) == _ALL_COMMITS else int(value)


def hudi_settings(variables: Mapping[str, str], unclear: Collection[str]) -> HudiSettings | None:
    """The settings of Hudi of a session; None when it has none that selects rows."""
    values = {canonical_name(key): value for key, value in variables.items()}
    unclear = frozenset(map(canonical_name, unclear))
    if not any(_CONSUME.fullmatch(each) or each == _QUERY_TYPE for each in (*values, *unclear)):
        return None
    return HudiSettings(values, unclear)


def incremental_reads(
    statement: Known | Unknown, settings: HudiSettings, describe: Describe
) -> Changes:
    """The tables of which the statement reads only changed rows.

    A statement that is not understood has the names of the settings, without ranges: the guard
    refuses to read such a table as a whole. Raises NotIncremental, NotLoaded.
    """
    if isinstance(statement, Unknown):
        keys = (*settings.values, *settings.unclear)
        names = {match[1] for key in keys if (match := _CONSUME.fullmatch(key))}
        return {name: None for name in sorted(names) if settings.is_incremental(name)}
    written = {write.table for write in statement.writes}
    by_function = _CHANGES in statement.functions
    query_type = settings.values.get(_QUERY_TYPE, "").strip().lower()
    by_type = query_type == "incremental" and not by_function
    found: dict[str, ChangeRange | None] = {}
    for read in statement.reads:
        table = read.table
        if read.partitions is NONE or (table in written and statement.kind in _CHANGING):
            continue
        name = settings.name_of(table)
        if (name is None and not by_type) or not _is_hudi(table, describe):
            continue
        if name is None:
            raise NotIncremental(
                f"The session has {_QUERY_TYPE}=incremental, which Spark ignores for a table that"
                f" it has read before. Set hoodie.{table}.consume.mode and its range."
            )
        if table in written:
            raise NotIncremental(f"The statement writes {table}, of which it reads changed rows.")
        found[str(table)] = None if by_function else settings.range(name)
    return found


def _is_hudi(table: TableRef, describe: Describe) -> bool:
    info = describe(table)
    return info is not None and info.provider == "hudi"
