"""Spark's own error of a statement that was not understood."""

from conf.errors import CausewayError
from dialect.analyze import too_long
from dialect.statement import Unknown
from proxy.errors import Failure, Rejected
from proxy.session.user_session import UserSession
from proxy.upstream.endpoint_health import EndpointHealth
from router.claim import ANALYZE, KEY, PARSE

_PARSED = "causeway: parsed"  # NotRunException.PARSED
_PARSE_EXCEPTION = "org.apache.spark.sql.catalyst.parser.ParseException"
_STACK = "\n\tat "  # before each line of a stack
_OF_SPARK = "org.apache.spark.sql."  # the package of what its analysis throws


async def spark_error(
    session: UserSession, sql: str, statement: Unknown, health: EndpointHealth
) -> Failure | None:
    """What Spark's own parser says against a statement that was not understood, and its analysis
    where that reads no data and calls nothing that is denied.

    None when Spark has nothing against it, when the statement is too long to be read here, and when
    no cluster that checks claims can be asked: without its guard the cluster would run it.
    """
    if too_long(sql):
        return None
    state = session.state
    analyzed = statement.sourceless and not state.restrictions.deny_code
    try:
        upstream = await session.upstream(state.pinned or health.first_up(state.topology))
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
