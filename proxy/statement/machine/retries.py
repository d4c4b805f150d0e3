"""When a statement is tried again. After its cluster was lost: in the same cluster if it certainly
did not start there, in another one if it is a query that changes nothing. After the guard refused
its claim: by newer facts, or by all partitions of its tables.
"""

from dataclasses import dataclass
from typing import TypeGuard

from conf.errors import CausewayError
from conf.names import ClusterName
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import Known
from proxy.errors import ClusterDown, ClusterLost, Rejected, SessionGone
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
class Retries:
    """The decisions and attempts of one statement, and the failures that were passed over.

    `is_routed`: its cluster is decided. `can_move`: the settings let a read run again elsewhere.
    `lost` is the cluster that was lost while it ran the statement, `down` the last one that opened
    no session for it, each with the client's error for that. `attempts` counts those after the last
    decision. `whole`: it is decided as if it read all partitions of its tables.
    """

    is_routed: bool = True
    can_move: bool = True
    lost: tuple[ClusterName, CausewayError | Rejected] | None = None
    down: tuple[ClusterName, ClusterDown] | None = None
    decisions: int = 0
    attempts: int = 0
    whole: bool = False

    def decided(self, decision: Decision) -> None:
        """Counts the decision. Raises the client's error if it leads back to a failed cluster."""
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
        """Whether the statement may be decided again."""
        return self.decisions < _DECISIONS

    def opened_none(self, cluster: ClusterName, error: Exception) -> bool:
        """Whether the statement may be decided again, since this cluster, which counts as down now,
        opened no session."""
        if not isinstance(error, ClusterDown):
            return False
        self.down = cluster, error
        return self.is_routed and self.may_decide

    def after_refusal(self, attempt: Attempt, status: Status) -> list[Command] | None:
        """What to forget before a statement is decided again that the guard refused; None if it is
        not decided again."""
        if not attempt.checked or not self.may_decide or _may_have_written(attempt):
            return None
        if is_outdated(status):
            tables = tuple(attempt.routed.versions)
            return [cmd.ForgetFacts(tables), cmd.ForgetFiles(tables)]
        if reads_more(status) and not self.whole:
            self.whole = True
            return []
        return None

    def waits_for_thread(self, error: Exception) -> TypeGuard[Rejected]:
        """Whether the statement is sent again, since the server had no thread for it: it did not
        start. What is decided after that is not one decision more."""
        waits = isinstance(error, Rejected) and is_server_busy(error.failure)
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
    """Whether a part of the refused statement may have run before and changed a table."""
    return attempt.is_script and bool(attempt.writes)


def _did_not_start(step: Step, error: ClusterLost) -> bool:
    """Whether the statement certainly did not start, so that another session may run it."""
    before = step in (Step.ENTERING, Step.MARKING)
    return before or (step is Step.SENDING and isinstance(error, SessionGone))


def _may_run_twice(routed: Routed) -> bool:
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
