"""As much of a Spark session as histories need, by rules that were found by asking Spark 3.5, and
Spark 4.3 where session variables are concerned.

`test_sessions_against_spark` holds the same histories against the real one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from conf.settings.names import TIME_ZONE
from tests.sessions.histories import LOWER, UPPER

Rows = tuple[tuple[str | bool | int | None, ...], ...]
NOT_FOUND, EXISTS = "TABLE_OR_VIEW_NOT_FOUND", "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"
NO_VARIABLE, VARIABLE_EXISTS = "VARIABLE_NOT_FOUND", "VARIABLE_ALREADY_EXISTS"
UNRESOLVED_VARIABLE, UNRESOLVED_COLUMN = "UNRESOLVED_VARIABLE", "UNRESOLVED_COLUMN"
NO_FUNCTION, FUNCTION_EXISTS = "ROUTINE_NOT_FOUND", "ROUTINE_ALREADY_EXISTS"
UNRESOLVED = "UNRESOLVED_ROUTINE"
SQLSTATES = {
    NOT_FOUND: "42P01",
    EXISTS: "42P07",
    "TABLE_OR_VIEW_ALREADY_EXISTS": "42P07",
    NO_FUNCTION: "42883",
    UNRESOLVED: "42883",
    FUNCTION_EXISTS: "42723",
}
WRONG: Rows = (("old rows",),)
_GLOBAL = "global_temp."
_REFERENCE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_WORD = r"([`\w.]+)"


class SparkError(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class View:
    """A query with the meaning that its names had when the view was made, or a folder."""

    query: str = ""
    database: str = ""
    temps: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    folder: str | None = None


@dataclass(slots=True)
class Metastore:
    """The state that all clusters of one side share."""

    tables: dict[str, Rows]
    functions: dict[str, str] = field(default_factory=dict)
    files: dict[str, Rows] = field(default_factory=dict)
    computed: int = 0  # values of uuid()

    @property
    def databases(self) -> set[str]:
        return {name.partition(".")[0] for name in self.tables}


@dataclass(slots=True)
class Server:
    """One Thrift Server. Tables in `absent` are in another cluster: their rows here are wrong.
    `zone` is the default time zone of its sessions, `machine` that of its machine."""

    metastore: Metastore
    absent: frozenset[str] = frozenset()
    shared: dict[str, View] = field(default_factory=dict)  # global temporary views
    zone: str = "Etc/UTC"
    machine: str = "Etc/UTC"


class SparkSession:
    """A Spark session. `execute` returns rows or raises SparkError."""

    def __init__(self, server: Server, opening: dict[str, str]) -> None:
        self.server = server
        self.metastore = server.metastore
        self.database = opening.get("use:database", "default")
        self.local: dict[str, View] = {}
        self.functions: dict[str, str] = {}  # temporary ones
        self.values: dict[str, str | None] = {}  # of variables
        self.defaults: dict[str, str] = {}
        self.registry: dict[str, str] = {}  # permanent ones that were looked up
        self.settings: dict[str, str] = {}
        for kind in ("set:hiveconf:", "set:hivevar:"):
            for key, value in opening.items():
                if key.startswith(kind):
                    self.settings[key.removeprefix(kind)] = value

    def execute(self, sql: str) -> Rows:
        sql = self._substituted(sql)
        for pattern, run in _STATEMENTS:
            found = re.fullmatch(pattern, sql)
            if found is not None:
                return run(self, *found.groups()) or ()
        raise AssertionError(f"the model does not know: {sql}")

    def _substituted(self, sql: str) -> str:
        while "${" in sql:
            sql = _REFERENCE.sub(lambda found: self.settings.get(found.group(2), ""), sql)
        return sql

    # Queries

    def rows(self, query: str, view: View | None = None, seen: tuple[str, ...] = ()) -> Rows:
        """The rows of a query, or of that of `view`."""
        if found := re.fullmatch(rf"SELECT \* FROM {_WORD}", query):
            return self._relation(found[1], view, seen)
        if found := re.fullmatch(rf"SELECT a.c FROM {_WORD} a CROSS JOIN {_WORD} b", query):
            left, right = (self._relation(name, view, seen) for name in found.groups())
            return tuple(row for row in left for _ in right)
        if found := re.fullmatch(rf"SELECT {_WORD}\('Ab'\) AS c", query):
            return ((self._call(found[1], view),),)
        if (found := re.fullmatch(r"SELECT (\w+) AS c", query)) and found[1] != "uuid":
            return ((self._variable(found[1], view),),)
        if found := re.fullmatch(r"SELECT \* FROM IDENTIFIER\((\w+)\)", query):
            return self._relation(self._variable(found[1], view) or "", view, seen)
        if query == "SELECT 1":
            return ((1,),)
        if query == "SELECT current_database() AS c":
            return ((self.database,),)
        if query == "SELECT current_timezone() AS c":
            return ((self.zone(),),)
        if found := re.fullmatch(r"SELECT '([^']*)' AS c", query):
            return ((found[1],),)
        raise AssertionError(f"the model does not know: {query}")

    def _relation(self, name: str, view: View | None, seen: tuple[str, ...]) -> Rows:
        temporary = self._temporary(name)
        if temporary is not None and (view is None or name in view.temps):
            if name in seen:
                raise SparkError("RECURSIVE_VIEW")
            if temporary.folder is not None:
                return self.metastore.files[temporary.folder]
            return self.rows(temporary.query, temporary, (*seen, name))
        database = self.database if view is None else view.database
        found = self.metastore.tables.get(name if "." in name else f"{database}.{name}")
        if found is None:
            raise SparkError(NOT_FOUND)
        return WRONG if name.rpartition(".")[2] in self.server.absent else found

    def _call(self, name: str, view: View | None) -> str:
        if name in self.functions and (view is None or name in view.functions):
            kind = self.functions[name]
        else:
            database = self.database if view is None else view.database
            full = name if "." in name else f"{database}.{name}"
            if full not in self.metastore.functions:
                raise SparkError(UNRESOLVED)
            kind = self.registry.setdefault(full, self.metastore.functions[full])
        return {UPPER: "AB", LOWER: "ab"}[kind]

    # Variables

    def _variable(self, name: str, view: View | None = None) -> str | None:
        if name not in self.values or (view is not None and name not in view.variables):
            raise SparkError(UNRESOLVED_COLUMN)
        return self.values[name]

    def declare(self, replaces: str | None, name: str, value: str) -> None:
        if name in self.values and not replaces:
            raise SparkError(VARIABLE_EXISTS)
        self.values[name] = self.defaults[name] = value

    def drop_variable(self, exists: str | None, name: str) -> None:
        if name not in self.values and not exists:
            raise SparkError(NO_VARIABLE)
        self.values.pop(name, None)

    def assign(self, name: str, value: str) -> None:
        if name not in self.values:
            raise SparkError(UNRESOLVED_VARIABLE)
        if value == "DEFAULT":
            self.values[name] = self.defaults[name]
        elif value == "uuid()":
            self.metastore.computed += 1
            self.values[name] = f"uuid {self.metastore.computed}"
        elif value.startswith("'"):
            self.values[name] = value.strip("'")
        else:
            self.values[name] = self._variable(value)

    def assign_query(self, name: str, query: str) -> None:
        rows = self.rows(query)
        if name not in self.values:
            raise SparkError(UNRESOLVED_VARIABLE)
        if len(rows) > 1:
            raise SparkError("SCALAR_SUBQUERY_TOO_MANY_ROWS")
        self.values[name] = str(rows[0][0]) if rows else None

    def assign_immediate(self, query: str, name: str) -> None:
        self.assign_query(name, query)

    def execute_immediate(self, text: str, name: str | None) -> Rows:
        if name is not None:
            text += self._variable(name) or ""
        return self.execute(text)

    # Temporary views

    def _temporary(self, name: str) -> View | None:
        return self._place(name).get(name.removeprefix(_GLOBAL))

    def _place(self, name: str) -> dict[str, View]:
        return self.server.shared if name.startswith(_GLOBAL) else self.local

    def _captured(self, query: str, name: str) -> View:
        """A view of the query, which is analysed first and may not refer to the view itself."""
        self.rows(query)
        temps = {
            each
            for each in re.findall(r"(?:FROM|JOIN) ([\w.]+)", query)
            if self._temporary(each) is not None
        }
        functions, variables = frozenset(self.functions), frozenset(self.values)
        view = View(query, self.database, frozenset(temps), functions, variables)
        place, short = self._place(name), name.removeprefix(_GLOBAL)
        before = place.get(short)
        place[short] = view
        try:
            if before is not None:
                self.rows(query, view, (name,))
        finally:
            if before is None:
                del place[short]
            else:
                place[short] = before
        return view

    def create(self, replaces: str | None, kind: str, name: str, query: str) -> None:
        name = name.strip("`")
        name = _GLOBAL + name if kind == "GLOBAL TEMPORARY" else name
        if not replaces and self._temporary(name) is not None:
            self.rows(query)
            raise SparkError(EXISTS)
        view = self._captured(query, name)
        self._place(name)[name.removeprefix(_GLOBAL)] = view

    def create_using(self, replaces: str | None, name: str, folder: str) -> None:
        if not replaces and name in self.local:
            raise SparkError(EXISTS)
        self.local[name] = View(folder=folder)

    def cache_as(self, name: str, query: str) -> None:
        view = self._captured(query, name) if name not in self.local else None
        if view is None:
            self.rows(query)
            del self.local[name]
            raise SparkError(EXISTS)
        self.local[name] = view

    def alter(self, name: str, query: str) -> None:
        if self._temporary(name) is None:
            self._no_view(name, "EXPECT_VIEW_NOT_TABLE")
        self._place(name)[name.removeprefix(_GLOBAL)] = self._captured(query, name)

    def rename(self, name: str, new: str) -> None:
        if self._temporary(name) is None:
            self._no_view(name, "_LEGACY_ERROR_TEMP_1253")
        place = self._place(name)
        if new in place:
            raise SparkError("TABLE_OR_VIEW_ALREADY_EXISTS")
        place[new] = place.pop(name.removeprefix(_GLOBAL))

    def _no_view(self, name: str, code: str) -> None:
        if name.startswith(_GLOBAL) or f"{self.database}.{name}" not in self.metastore.tables:
            raise SparkError(NOT_FOUND)
        raise SparkError(code)

    def drop(self, exists: str | None, name: str) -> None:
        name = name.replace("`", "")
        if self._temporary(name) is not None:
            del self._place(name)[name.removeprefix(_GLOBAL)]
        elif not name.startswith(_GLOBAL) and f"{self.database}.{name}" in self.metastore.tables:
            raise SparkError("WRONG_COMMAND_FOR_OBJECT_TYPE")
        elif not exists:
            raise SparkError(NOT_FOUND)

    def insert(self, name: str) -> None:
        view = self.local.get(name)
        if view is None:
            raise SparkError(NOT_FOUND)
        if view.folder is None:
            raise SparkError("_LEGACY_ERROR_TEMP_1010")
        self.metastore.files[view.folder] += (("more",),)

    def columns(self, name: str) -> Rows:
        self._known(name)
        return (("c",),)

    def describe(self, name: str) -> Rows:
        self._known(name)
        return (("c", "string", None),)

    def _known(self, name: str) -> None:
        if self._temporary(name) is None:
            full = f"{self.database}.{name}"
            if name.startswith(_GLOBAL) or full not in self.metastore.tables:
                raise SparkError(NOT_FOUND)

    def views(self) -> Rows:
        return tuple(("", name, True) for name in sorted(self.local))

    def cache(self, name: str) -> None:
        self._relation(name, None, ())

    def uncache(self, exists: str | None, name: str) -> None:
        if not exists:
            self._known(name)

    # Settings

    def set(self, key: str, value: str) -> Rows:
        key = key.strip("`")
        self.settings[key.removeprefix("hivevar:")] = value.strip()
        return ((key, value.strip()),)

    def set_zone(self, zone: str) -> Rows:
        return self.set(TIME_ZONE, zone)

    def set_local_zone(self) -> Rows:
        return self.set(TIME_ZONE, self.server.machine)

    def zone(self) -> str:
        return self.settings.get(TIME_ZONE, self.server.zone)

    def reset(self, key: str | None) -> None:
        if key is None:
            self.settings.clear()
        else:
            self.settings.pop(key, None)

    def use(self, database: str) -> None:
        if database not in self.metastore.databases:
            raise SparkError("SCHEMA_NOT_FOUND")
        self.database = database

    # Functions

    def create_temporary_function(self, replaces: str | None, name: str, kind: str) -> None:
        if not replaces and name in self.functions:
            raise SparkError(FUNCTION_EXISTS)
        self.functions[name] = kind

    def drop_temporary_function(self, exists: str | None, name: str) -> None:
        if name not in self.functions and not exists:
            raise SparkError(NO_FUNCTION)
        self.functions.pop(name, None)

    def create_function(self, replaces: str | None, name: str, kind: str) -> None:
        full = self._full(name)
        if full in self.metastore.functions and not replaces:
            raise SparkError(FUNCTION_EXISTS)
        self.metastore.functions[full] = kind
        self.registry.pop(full, None)

    def drop_function(self, exists: str | None, name: str) -> None:
        if name in self.functions:
            raise SparkError("_LEGACY_ERROR_TEMP_1017")
        full = self._full(name)
        if full not in self.metastore.functions and not exists:
            raise SparkError(NO_FUNCTION)
        self.metastore.functions.pop(full, None)
        self.registry.pop(full, None)

    def refresh_function(self, name: str) -> None:
        full = name.replace("`", "")
        self.registry.pop(full, None)
        if full not in self.metastore.functions:
            raise SparkError(NO_FUNCTION)
        self.registry[full] = self.metastore.functions[full]

    def _full(self, name: str) -> str:
        return name if "." in name else f"{self.database}.{name}"


_NAME = r"([`\w.]+)"
_REPLACE, _EXISTS = "(OR REPLACE )?", "(IF EXISTS )?"
_STATEMENTS: tuple[tuple[str, Callable[..., Rows | None]], ...] = (
    (
        rf"CREATE {_REPLACE}(GLOBAL TEMPORARY|TEMPORARY) VIEW (`?\w+`?) AS (.*)",
        SparkSession.create,
    ),
    (
        rf"CREATE {_REPLACE}TEMPORARY VIEW (\w+) USING parquet OPTIONS \(path '(.*)'\)",
        SparkSession.create_using,
    ),
    (rf"ALTER (?:TABLE|VIEW) {_NAME} RENAME TO (\w+)", SparkSession.rename),
    (rf"ALTER VIEW {_NAME} AS (.*)", SparkSession.alter),
    (rf"DROP (?:TABLE|VIEW) {_EXISTS}{_NAME}", SparkSession.drop),
    (r"INSERT INTO (\w+) VALUES \('more'\)", SparkSession.insert),
    (r"CACHE TABLE (\w+) AS (.*)", SparkSession.cache_as),
    (r"CACHE TABLE (\w+)", SparkSession.cache),
    (rf"UNCACHE TABLE {_EXISTS}(\w+)", SparkSession.uncache),
    (r"CLEAR CACHE", lambda _: None),
    (r"REFRESH TABLE .*", lambda _: None),
    (r"SHOW VIEWS", SparkSession.views),
    (rf"SHOW COLUMNS IN {_NAME}", SparkSession.columns),
    (rf"DESCRIBE {_NAME}", SparkSession.describe),
    (r"SET VAR (\w+) = \((SELECT .*)\)", SparkSession.assign_query),
    (r"SET VAR (\w+) = (.*)", SparkSession.assign),
    (r"SET TIME ZONE '(.*)'", SparkSession.set_zone),
    (r"SET TIME ZONE LOCAL", SparkSession.set_local_zone),
    (r"SET ([^= ]*) ?=(.*)", SparkSession.set),
    (r"RESET(?: (.*))?", SparkSession.reset),
    (r"USE (\w+)", SparkSession.use),
    (
        rf"CREATE {_REPLACE}TEMPORARY FUNCTION (\w+) AS '(.*)'",
        SparkSession.create_temporary_function,
    ),
    (rf"DROP TEMPORARY FUNCTION {_EXISTS}(\w+)", SparkSession.drop_temporary_function),
    (rf"CREATE {_REPLACE}FUNCTION {_NAME} AS '(.*)'", SparkSession.create_function),
    (rf"DROP FUNCTION {_EXISTS}{_NAME}", SparkSession.drop_function),
    (rf"REFRESH FUNCTION {_NAME}", SparkSession.refresh_function),
    (rf"DECLARE {_REPLACE}VARIABLE (\w+) STRING DEFAULT '(.*)'", SparkSession.declare),
    (rf"DROP TEMPORARY VARIABLE {_EXISTS}`?(\w+)`?", SparkSession.drop_variable),
    (r"EXECUTE IMMEDIATE '([^']*)' INTO (\w+)", SparkSession.assign_immediate),
    (r"EXECUTE IMMEDIATE '([^']*)'(?: \|\| (\w+))?", SparkSession.execute_immediate),
    (r"(SELECT .*)", SparkSession.rows),
)
