"""Analyses a script: it reads and writes all that any of its statements may read or write.

Which statements run, and how often, is not known, and one may read what another has written. So of
a table that the script writes, all partitions count as read. A statement that changes the session
is refused, and so is one that changes the meaning of a name for later statements: of a view, of a
database, or of a table's name or location.
"""

from collections.abc import Callable, Iterable, Sequence, Set

from sqlglot.tokenizer_core import Token, TokenType

from conf.names import TableRef
from dialect.errors import NotUnderstood, SparkRefuses
from dialect.grammar.scripts.compound import PieceKind, ScriptPiece, parse_script
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
# The kinds of statement that may be in a script; "refused" are those that Spark refuses anyway.
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


def analyze_script(
    tokens: Sequence[Token], sql: str, analysis: AnalysisContext, statement: Statement
) -> Known:
    """Analyses the script with these tokens, each of its statements by `statement`. Raises
    NotUnderstood."""
    analysis.is_script = True
    parts = parse_script(tokens, sql)
    _check_not_of_session(parts.assigned, analysis)
    return _union([_analyze_piece(piece, analysis, statement) for piece in parts.pieces], analysis)


def _analyze_piece(piece: ScriptPiece, analysis: AnalysisContext, statement: Statement) -> Known:
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
    if piece.kind is PieceKind.EXPRESSIONS:
        context.query([_SELECT, *named])
        return context.known("select")
    known = statement(context)
    if piece.kind is PieceKind.QUERY and known.kind not in _QUERIES:
        raise NotUnderstood(f"{known.kind} in the place of a query")
    _check_allowed(known, tokens, piece.variables, analysis)
    return known


def _check_allowed(
    known: Known, tokens: Sequence[Token], variables: frozenset[str], analysis: AnalysisContext
) -> None:
    """Raises NotUnderstood for a statement that is refused in a script."""
    first = word_of(tokens[0]) if tokens else ""
    if known.effect is not None and not _assigns_locals(known, variables, analysis):
        raise NotUnderstood(f"{first} in a script, which changes the session")
    if any(write.action is WriteAction.VIEW for write in known.writes):
        raise NotUnderstood(f"{first} of a view in a script")
    if known.kind not in _KINDS or known.database_written is not None:
        raise NotUnderstood(f"{first} of this kind in a script")
    if known.kind in _CHANGING and not known.writes:
        raise NotUnderstood(f"{first} of something that is no table in a script")
    if first == "ALTER" and any(word_of(token) in _MOVES for token in tokens):
        raise NotUnderstood("another name or location of a table in a script")


def _assigns_locals(known: Known, variables: frozenset[str], analysis: AnalysisContext) -> bool:
    """Whether the statement is EXECUTE IMMEDIATE .. INTO of local variables alone."""
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


def _union(parts: Sequence[Known], analysis: AnalysisContext) -> Known:
    """The script's analysis, made of those of its statements."""
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
    """The tables that any of the statements reads, each once. They include those of `defined`: the
    query of CREATE TABLE IF NOT EXISTS runs if the script has dropped the table."""
    by_table: dict[TableRef, list[PartitionPredicate]] = {}
    for part in parts:
        for read in (*part.reads, *part.defined):
            by_table.setdefault(read.table, []).append(read.partitions)
    return tuple(
        Read(table, _selected(predicates, table in written))
        for table, predicates in by_table.items()
    )


def _selected(predicates: Sequence[PartitionPredicate], written: bool) -> PartitionPredicate:
    """The partitions that a script reads of a table; all if it writes the table, too."""
    if written and any(predicate is not NONE for predicate in predicates):
        return ALL
    return any_of(predicates)
