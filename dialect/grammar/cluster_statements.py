"""The few statements that are Causeway's own, told from the first words before any parse.

DC-U1, DC-U2, DC-P1 and D8. Everything else passes through untouched.
"""

import re
from dataclasses import dataclass

from conf.names import TableRef
from dialect.errors import NotUnderstood
from dialect.grammar.token_cursor import Words, partition_spec
from dialect.parsing.tokenize import tokenize

# A statement of ours is short, save the one that EXPLAIN CLUSTER carries.
_VERBS = ("use", "show", "explain", "reset", "alter")
_FIRST_WORD = re.compile(r"\s*+(\w++)", re.ASCII)
_SEARCHED = 256 << 10  # characters, some ms; a longer text is not searched


@dataclass(frozen=True, slots=True)
class UseCluster:
    """`USE CLUSTER name`: pin the session. The name keeps its case."""

    name: str


@dataclass(frozen=True, slots=True)
class ResetCluster:
    """`USE CLUSTER`: back to choosing by tables."""


@dataclass(frozen=True, slots=True)
class ShowClusters:
    """`SHOW CLUSTERS`"""


@dataclass(frozen=True, slots=True)
class ShowCurrentCluster:
    """`SHOW CURRENT CLUSTER`"""


@dataclass(frozen=True, slots=True)
class ExplainCluster:
    """`EXPLAIN CLUSTER statement`: where and why, without running it."""

    statement: str


@dataclass(frozen=True, slots=True)
class CopyTable:
    """`ALTER TABLE t [PARTITION (k='v', ..)] COPY source TO target`.

    `database` is None where the table's name has none; `partition` may name fewer keys than
    the table has.
    """

    database: str | None
    table: str
    partition: tuple[tuple[str, str], ...]
    source: str
    target: str

    def ref(self, database: str) -> TableRef:
        """The table, in `database` unless it names its own."""
        return TableRef((self.database or database).lower(), self.table)


ClusterCommand = (
    UseCluster | ResetCluster | ShowClusters | ShowCurrentCluster | ExplainCluster | CopyTable
)


def parse(sql: str, in_use: bool) -> ClusterCommand | None:
    """The cluster command that `sql` is, or None. Nothing is ours unless clusters are in use."""
    if not in_use or not may_be_ours(sql):
        return None
    try:
        words = Words(tokenize(sql), sql)
        return _command(words)
    except NotUnderstood:
        return None


def may_be_ours(sql: str) -> bool:
    """A cheap no for almost every statement, whatever its length: ours begin with a verb, and have
    CLUSTER or COPY among their words. Of one that begins with a comment nothing is known."""
    first = _FIRST_WORD.match(sql)
    if first is not None and first[1].lower() not in _VERBS:
        return False
    if len(sql) > _SEARCHED:
        return True
    lowered = sql.lower()
    return any(verb in lowered for verb in _VERBS) and ("cluster" in lowered or "copy" in lowered)


def _command(words: Words) -> ClusterCommand | None:
    if words.take("USE", "CLUSTER"):
        return _use(words)
    if words.take("SHOW", "CLUSTERS"):
        return ShowClusters() if words.done else None
    if words.take("SHOW", "CURRENT", "CLUSTER"):
        return ShowCurrentCluster() if words.done else None
    if words.take("EXPLAIN", "CLUSTER"):
        if words.done:
            return None
        start = words.tokens[words.at].start
        return ExplainCluster(words.sql[start : words.tokens[-1].end + 1])
    if words.take("ALTER", "TABLE"):
        return _copy(words)
    return None


def _use(words: Words) -> ClusterCommand | None:
    if words.done:
        return ResetCluster()
    name = _cluster(words)
    return UseCluster(name) if words.done else None


def _copy(words: Words) -> CopyTable | None:
    parts = words.names()
    if len(parts) > 2:
        return None
    spec = partition_spec(words) if words.take("PARTITION") else ()
    if not words.take("COPY"):
        return None
    source = _cluster(words)
    words.expect("TO")
    target = _cluster(words)
    if not words.done or any(value is None for _, value in spec):
        return None
    database = parts[0] if len(parts) == 2 else None
    pairs = tuple((key, value or "") for key, value in spec)
    return CopyTable(database, parts[-1], pairs, source, target)


def _cluster(words: Words) -> str:
    """A cluster's name as written: bare (dashes and dots too), or quoted in any way."""
    if words.is_text():
        return words.text()
    if not words.is_name():
        raise NotUnderstood(f"a cluster's name expected near {words.near()}")
    first = words.tokens[words.at]
    words.at += 1
    if words.sql[first.start] == "`":
        return first.text
    end = first.end
    while not words.done and words.tokens[words.at].start == end + 1:
        end = words.tokens[words.at].end
        words.at += 1
    return words.sql[first.start : end + 1]
