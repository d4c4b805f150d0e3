"""Claims on their way to a cluster, and what its guard says of them.

A cluster without a guard gets none. A claim that no longer holds (a write began after the decision)
is no error of the user's: nothing has run, and the statement is decided again.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from conf.errors import CausewayError
from conf.names import PartitionRef, TableRef
from conf.settings.settings import Coverage
from dialect.analyze import too_long
from dialect.statement import Unknown
from proxy.errors import Failure, Rejected
from proxy.protocol.replies import Status
from proxy.protocol.types import OperationState
from proxy.session.open_session import Session
from proxy.statement.statement_router import Routed
from proxy.upstream.upstream_session import UpstreamSession
from router.claim import ANALYZE, KEY, PARSE, claim_of, encoded
from router.errors import CHANGED_AFTER_DECISION

_CHANGED = f"[{CHANGED_AFTER_DECISION.code}]"
_PARSED = "causeway: parsed"  # NotRunException.PARSED
_PARSE_EXCEPTION = "org.apache.spark.sql.catalyst.parser.ParseException"
_STACK = "\n\tat "  # before each line of a stack
_OF_SPARK = "org.apache.spark.sql."  # the package of what its analysis throws


class Outdated(Exception):
    """The guard found that a table changed after the decision; nothing has run."""


def overlay(
    upstream: UpstreamSession,
    routed: Routed,
    coverage: Coverage,
    targets: Iterable[TableRef | PartitionRef],
    token: Any,
) -> Mapping[str, str]:
    """What is added to a statement's overlay. `token` is that of its running write, or None."""
    if not upstream.checked:
        return {}
    marks = () if token is None else (token.id,)
    claim = claim_of(
        routed.statement, upstream.cluster, routed.facts, coverage, targets=targets, marks=marks
    )
    return {KEY: encoded(claim)}


def is_outdated(status: Status) -> bool:
    """Whether the guard refused a statement because a table changed after the decision."""
    failure = status.failure
    return (
        status.state is OperationState.ERROR and failure is not None and _CHANGED in failure.message
    )


async def spark_error(session: Session, sql: str, statement: Unknown) -> Failure | None:
    """What Spark's own parser says against a statement that was not understood, and its analysis
    where that reads no data and calls nothing that is denied.

    None when Spark has nothing against it, when the statement is too long to be read here, and when
    no cluster that checks claims can be asked: without its guard the cluster would run it.
    """
    if too_long(sql):
        return None
    state = session.state
    analyzed = statement.sourceless and not state.restrictions.deny_code
    cluster = state.pinned or state.topology.default
    if cluster is None:
        return None
    try:
        upstream = await session.upstream(cluster)
        if not upstream.checked:
            return None
        operation = await upstream.execute(sql, {KEY: ANALYZE if analyzed else PARSE}, 0)
        status = await upstream.end_of(operation)
        upstream.close_operation(operation)
    except (CausewayError, Rejected):
        return None
    failure = status.failure
    if failure is None:
        return None
    text = failure.message.partition(_STACK)[0]
    by_spark = (_OF_SPARK if analyzed else _PARSE_EXCEPTION) in text and _PARSED not in text
    return failure if by_spark else None
