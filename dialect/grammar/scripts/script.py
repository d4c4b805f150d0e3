"""The reads and writes of a script: all that any of its statements may read or write.

Which branches run, and how often, is not known, and a statement may see what another one has
written. So of a table that the script writes every partition counts as read; and what would give a
name another meaning for a later statement (a view, a database, another name or location of a
table) is refused, as is what changes the session.
"""

from collections.abc import Callable, Iterable, Sequence, Set

from sqlglot.tokenizer_core import Token, TokenType

from conf.names import TableRef
from dialect.errors import NotUnderstood, SparkRefuses
from dialect.grammar.scripts.compound import Kind, Piece, script_of
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import TokenCursor
from dialect.lexing.tokenize import tokenize
from dialect.lexing.tokens import word_of
from dialect.lineage.analysis_context import AnalysisContext
from dialect.lineage.build import Builder
from dialect.lineage.temporary import bare_variable
from dialect.parsing.function_calls import calls_of
from dialect.parsing.identifier_clause import replace_identifier_clauses
from dialect.pruning.predicate import any_of
from dialect.statement import (
    ALL,
    NONE,
    SCRIPT,
    AssignVariables,
    Known,
    PartitionPredicate,
    Read,
    WriteAction,
)

_SELECT = Token(TokenType.SELECT, "SELECT")
_QUERIES = frozenset({"select", "from_select"})
# Statements that may be in a script. Spark refuses a statement of the last kinds.
_KINDS = _QUERIES | frozenset(
    {
        *("insert", "from_insert", "multi_insert", "update", "delete", "merge", "load", "truncate"),
        *("ctas", "create_table", "drop", "alter", "alter_partition", "msck", "analyze"),
        *("refused", "empty"),
    }
)
_CHANGING = frozenset({"drop", "alter"})
_MOVES = frozenset({"RENAME", "LOCATION"})

Statement = Callable[[StatementContext], Known]


def script(
    tokens: Sequence[Token], sql: str, analysis: AnalysisContext, statement: Statement
) -> Known:
    """The script with these tokens; `statement` analyses those in it. Raises NotUnderstood."""
    analysis.is_script = True
    parts = script_of(tokens, sql)
    _check_not_of_session(parts.assigned, analysis)
    return _all_of([_known(piece, analysis, statement) for piece in parts.pieces], analysis)


def _known(piece: Piece, analysis: AnalysisContext, statement: Statement) -> Known:
    tokens = tokenize(piece.text, analysis.double_quoted_names)
    if any(token.token_type == TokenType.PLACEHOLDER for token in tokens):
        raise NotUnderstood("a parameter in a script")
    builder = Builder(analysis)
    builder.use_functions(calls_of(tokens), analysis.namespace.database.lower())
    try:
        named = replace_identifier_clauses(tokens, piece.text)
    except SparkRefuses as error:
        raise NotUnderstood(error.why) from None
    context = StatementContext(TokenCursor(named, piece.text), analysis, builder)
    if piece.kind is Kind.EXPRESSIONS:
        context.query([_SELECT, *named])
        return context.known("select")
    known = statement(context)
    if piece.kind is Kind.QUERY and known.kind not in _QUERIES:
        raise NotUnderstood(f"{known.kind} in the place of a query")
    _check(known, tokens, piece.variables, analysis)
    return known


def _check(
    known: Known, tokens: Sequence[Token], variables: frozenset[str], analysis: AnalysisContext
) -> None:
    """Raises NotUnderstood for a statement that may not be in a script."""
    first = word_of(tokens[0]) if tokens else ""
    if known.effect is not None and not _assigns_locals(known, variables, analysis):
        raise NotUnderstood(f"{first} in a script, which changes the session")
    if any(write.action is WriteAction.VIEW for write in known.writes):
        raise NotUnderstood(f"{first} of a view in a script")
    if known.kind not in _KINDS or known.database_written is not None:
        raise NotUnderstood(f"{first} of this kind in a script")
    if known.kind in _CHANGING and not known.writes:
        raise NotUnderstood(f"{first} of what is no table in a script")
    if first == "ALTER" and any(word_of(token) in _MOVES for token in tokens):
        raise NotUnderstood("another name or location of a table in a script")


def _assigns_locals(known: Known, variables: frozenset[str], analysis: AnalysisContext) -> bool:
    """Whether it only has EXECUTE IMMEDIATE .. INTO of local variables."""
    effect = known.effect
    if not isinstance(effect, AssignVariables) or effect.declares or known.immediate is None:
        return False
    names = {bare_variable(name) for name in effect.names}
    _check_not_of_session(names, analysis)
    return names <= variables


def _check_not_of_session(names: Iterable[str], analysis: AnalysisContext) -> None:
    for name in sorted(names):
        if name in analysis.namespace.session_variables:
            raise NotUnderstood(f"the variable {name} of a script, which the session has as well")


def _all_of(parts: Sequence[Known], analysis: AnalysisContext) -> Known:
    """What any of the statements may do."""
    writes = tuple(dict.fromkeys(write for part in parts for write in part.writes))
    return Known(
        SCRIPT,
        reads=_reads(parts, {write.table for write in writes}),
        writes=writes,
        views=tuple(analysis.views),
        paths_read=tuple(dict.fromkeys(path for part in parts for path in part.paths_read)),
        paths_written=tuple(dict.fromkeys(path for part in parts for path in part.paths_written)),
        temps=tuple(analysis.temps),
        parts=tuple(parts),
    )


def _reads(parts: Sequence[Known], written: Set[TableRef]) -> tuple[Read, ...]:
    """The tables that any of the statements reads, each once. The query of CREATE TABLE IF NOT
    EXISTS runs if the script has dropped the table."""
    found: dict[TableRef, list[PartitionPredicate]] = {}
    for part in parts:
        for read in (*part.reads, *part.defined):
            found.setdefault(read.table, []).append(read.partitions)
    return tuple(
        Read(table, _selected(predicates, table in written)) for table, predicates in found.items()
    )


def _selected(predicates: Sequence[PartitionPredicate], written: bool) -> PartitionPredicate:
    """The partitions of a table, of which another statement of the script may have made more."""
    if written and any(predicate is not NONE for predicate in predicates):
        return ALL
    return any_of(predicates)
