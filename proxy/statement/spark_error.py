"""Spark's own error for a statement that the analysis did not understand."""

from conf.errors import CausewayError
from dialect.analyze import too_long
from dialect.statement import Unknown
from proxy.errors import Failure, ThriftServerError
from proxy.session.user_session import UserSession
from proxy.upstream.endpoint_health import EndpointHealth
from router.claim import ANALYZE, KEY, PARSE

_PARSED = "causeway: parsed"  # NotRunException.PARSED
_PARSE_EXCEPTION = "org.apache.spark.sql.catalyst.parser.ParseException"
_STACK = "\n\tat "  # before each line of a stack trace
_OF_SPARK = "org.apache.spark.sql."  # the package of the exceptions of its analysis


async def spark_error(
    session: UserSession, sql: str, statement: Unknown, health: EndpointHealth
) -> Failure | None:
    """The error of Spark's parser for the statement, or of its analysis, if that reads no data and
    calls nothing that is denied.

    None if Spark accepts the statement, if it is too long, or if no cluster that checks claims can
    be reached: a cluster without a guard would run it.
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
    except (CausewayError, ThriftServerError):
        return None
    failure = status.failure
    if failure is None:
        return None
    text = failure.message.partition(_STACK)[0]
    by_spark = (_OF_SPARK if analyzed else _PARSE_EXCEPTION) in text and _PARSED not in text
    return failure if by_spark else None
