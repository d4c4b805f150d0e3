"""Settings of Hudi with which a session reads only the changed rows of a table (HU-10).

`hoodie.<table>.consume.mode` and its range are settings of Hive's input format, which Spark does
not use for its own Hudi tables. The proxy puts the range into the statement's claim, and the guard
reads the table accordingly. `hoodie.datasource.query.type` has an effect only on a table that the
cluster's session has not read before, so it is refused.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from conf.catalog.tables import TableInfo
from conf.names import TableRef
from conf.settings.names import canonical_name
from dialect.statement import NONE, Known, Unknown
from metastore.catalog.hudi_tables import PROVIDER
from proxy.errors import NotIncremental
from router.claim import EVERY_TABLE, ChangeRange, Changes, WholeUnless

_CONSUME = re.compile(r"hoodie\.(.+)\.consume\.(.+)")
_QUERY_TYPE = "hoodie.datasource.query.type"
_USE_DATABASE = "hoodie.incremental.use.database"
_CHANGES = "hudi_table_changes"  # the table function, whose arguments have the range
_EARLIEST = ("earliest", "000")  # the word, and an instant before all others
_ALL_COMMITS = -1
# Kinds of statements that read the rows which they change; the session's range does not apply.
_CHANGING = frozenset({"update", "delete", "merge", "analyze"})

Describe = Callable[[TableRef], TableInfo | None]


@dataclass(frozen=True, slots=True)
class HudiSettings:
    """A session's settings of Hudi by canonical name. `unclear` are names with unknown values."""

    values: Mapping[str, str]
    unclear: frozenset[str]

    def is_incremental(self, name: str) -> bool:
        """Whether tables of this name, with or without a database, are read incrementally. Raises
        NotIncremental if the setting's value is not known."""
        key = f"hoodie.{name}.consume.mode"
        if key in self.unclear:
            raise NotIncremental(f"The value of {key} is not known.")
        return self.values.get(key, "").strip().lower() == "incremental"

    def name_of(self, table: TableRef) -> str | None:
        """The name by which the settings select the table; None: it is read as a whole."""
        names = [str(table).lower()]
        if not self._needs_database():
            names.append(table.name.lower())
        return next((name for name in names if self.is_incremental(name)), None)

    def names(self) -> tuple[str, ...]:
        """The names of the tables that are read incrementally, or may be."""
        keys = (*self.values, *self.unclear)
        named = {match[1] for key in keys if (match := _CONSUME.fullmatch(key))}
        if self._needs_database():
            named = {name for name in named if "." in name}
        modes = {name: f"hoodie.{name}.consume.mode" for name in sorted(named)}
        return tuple(n for n, key in modes.items() if key in self.unclear or self.is_incremental(n))

    def _needs_database(self) -> bool:
        return self.values.get(_USE_DATABASE, "").strip().lower() == "true"

    def is_whole(self, table: TableRef) -> bool:
        """Whether a setting for this table's name says that it is read as a whole."""
        names = (str(table).lower(), table.name.lower())
        return any(f"hoodie.{name}.consume.mode" in self.values for name in names)

    def range(self, name: str) -> ChangeRange:
        """The range of commits that is read of tables of this name. Raises NotIncremental."""
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
    """The session's settings of Hudi; None if none of them selects rows."""
    values = {canonical_name(key): value for key, value in variables.items()}
    unclear = frozenset(map(canonical_name, unclear))
    if not any(_CONSUME.fullmatch(each) or each == _QUERY_TYPE for each in (*values, *unclear)):
        return None
    return HudiSettings(values, unclear)


def incremental_reads(
    statement: Known | Unknown, settings: HudiSettings, describe: Describe
) -> Changes:
    """The tables of which the statement reads only changed rows, by name, with their ranges.

    A statement that is not understood gets the names in the settings without ranges: the guard
    refuses to read such a table as a whole. A setting may also name a table as Hudi does, while the
    metastore has it under another name. The guard reads Hudi's name, and refuses to read such a
    table as a whole (`WholeUnless`). Raises NotIncremental, NotLoaded.
    """
    if isinstance(statement, Unknown):
        named = tuple(name for name in settings.names() if settings.is_incremental(name))
        changes: dict[str, ChangeRange | WholeUnless | None] = dict.fromkeys(named)
        return changes | {EVERY_TABLE: WholeUnless(named)} if named else changes
    written = {write.table for write in statement.writes}
    by_function = _CHANGES in statement.functions
    query_type = settings.values.get(_QUERY_TYPE, "").strip().lower()
    by_type = query_type == "incremental" and not by_function
    changes = {}
    for read in statement.reads:
        table = read.table
        if read.partitions is NONE or (table in written and statement.kind in _CHANGING):
            continue
        info = describe(table)
        if info is None or not info.is_hudi:
            continue
        name = settings.name_of(table)
        if name is None and not by_type:
            if not settings.is_whole(table) and (names := settings.names()):
                changes[str(table)] = WholeUnless(names)
            continue
        if name is None:
            raise NotIncremental(
                f"The session has {_QUERY_TYPE}=incremental, which Spark ignores for a table that"
                f" it has read before. Set hoodie.{table}.consume.mode and its range."
            )
        if table in written:
            raise NotIncremental(f"The statement writes {table}, of which it reads changed rows.")
        if info.provider != PROVIDER and not by_function:
            raise NotIncremental(
                f"{table} is registered for Hive alone, and Spark would read it without Hudi."
                " Register it with hoodie.datasource.hive_sync.sync_as_datasource=true, or use"
                f" hudi_table_changes('{table}', 'latest_state', '<begin>'[, '<end>'])."
            )
        changes[str(table)] = None if by_function else settings.range(name)
    return changes
