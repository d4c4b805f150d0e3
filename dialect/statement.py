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
        """Row numbers of the partitions that may satisfy it (certain misses left out)."""
        ...

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        """For each key the texts that it must be among, None when they are not known.

        `select` gives no row with another text, so nothing else need be fetched.
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
        return "ALL"  # pickled by name: it is compared by identity


ALL = AllPartitions()


@dataclass(frozen=True, slots=True)
class NoPartitions:
    """No partition: the statement asks for the table's description, not for its data."""

    def select(self, partitions: PartitionSet) -> range | list[int]:
        return range(0)

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        return (frozenset(),) * len(keys)


NONE = NoPartitions()


@dataclass(frozen=True, slots=True)
class Read:
    """A table (never a view) whose data is read, and which partitions of it."""

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
    """A table written. `exists`: whether the catalog had it when the statement was analysed.

    `partitions` selects the existing partitions that may be touched; `named` are the static
    partitions as written, whether they exist or not; with `dynamic` others may appear.
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
    """`SET key=value`; a `hivevar:` prefix stays in the key. `by_server`: the value is the server's
    to say (SET TIME ZONE LOCAL), and empty until the statement has run."""

    key: str
    value: str
    by_server: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class ResetVariables:
    """`RESET`, or `RESET key`. `zone` is the session's time zone after that, which is the server's
    to say; None until the statement has run."""

    key: str | None = None
    zone: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CreateTempView:
    """A session's view; `view` is what later statements see through it.

    Names of temporary objects are in lower case, those of global ones begin with `global_temp.`.
    `sql` makes the view where the statement itself cannot, since it changes a view that is there.
    """

    name: str
    view: ViewText
    sql: str | None = None


@dataclass(frozen=True, slots=True)
class CreateTempTable:
    """A session's object that is in one cluster: files in `paths` (USING), or the `cached` result
    of a query, which counts as reading what the query does: a cluster may have to run it again."""

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
    """A variable that DECLARE made. `text` is its value where that is certainly known, and
    `is_text` says that its type is STRING."""

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
    """`text` is that of a function written in SQL, as a query; None: it is a class."""

    name: str
    text: ViewText | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class DropTempFunction:
    name: str


@dataclass(frozen=True, slots=True)
class AddResource:
    """ADD JAR / FILE / ARCHIVE: the whole server's, once each."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeFunction:
    """CREATE OR REPLACE or DROP of a permanent function: sessions that used it remember it. None
    remembers one that `is_new`."""

    database: str
    name: str
    is_new: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class CacheTable:
    """CACHE TABLE: a hint to the server that ran it."""

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
    """A statement understood with certainty.

    `kind` is a word for messages and scorers (select, insert, ctas, ..). `views` are the views
    read through. `paths_read` and `paths_written` are file locations named in the statement.
    `database_written` is a database created, altered or dropped; `cascade`: it is
    dropped with all that is in it (`kind` drop), or that its tables get statistics (`kind`
    analyze). `temps` are the session's temporary objects that it uses;
    `lists_temps`: its rows may name any of them. `defined` is what the query of a view
    that is made here reads: nothing now, all of it when the view is used. `functions` are the names
    of all that it, or a view that it opens, may call, in lower case; `permanent` are the same with
    the database that has them if they are permanent; `code` is what it brings to run. Of an EXPLAIN
    all of this is what the statement that it explains would do. `constant`: that it selects values
    that are written in it, and nothing else: it ends at once. `catalog` is what it asks the
    catalog, if no temporary object can be meant and the proxy can read all of it. `immediate` is
    the statement that EXECUTE IMMEDIATE runs. Of a script (`kind` script) `parts` are the
    statements in it, and everything else is what any of them may do.
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
        """Whether it is a script, of which a part may have run when another one fails."""
        return self.kind == SCRIPT

    @property
    def changes(self) -> SessionEffect | None:
        """What it does to the session when it runs: an EXPLAIN does nothing."""
        return None if self.explain else self.effect


@dataclass(frozen=True, slots=True)
class Unknown:
    """A statement that is not understood.

    `writing` is False only when no token can write; `sourceless` is True only when no token can
    name files, or tables that a query reads.
    """

    why: str
    writing: bool = True
    sourceless: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """The catalog must load these tables first; then ask again."""

    tables: frozenset[TableRef]


Analysis = Known | Unknown | Needs


@dataclass(frozen=True, slots=True)
class Namespace:
    """What a session brings to the meaning of its statements.

    `temp_views` has the session's views by name, `temp_tables` its other temporary objects with
    the paths of their files, where these are known; `variables` serve `${x}` substitution (hivevar
    names bare, conf keys in full), `unclear` are names that are set to what is not known.
    `session_variables` are those of DECLARE by name, in lower case. `functions` are those written
    in SQL, as queries without a database: the session's by name and permanent ones by `db.name`,
    None where the text cannot be read.
    """

    database: str = "default"
    variables: Mapping[str, str] = field(default_factory=dict)
    temp_views: Mapping[str, ViewText] = field(default_factory=dict)
    temp_tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unclear: frozenset[str] = frozenset()
    session_variables: Mapping[str, SessionVariable] = field(default_factory=dict)
    functions: Mapping[str, ViewText | None] = field(default_factory=dict)
