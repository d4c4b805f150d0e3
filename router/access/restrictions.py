"""The parts of tables that a user may see, if rules filter rows or mask or deny columns.

The guard enforces them (docs/internals/access.md). A statement for which that is not certain is
refused, unless the user may read the whole tables.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from conf.access.masks import of_column
from conf.access.rules import Effect, Right, Rule
from conf.names import TableRef
from dialect.catalog_commands import DescribeColumn, DescribeTable, ShowColumns
from dialect.statement import NONE, AssignVariables, CreateTempTable, Known, Read
from router.access.user_access import Reading, UserAccess
from router.decision import RunIn
from router.errors import ACCESS_DENIED

# Kinds of statements whose queries the guard can restrict.
_QUERIES = frozenset(
    ("select", "from_select", "insert", "from_insert", "multi_insert", "ctas", "create_view")
)
# Functions that show names of files, which may contain values, or the table's past rows.
_BESIDE_ROWS = frozenset(
    (
        *("hudi_table_changes", "hudi_query_timeline", "hudi_filesystem_view", "hudi_metadata"),
        *("input_file_name", "input_file_block_start", "input_file_block_length"),
    )
)


@dataclass(frozen=True, slots=True)
class RuleText:
    """The SQL expression of a rule, and the rule's name."""

    sql: str
    rule: str


@dataclass(frozen=True, slots=True)
class TableRestriction:
    """The condition on a table's `rows`, the expressions in place of columns (`masks`), and the
    messages for columns that may not be read (`denied`)."""

    rows: RuleText | None = None
    masks: Mapping[str, RuleText] = field(default_factory=dict)
    denied: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserRestrictions:
    """The restrictions of a user for one statement. `unread` are tables that it only writes and of
    which the user may see a part."""

    user: str = ""
    tables: Mapping[TableRef, TableRestriction] = field(default_factory=dict)
    unread: tuple[TableRef, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tables or self.unread)

    def widened(self, statement: Known, keys: Callable[[TableRef], Collection[str]]) -> Known:
        """The statement with all partitions of the tables that have a masked or denied partition
        column: its conditions apply to the masked values. `keys` returns the names of a table's
        partition columns."""
        changed = {
            table
            for table, each in self.tables.items()
            if {*each.masks, *each.denied} & {name.lower() for name in keys(table)}
        }
        if not changed:
            return statement
        reads = (
            Read(each.table) if each.table in changed and each.partitions is not NONE else each
            for each in statement.reads
        )  # fmt: skip
        return replace(statement, reads=tuple(reads))

    def explained(self, decision: RunIn) -> RunIn:
        """The decision, with the rules in its reason."""
        texts = [f"{table} is read in part ({_names(each)})" for table, each in self.tables.items()]
        return replace(decision, because="; ".join((decision.because, *texts)))


UNRESTRICTED = UserRestrictions()


def restrictions_of(access: UserAccess, statement: Known) -> UserRestrictions:
    """The restrictions for a statement that is not denied."""
    tables: dict[TableRef, TableRestriction] = {}
    for read in statement.reads:
        if is_described(read, statement):
            continue
        reading = access.table(read.table, Right.SELECT)
        if reading.parts:
            tables[read.table] = _restriction(access.user, read.table, reading)
    written = {write.table for write in statement.writes} - set(tables)
    unread = tuple(
        each for each in sorted(written, key=str) if access.table(each, Right.SELECT).parts
    )
    return UserRestrictions(access.user, tables, unread)


def why_whole_table(statement: Known) -> str:
    """Why the statement needs whole tables, as the end of a sentence; empty if it does not."""
    if statement.kind not in _QUERIES:
        return "which this kind of statement needs"
    if isinstance(statement.effect, CreateTempTable | AssignVariables):
        return "which a result that the session keeps would have"
    if named := sorted(_BESIDE_ROWS & statement.functions):
        return f"which the function {named[0]} may show"
    return ""


def is_described(read: Read, statement: Known) -> bool:
    """Whether only a table's description is read, without values of columns such as partitions and
    statistics."""
    if read.partitions is not NONE:
        return False
    match statement.catalog:
        case ShowColumns() | DescribeTable():
            return True
        case DescribeColumn(extended=extended):
            return not extended
    return False


def column_denial(user: str, table: TableRef, column: str, rule: Rule) -> str:
    """The message for a column that may not be read."""
    text = f"{user} may not read the column {column} of {table}: the rule {rule.name!r} denies it."
    texts = (f"[{ACCESS_DENIED.code}] {text}", rule.because, ACCESS_DENIED.hint)
    return " ".join(each for each in texts if each)


def _restriction(user: str, table: TableRef, reading: Reading) -> TableRestriction:
    rows = reading.rows
    found = TableRestriction(None if rows is None else RuleText(rows.expression, rows.name), {}, {})
    masks: dict[str, RuleText] = {}
    denied: dict[str, str] = {}
    for column, rule in reading.columns.items():
        if rule.effect is Effect.MASK and rule.expression:
            masks[column] = RuleText(of_column(rule.expression, column), rule.name)
        else:
            denied[column] = column_denial(user, table, column, rule)
    return replace(found, masks=masks, denied=denied)


def _names(restriction: TableRestriction) -> str:
    texts = [] if restriction.rows is None else [f"rows by the rule {restriction.rows.rule!r}"]
    masks = restriction.masks.items()
    texts += [f"{column} masked by the rule {each.rule!r}" for column, each in masks]
    texts += [f"without {column}" for column in restriction.denied]
    return ", ".join(texts)
