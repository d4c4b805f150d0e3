"""The results of an analysis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from conf.catalog.tables import ViewText
from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet
from conf.settings.security.restrictions import Code
from dialect.catalog_commands import CatalogCommand


class PartitionPredicate(Protocol):
    """A condition on a table's partition keys."""

    def select(self, partitions: PartitionSet) -> range | list[int]:
        """The row numbers of the partitions that may satisfy the condition."""
        ...

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        """For each key, the texts of which it must have one; None if they are not known.

        `select` returns no row with another text, so no other partition need be loaded.
        """
        ...


@dataclass(frozen=True, slots=True)
class AllPartitions:
    """Every partition."""

    def select(self, partitions: PartitionSet) -> range | list[int]:
        return range(len(partitions))

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        return (None,) * len(keys)

    def __reduce__(self) -> str:
        return "ALL"  # pickled by name, because it is compared by identity


ALL = AllPartitions()


@dataclass(frozen=True, slots=True)
class NoPartitions:
    """No partition: the statement reads the table's description and not its data."""

    def select(self, partitions: PartitionSet) -> range | list[int]:
        return range(0)

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        return (frozenset(),) * len(keys)


NONE = NoPartitions()


@dataclass(frozen=True, slots=True)
class Read:
    """A table that is read, never a view, and the partitions that are read."""

    table: TableRef
    partitions: PartitionPredicate = ALL


class WriteAction(Enum):
    """The effect of a write on its table."""

    INSERT = "insert"  # data changes: INSERT, OVERWRITE, LOAD, MERGE, UPDATE, DELETE, TRUNCATE
    CREATE = "create"  # a new table; CTAS too
    ALTER = "alter"  # metadata: ALTER, ANALYZE, MSCK, COMMENT, add or drop of partitions
    DROP = "drop"
    VIEW = "view"  # create, alter or drop of a view: no data, no cluster of its own


@dataclass(frozen=True, slots=True)
class Write:
    """A table that is written. `exists`: the catalog had it when the statement was analysed.

    `partitions` selects the existing partitions that may change. `named` are the partitions that
    the statement names, whether they exist or not. `dynamic`: others may be created.
    """

    table: TableRef
    action: WriteAction
    exists: bool
    partitions: PartitionPredicate = ALL
    named: tuple[tuple[tuple[str, str], ...], ...] = ()
    dynamic: bool = False


@dataclass(frozen=True, slots=True)
class UseDatabase:
    database: str


@dataclass(frozen=True, slots=True)
class SetVariable:
    """`SET key=value`; a `hivevar:` prefix stays in the key. `by_server`: the Thrift Server decides
    the value (SET TIME ZONE LOCAL), which is empty until the statement has run."""

    key: str
    value: str
    by_server: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class ResetVariables:
    """`RESET`, or `RESET key`. `zone` is the session's time zone after it, which the Thrift Server
    decides; None until the statement has run."""

    key: str | None = None
    zone: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CreateTempView:
    """A session's view; `view` is its query.

    Names of temporary objects are in lower case, those of global ones begin with `global_temp.`.
    `sql` creates the view in a session without it: a statement that alters the view cannot.
    """

    name: str
    view: ViewText
    sql: str | None = None


@dataclass(frozen=True, slots=True)
class CreateTempTable:
    """A temporary object that is in one cluster: files in `paths` (USING), or the `cached` result
    of a query. To use the result counts as reading the query's tables: Spark may run it again."""

    name: str
    paths: tuple[str, ...] = ()
    cached: ViewText | None = None


@dataclass(frozen=True, slots=True)
class RenameTemp:
    name: str
    new: str


@dataclass(frozen=True, slots=True)
class DropTemp:
    name: str


@dataclass(frozen=True, slots=True)
class SessionVariable:
    """A variable of DECLARE. `is_text`: its type is STRING. `text` is its value, if it is a text
    and certain."""

    is_text: bool = False
    text: str | None = None


@dataclass(frozen=True, slots=True)
class AssignVariables:
    """DECLARE VARIABLE, SET VARIABLE and EXECUTE IMMEDIATE .. INTO: variables by name, as
    `dialect.lineage.temporary` writes it.

    `repeatable`: every cluster computes the same values. Others are computed once, and are in one
    cluster only. `declares`: the variables are new.
    """

    variables: tuple[tuple[str, SessionVariable], ...]
    repeatable: bool
    declares: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.variables)


@dataclass(frozen=True, slots=True)
class CreateTempFunction:
    """`text` is the query of a function written in SQL; None for a class."""

    name: str
    text: ViewText | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class DropTempFunction:
    name: str


@dataclass(frozen=True, slots=True)
class AddResource:
    """ADD JAR, FILE or ARCHIVE: resources of the whole Thrift Server."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeFunction:
    """CREATE OR REPLACE or DROP of a permanent function. Spark's sessions that used it cache it;
    none has one that `is_new`."""

    database: str
    name: str
    is_new: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class CacheTable:
    """CACHE TABLE: a hint to the Thrift Server that runs it."""

    name: str


@dataclass(frozen=True, slots=True)
class UncacheTable:
    """UNCACHE TABLE, or CLEAR CACHE without a name."""

    name: str | None


SessionEffect = (
    UseDatabase
    | SetVariable
    | ResetVariables
    | CreateTempView
    | CreateTempTable
    | RenameTemp
    | DropTemp
    | AssignVariables
    | CreateTempFunction
    | DropTempFunction
    | AddResource
    | ChangeFunction
    | CacheTable
    | UncacheTable
)


SCRIPT = "script"


@dataclass(frozen=True, slots=True)
class Known:
    """A statement that is understood with certainty. Of an EXPLAIN, this is what the explained
    statement would do; of a script, what any of its statements may do.

    - `kind`: a word for messages and evaluations (select, insert, ctas, script, ..).
    - `reads`, `writes`: tables. `views`: the views that are opened to find them.
    - `defined`: the reads of the query of a new view. They are read when the view is used.
    - `paths_read`, `paths_written`: file locations in the statement.
    - `database_written`: a database that is created, altered or dropped. `cascade`: it is dropped
      with its tables (`kind` drop), or all its tables get statistics (`kind` analyze).
    - `temps`: the temporary objects that are used. `lists_temps`: the result may list any of them.
    - `effect`: what it does to the session; of an EXPLAIN, what the explained statement would do.
      `changes` is the effect only if this statement itself has it.
    - `functions`: names, in lower case, that the statement or a view may call. `permanent`: the
      same with the database that they have if they are permanent functions.
    - `code`: the kinds of foreign code that the statement runs.
    - `constant`: it selects literals and nothing else, and ends at once.
    - `catalog`: the SHOW or DESCRIBE that the proxy may answer; None if a temporary object may be
      meant.
    - `immediate`: the statement that EXECUTE IMMEDIATE runs. `parts`: the statements of a script.
    """

    kind: str
    reads: tuple[Read, ...] = ()
    writes: tuple[Write, ...] = ()
    views: tuple[TableRef, ...] = ()
    paths_read: tuple[str, ...] = ()
    paths_written: tuple[str, ...] = ()
    database_written: str | None = None
    cascade: bool = False
    temps: tuple[str, ...] = ()
    lists_temps: bool = False
    effect: SessionEffect | None = None
    explain: bool = False
    defined: tuple[Read, ...] = ()
    functions: frozenset[str] = frozenset()
    permanent: frozenset[str] = frozenset()
    code: frozenset[Code] = frozenset()
    constant: bool = False
    catalog: CatalogCommand | None = None
    immediate: str | None = None
    parts: tuple["Known", ...] = field(default=(), repr=False)

    @property
    def is_script(self) -> bool:
        """Whether it is a script: if a statement of it fails, others may have run."""
        return self.kind == SCRIPT

    @property
    def changes(self) -> SessionEffect | None:
        """The effect that this statement has on the session; an EXPLAIN has none."""
        return None if self.explain else self.effect


@dataclass(frozen=True, slots=True)
class Unknown:
    """A statement that is not understood, for the reason `why`.

    `writing` is False only if no word of it can write. `sourceless` is True only if no word of it
    can name files, or tables that a query reads.
    """

    why: str
    writing: bool = True
    sourceless: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """The catalog must load these tables before the statement can be analysed."""

    tables: frozenset[TableRef]


Analysis = Known | Unknown | Needs


@dataclass(frozen=True, slots=True)
class Namespace:
    """The state of a session that its statements' meaning depends on.

    - `variables`: settings, and the variables of `${x}` (hivevar names without prefix). `unclear`:
      names of variables whose value is not known.
    - `temp_views`: the session's views by name. `temp_tables`: its other temporary objects, with
      the paths of their files if these are known.
    - `session_variables`: the variables of DECLARE by name, in lower case.
    - `functions`: functions written in SQL, as queries without a database: the session's by name,
      permanent ones by `db.name`; None if the text cannot be read.
    """

    database: str = "default"
    variables: Mapping[str, str] = field(default_factory=dict)
    temp_views: Mapping[str, ViewText] = field(default_factory=dict)
    temp_tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unclear: frozenset[str] = frozenset()
    session_variables: Mapping[str, SessionVariable] = field(default_factory=dict)
    functions: Mapping[str, ViewText | None] = field(default_factory=dict)
