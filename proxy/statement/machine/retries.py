"""The rules by which a statement is tried again.

After its cluster was lost: in the same cluster if it certainly did not start there, in another one
if it is a query that changes nothing. After the guard refused its claim: routed by newer facts, or
by all partitions of its tables.
"""

from dataclasses import dataclass
from typing import TypeGuard

from conf.errors import CausewayError
from conf.names import ClusterName
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import Known
from proxy.errors import ClusterDown, ClusterLost, SessionGone, ThriftServerError
from proxy.protocol.replies import Status
from proxy.protocol.status import is_server_busy
from proxy.session.session import SessionState
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.attempt import Attempt
from proxy.statement.machine.claims import is_outdated, reads_more
from proxy.statement.machine.commands import Command
from proxy.statement.machine.events import Routed
from proxy.statement.machine.steps import Step
from router.decision import Decision, RunIn
from router.needs import only_selects

_ATTEMPTS = 3  # to run a statement after one decision
_DECISIONS = 3  # for one statement, when tables change between decision and analysis
_CALLS = frozenset({COMPUTED, "java_method", "reflect", "try_reflect"})


@dataclass(slots=True)
class StatementRetries:
    """Counts the decisions and attempts of one statement, and keeps its failures.

    `is_routed`: the router chooses its cluster (False: no cluster is configured). `can_move`: the
    settings let a read run again in another cluster. `lost` is the cluster that was lost while it
    ran the statement, `down` the last one that opened no session for it, each with the error for
    the client. `attempts` counts those since the last decision. `whole`: the statement is routed as
    if it read all partitions of its tables.
    """

    is_routed: bool = True
    can_move: bool = True
    lost: tuple[ClusterName, CausewayError | ThriftServerError] | None = None
    down: tuple[ClusterName, ClusterDown] | None = None
    decisions: int = 0
    attempts: int = 0
    whole: bool = False

    def decided(self, decision: Decision) -> None:
        """Counts the decision. Raises the error for the client if it leads to a failed cluster."""
        self.decisions += 1
        self.attempts = 0
        cluster = decision.cluster if isinstance(decision, RunIn) else None
        if self.lost is not None and cluster in (None, self.lost[0]):
            raise self.lost[1]
        if self.down is not None and cluster == self.down[0]:
            raise self.down[1]

    @property
    def lost_cluster(self) -> ClusterName | None:
        return None if self.lost is None else self.lost[0]

    @property
    def may_decide(self) -> bool:
        """Whether the statement may be routed again."""
        return self.decisions < _DECISIONS

    def opened_none(self, cluster: ClusterName, error: Exception) -> bool:
        """Whether the statement may be routed again after this cluster failed to open a session:
        only if the cluster is down."""
        if not isinstance(error, ClusterDown):
            return False
        self.down = cluster, error
        return self.is_routed and self.may_decide

    def after_refusal(self, attempt: Attempt, status: Status) -> list[Command] | None:
        """The commands before a statement that the guard refused is routed again: they forget the
        facts that changed. None: it is not routed again."""
        if not attempt.checked or not self.may_decide or _may_have_written(attempt):
            return None
        if is_outdated(status):
            tables = tuple(attempt.routed.versions)
            return [cmd.ForgetFacts(tables), cmd.ForgetFiles(tables)]
        if reads_more(status) and not self.whole:
            self.whole = True
            return []
        return None

    def waits_for_thread(self, error: Exception) -> TypeGuard[ThriftServerError]:
        """Whether the server refused the statement because it has no thread: nothing has run, and
        it is sent again later. The count of decisions starts at zero then."""
        waits = isinstance(error, ThriftServerError) and is_server_busy(error.failure)
        if waits:
            self.decisions = 0
        return waits

    def may_repeat(self, step: Step, error: Exception) -> bool:
        """Whether another attempt in the same cluster may follow this failure."""
        if not isinstance(error, ClusterLost) or not self.is_routed or self.attempts >= _ATTEMPTS:
            return False
        return _did_not_start(step, error)

    def may_move(self, routed: Routed, session: SessionState) -> bool:
        """Whether another cluster may run the statement, since the one that ran it was lost."""
        return self.may_decide and self.is_movable(routed, session)

    def is_movable(self, routed: Routed, session: SessionState) -> bool:
        """Whether the statement may run once more in another cluster, if its cluster is lost."""
        if not self.can_move or not self.is_routed or self.lost is not None:
            return False
        return session.pinned is None and _may_run_twice(routed)


def _may_have_written(attempt: Attempt) -> bool:
    """Whether a part of a script ran before the refusal and may have changed a table."""
    return attempt.is_script and bool(attempt.writes)


def _did_not_start(step: Step, error: ClusterLost) -> bool:
    """Whether the statement certainly did not start, so that another session may run it."""
    before = step in (Step.ENTERING, Step.MARKING)
    return before or (step is Step.SENDING and isinstance(error, SessionGone))


def _may_run_twice(routed: Routed) -> bool:
    """Whether the statement is a query that changes nothing, so that it may run twice.

    Functions written by users may have effects, but Spark itself repeats a failed task. Scripts,
    and queries that may call any Java method, are not run twice.
    """
    statement = routed.statement
    return (
        isinstance(statement, Known)
        and only_selects(statement)
        and not statement.code
        and not statement.functions & _CALLS
        and not routed.changes
    )
