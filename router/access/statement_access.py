"""Decides whether a user may run a statement, from the user's rules and the statement's analysis.

docs/internals/access.md lists the checks and says why no statement can avoid them.
"""

from collections.abc import Iterator

from conf.access.rules import Effect, Right
from conf.names import ClusterName, TableRef
from conf.settings.security.restrictions import Code
from dialect.catalog_commands import DescribeDatabase, ShowDatabases, ShowTables, ShowViews
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import (
    CreateTempTable,
    Known,
    ResetVariables,
    SetVariable,
    Unknown,
    Write,
    WriteAction,
)
from router.access.restrictions import UserRestrictions, is_described, why_whole_table
from router.access.user_access import Denial, UserAccess
from router.decision import Decision, Refuse, RunIn
from router.errors import ACCESS_DENIED

RULE = "access"
LISTS = (ShowDatabases, ShowTables, ShowViews)
"""Lists of names, which only the proxy answers, with the names that the user may see."""

# Statements whose rows name neither tables nor their data.
_OF_NOBODY = frozenset(
    (
        ("SHOW", "FUNCTIONS"),
        ("SHOW", "CURRENT"),
        ("SHOW", "CATALOGS"),
        ("DESCRIBE", "FUNCTION"),
        ("DESC", "FUNCTION"),
        ("LIST", "JAR"),
        ("LIST", "JARS"),
        ("LIST", "FILE"),
        ("LIST", "FILES"),
    )
)
_REPLACING = frozenset(("ctas", "create_table"))
_INSERTS = {
    "insert": (Right.INSERT,),
    "load": (Right.INSERT,),
    "update": (Right.UPDATE,),
    "delete": (Right.DELETE,),
    "truncate": (Right.DELETE,),
    "maintenance": (Right.INSERT, Right.UPDATE, Right.DELETE),
    "merge": (Right.INSERT, Right.UPDATE, Right.DELETE),
}
_VERBS = {
    Right.SELECT: "read",
    Right.INSERT: "insert into",
    Right.UPDATE: "update",
    Right.DELETE: "delete from",
    Right.CREATE: "create",
    Right.DROP: "drop",
    Right.ALTER: "alter",
}


def denial_of(access: UserAccess, statement: Known | Unknown, sql: str) -> Denial | None:
    """The first denial of something that the statement does; None if the user may run it."""
    if isinstance(statement, Unknown):
        why = f"it is not understood ({statement.why}), so that what it reads is not known"
        return Denial("the statement", None, why)
    for denials in (_tables, _databases, _others):
        for found in denials(access, statement):
            return found
    return _metadata(access, statement, sql)


def refusal_of(access: UserAccess, denial: Denial) -> Refuse:
    """The refusal of a statement, which names the rule and the object."""
    rule = denial.rule
    if rule is None:
        because = f"{access.user} may not use {denial.what}: {denial.why}."
    else:
        verb = "use " if not denial.why else f"{denial.why} "
        because = f"{access.user} may not {verb}{denial.what}: {_words(denial)}."
        because += f" {rule.because}" if rule.because else ""
    return Refuse(ACCESS_DENIED.code, ACCESS_DENIED.sqlstate, RULE, because, ACCESS_DENIED.hint)


def refuse_without_guard(restricted: UserRestrictions, cluster: ClusterName) -> Refuse:
    """The refusal of a statement that reads a part of tables in a cluster without a guard."""
    return _only_part(restricted, f"the cluster {cluster} has no guard, which makes it")


def refuse_changes(restricted: UserRestrictions) -> Refuse:
    """The refusal of a statement of a session that reads only changed rows of Hudi tables."""
    return _only_part(restricted, "the session reads changes of tables")


def _only_part(restricted: UserRestrictions, why: str) -> Refuse:
    names = ", ".join(map(str, (*restricted.tables, *restricted.unread)))
    because = f"{restricted.user} may read only a part of {names}, and {why}."
    return Refuse(ACCESS_DENIED.code, ACCESS_DENIED.sqlstate, RULE, because, ACCESS_DENIED.hint)


def check_cluster(access: UserAccess, decision: Decision) -> Decision:
    """The decision, refused if the user may not use the cluster."""
    if not isinstance(decision, RunIn):
        return decision
    denial = access.cluster(decision.cluster)
    return decision if denial is None else refusal_of(access, denial)


def table_denial(access: UserAccess, table: TableRef, right: Right) -> Denial | None:
    """The denial of `right` for the whole table; None if the user has it."""
    if right is Right.SELECT:
        return next(_read(access, table, "which this needs"), None)
    rule = access.table(table, right).rule
    return None if rule is None else Denial(str(table), rule, _VERBS[right])


def _words(denial: Denial) -> str:
    rule = denial.rule
    assert rule is not None
    named = f"the rule {rule.name!r}"
    if rule.shows_part:
        return f"{named} shows only a part of it"
    if rule.effect in (Effect.MASK, Effect.FILTER):
        return f"{named} masks or filters it in a way that is not understood, so it is denied"
    return f"{named} denies it"


def _tables(access: UserAccess, statement: Known) -> Iterator[Denial]:
    for view in statement.views:
        yield from _read(access, view, "whose tables the rule should name, not the view")
    for read in statement.defined:
        yield from _read(access, read.table, "")
    for read in statement.reads:
        because = "" if is_described(read, statement) else why_whole_table(statement)
        yield from _read(access, read.table, because)
    for part in statement.parts or (statement,):
        for write in part.writes:
            for right in _rights(part, write):
                yield from _some(table_denial(access, write.table, right))


def _read(access: UserAccess, table: TableRef, why_whole_table: str) -> Iterator[Denial]:
    """The denial of a read. `why_whole_table` is empty if a part of the table is enough."""
    reading = access.table(table, Right.SELECT)
    if reading.rule is not None:
        yield Denial(str(table), reading.rule, "read")
    elif why_whole_table and reading.parts:
        yield Denial(f"all of {table}, {why_whole_table}", reading.parts[0], "read")


def _rights(statement: Known, write: Write) -> tuple[Right, ...]:
    """The rights that a write needs. ALTER needs the right to read the whole table: it may give the
    table or its columns names to which no rule applies."""
    match write.action:
        case WriteAction.VIEW if statement.kind == "drop":
            return (Right.DROP,)
        case WriteAction.CREATE:
            return (Right.CREATE,)
        case WriteAction.VIEW if not write.exists:
            return (Right.CREATE,)
        case WriteAction.DROP:
            return (Right.DROP,)
        case WriteAction.ALTER | WriteAction.VIEW:
            return (Right.ALTER, Right.SELECT)
    if statement.kind in _REPLACING:
        return (Right.CREATE, Right.DROP)
    return _INSERTS.get(statement.kind, tuple(Right))


def _databases(access: UserAccess, statement: Known) -> Iterator[Denial]:
    name = statement.database_written
    if name is None:
        return
    rights: tuple[Right, ...] = (Right.CREATE, Right.ALTER)
    if statement.kind == "drop":
        rights = (Right.DROP,)
    elif statement.kind == "analyze":
        rights = ()
    elif Code.FUNCTION in statement.code:
        rights = (Right.CREATE,)
    for right in rights:
        if (rule := access.database(name, right)) is not None:
            yield Denial(f"the database {name}", rule, _VERBS[right])
    if rights == (Right.CREATE, Right.ALTER) and access.path("*") is not None:
        # Its location may contain tables of other databases.
        why = "it may have any location, and no rule allows all paths"
        yield Denial(f"CREATE or ALTER of the database {name}", None, why)


def _others(access: UserAccess, statement: Known) -> Iterator[Denial]:
    for path in (*statement.paths_read, *statement.paths_written):
        yield from _some(access.path(path))
    match statement.changes:
        case CreateTempTable(paths=(), cached=None) if access.path("*") is not None:
            yield Denial("a source of data", None, "its path is not known")
        case SetVariable(key) | ResetVariables(str(key)):
            yield from _some(access.setting(key))
    for code in sorted(statement.code, key=lambda each: each.value):
        yield from _some(access.code(code.value))
    for name in sorted(statement.functions | statement.permanent):
        if name == COMPUTED:
            yield Denial("a function", None, "its name is computed")
        yield from _some(access.function(name))


def _some(denial: Denial | None) -> Iterator[Denial]:
    if denial is not None:
        yield denial


def _metadata(access: UserAccess, statement: Known, sql: str) -> Denial | None:
    """The denial of a list that is not filtered by what the user may see: it may show any table."""
    match statement.catalog:
        case DescribeDatabase(name) if not access.sees_database(name):
            for right in Right:
                if (rule := access.database(name, right)) is not None:
                    return Denial(f"the database {name}", rule)
    if statement.kind != "metadata_read" or statement.reads or statement.catalog is not None:
        return None
    if tuple(sql.upper().split(None, 2)[:2]) in _OF_NOBODY:
        return None
    return Denial("this list", None, "it may show what is denied")
