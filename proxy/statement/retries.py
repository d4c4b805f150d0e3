"""When a statement is tried again after its cluster was lost: in the same cluster if it certainly
did not start there, in another one if it is a query that changes nothing.
"""

from conf.names import ClusterName
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import Known
from proxy.errors import ClusterLost, SessionGone
from proxy.statement.events import Routed
from proxy.statement.steps import Step
from router.decision import Decision, RunIn
from router.needs import only_selects

ATTEMPTS = 3  # to run a statement after one decision
DECISIONS = 3  # for one statement, when tables change between decision and analysis
_CALLS = frozenset({COMPUTED, "java_method", "reflect", "try_reflect"})


def did_not_start(step: Step, error: ClusterLost) -> bool:
    """Whether the statement certainly did not start, so that another session may run it."""
    before = step in (Step.ENTERING, Step.MARKING)
    return before or (step is Step.SENDING and isinstance(error, SessionGone))


def may_run_twice(routed: Routed) -> bool:
    """Whether it is a query that changes nothing, wherever it runs and how often.

    Functions written by users may have effects, but Spark itself runs each task again that fails.
    Scripts, and calls of any Java method, are not run twice by us.
    """
    statement = routed.statement
    return (
        isinstance(statement, Known)
        and only_selects(statement)
        and not statement.code
        and not statement.functions & _CALLS
        and not routed.changes
    )


def runs_elsewhere(decision: Decision, lost: ClusterName) -> bool:
    """Whether the decision is for another cluster than the one that was lost."""
    return isinstance(decision, RunIn) and decision.cluster != lost
