"""Causeway's own statements, recognised by their first words (DC-U1, DC-U2, DC-P1 and D8)."""

import re
from dataclasses import dataclass

from conf.names import TableRef
from dialect.errors import NotUnderstood
from dialect.lexing.token_cursor import TokenCursor, partition_spec
from dialect.lexing.tokenize import tokenize

_VERBS = ("use", "show", "explain", "reset", "alter")
_WORDS = ("cluster", "copy", "copies", "statements")
_FIRST_WORD = re.compile(r"\s*+(\w++)", re.ASCII)
_DIGITS = 9  # the most digits of a limit
_SEARCHED = 256 << 10  # characters; searching them takes some ms

PartitionValues = tuple[tuple[str, str], ...]  # (key, value) pairs, of some or all partition keys


@dataclass(frozen=True, slots=True)
class UseCluster:
    """`USE CLUSTER name`: pin the session. The name keeps its case."""

    name: str


@dataclass(frozen=True, slots=True)
class ResetCluster:
    """`USE CLUSTER`: unpin the session."""


@dataclass(frozen=True, slots=True)
class ShowClusters:
    """`SHOW CLUSTERS`"""


@dataclass(frozen=True, slots=True)
class ShowCurrentCluster:
    """`SHOW CURRENT CLUSTER`"""


@dataclass(frozen=True, slots=True)
class ExplainCluster:
    """`EXPLAIN CLUSTER [EXTENDED] statement`: shows the decision without running the statement,
    and with `extended` where each of its tables is."""

    statement: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class ShowStatements:
    """`SHOW STATEMENTS [LIMIT n]`: shows the user's own ended statements, the newest first."""

    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ShowCopies:
    """`SHOW COPIES [IN database | OF table]`: shows since when copies are stale.

    Without both it shows the current database. With a `table`, `database` is the one of its name.
    """

    database: str | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True)
class CopyTable:
    """`ALTER TABLE t [PARTITION (k='v', ..), PARTITION (..), ..] COPY source TO target`.

    `database` is None if the table's name has none. `partitions` has the values of each PARTITION
    clause, which may name some of the table's keys; it is empty without a clause.
    """

    database: str | None
    table: str
    partitions: tuple[PartitionValues, ...]
    source: str
    target: str

    def ref(self, database: str) -> TableRef:
        """The table, in `database` unless it names its own."""
        return TableRef((self.database or database).lower(), self.table)


ClusterCommand = (
    UseCluster
    | ResetCluster
    | ShowClusters
    | ShowCurrentCluster
    | ShowStatements
    | ShowCopies
    | ExplainCluster
    | CopyTable
)


def parse(sql: str, in_use: bool) -> ClusterCommand | None:
    """The cluster statement in the text; None for another statement, and unless clusters are
    configured (`in_use`)."""
    if not in_use or not may_be_cluster_command(sql):
        return None
    try:
        cursor = TokenCursor(tokenize(sql), sql)
        return _command(cursor)
    except NotUnderstood:
        return None


def may_be_cluster_command(sql: str) -> bool:
    """A quick test that is False for almost every other statement: cluster statements begin with
    one of _VERBS and contain one of _WORDS. A comment may come first, and long texts are not
    searched."""
    first = _FIRST_WORD.match(sql)
    if first is not None and first[1].lower() not in _VERBS:
        return False
    if len(sql) > _SEARCHED:
        return True
    lowered = sql.lower()
    return any(verb in lowered for verb in _VERBS) and any(word in lowered for word in _WORDS)


def _command(cursor: TokenCursor) -> ClusterCommand | None:
    if cursor.take("USE", "CLUSTER"):
        return _use(cursor)
    if cursor.take("SHOW", "CLUSTERS"):
        return ShowClusters() if cursor.done else None
    if cursor.take("SHOW", "CURRENT", "CLUSTER"):
        return ShowCurrentCluster() if cursor.done else None
    if cursor.take("SHOW", "STATEMENTS"):
        return _show_statements(cursor)
    if cursor.take("SHOW", "COPIES"):
        return _show_copies(cursor)
    if cursor.take("EXPLAIN", "CLUSTER"):
        extended = cursor.take("EXTENDED")
        if cursor.done:
            return None
        start = cursor.tokens[cursor.at].start
        return ExplainCluster(cursor.sql[start : cursor.tokens[-1].end + 1], extended)
    if cursor.take("ALTER", "TABLE"):
        return _copy(cursor)
    return None


def _use(cursor: TokenCursor) -> ClusterCommand | None:
    if cursor.done:
        return ResetCluster()
    name = _cluster(cursor)
    return UseCluster(name) if cursor.done else None


def _show_statements(cursor: TokenCursor) -> ShowStatements | None:
    if cursor.done:
        return ShowStatements()
    cursor.expect("LIMIT")
    limit = cursor.word()
    cursor.at += 1
    is_number = limit.isdecimal() and len(limit) <= _DIGITS
    return ShowStatements(int(limit)) if is_number and cursor.done else None


def _show_copies(cursor: TokenCursor) -> ShowCopies | None:
    if cursor.done:
        return ShowCopies()
    if cursor.take("IN") or cursor.take("FROM"):
        parts = cursor.names()
        return ShowCopies(parts[0]) if cursor.done and len(parts) == 1 else None
    cursor.expect("OF")
    parts = cursor.names()
    if not cursor.done or len(parts) > 2:
        return None
    return ShowCopies(parts[0] if len(parts) == 2 else None, parts[-1])


def _copy(cursor: TokenCursor) -> CopyTable | None:
    parts = cursor.names()
    if len(parts) > 2:
        return None
    partitions = _partitions(cursor)
    if not cursor.take("COPY"):
        return None
    source = _cluster(cursor)
    cursor.expect("TO")
    target = _cluster(cursor)
    if not cursor.done:
        return None
    database = parts[0] if len(parts) == 2 else None
    return CopyTable(database, parts[-1], partitions, source, target)


def _partitions(cursor: TokenCursor) -> tuple[PartitionValues, ...]:
    """The values of each PARTITION clause. Raises NotUnderstood for a clause without keys, and for
    a key without a value or with two."""
    clauses: list[PartitionValues] = []
    while cursor.take(",", "PARTITION") if clauses else cursor.take("PARTITION"):
        spec = partition_spec(cursor)
        pairs = tuple((key, value) for key, value in spec if value is not None)
        if not pairs or len(dict(pairs)) < len(spec):
            raise NotUnderstood("each key of a partition has one value")
        clauses.append(pairs)
    return tuple(clauses)


def _cluster(cursor: TokenCursor) -> str:
    """A cluster's name as it is written: in any quotes, or bare, with dashes and dots."""
    if cursor.is_text():
        return cursor.text()
    if not cursor.is_name():
        raise NotUnderstood(f"a cluster's name expected near {cursor.near()}")
    first = cursor.tokens[cursor.at]
    cursor.at += 1
    if cursor.sql[first.start] == "`":
        return first.text
    end = first.end
    while not cursor.done and cursor.tokens[cursor.at].start == end + 1:
        end = cursor.tokens[cursor.at].end
        cursor.at += 1
    return cursor.sql[first.start : end + 1]
