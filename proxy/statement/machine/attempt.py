"""One try to run a statement in a cluster: its claim, and what follows for marks and the session's
journal when it ends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from conf.names import ClusterName, PartitionRef, TableRef
from dialect.statement import ChangeFunction, Known, ResetVariables, Unknown, Write, WriteAction
from proxy.errors import ClusterLost, Rejected, SessionGone
from proxy.protocol.replies import Status
from proxy.protocol.status import failure_of, is_metastore_lost, metastore_lost
from proxy.protocol.types import OperationState
from proxy.session.replay.objects import after_error
from proxy.session.settings.time_zone import with_zone
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.claims import claim_overlay
from proxy.statement.machine.commands import Command
from proxy.statement.machine.events import Routed, WriteToken


@dataclass(slots=True)
class Attempt:
    """`number` is its place in the journal, `token` that of its write's mark. `checked`: a guard
    checks its claim. `at_once`: it is sent synchronously. `accepted`: the cluster has it.
    Of a write, `is_lost`: its end may still be learnt; `lingers`: it was cancelled, and its last
    step may still run.
    """

    routed: Routed
    cluster: ClusterName
    checked: bool
    number: int
    token: WriteToken | None = None
    at_once: bool = False
    accepted: bool = False
    is_lost: bool = False
    lingers: bool = False
    status: Status | None = None

    @property
    def statement(self) -> Known | Unknown:
        return self.routed.statement

    @property
    def is_constant(self) -> bool:
        """Whether it is a SELECT of literals, which ends at once."""
        statement = self.statement
        return isinstance(statement, Known) and statement.constant and not statement.explain

    @property
    def writes(self) -> tuple[Write, ...]:
        statement = self.statement
        return statement.writes if isinstance(statement, Known) and not statement.explain else ()

    @property
    def created(self) -> tuple[TableRef, ...]:
        """The new tables. A script may have dropped one and made another of its name."""
        again = (WriteAction.CREATE, WriteAction.DROP) if self.is_script else ()
        made = (
            each.table
            for each in self.writes
            if each.action is not WriteAction.VIEW and (not each.exists or each.action in again)
        )
        return tuple(dict.fromkeys(made))

    @property
    def is_script(self) -> bool:
        return isinstance(self.statement, Known) and self.statement.is_script

    def claim(self, targets: Iterable[TableRef | PartitionRef]) -> Mapping[str, str]:
        """Settings for the guard, in the statement's overlay; `targets` have marks of writes."""
        if not self.checked:
            return {}
        return claim_overlay(self.routed, self.cluster, targets, self.token)

    @property
    def write(self) -> WriteToken:
        """The running write; there is one when the attempt is lost or lingers."""
        assert self.token is not None
        return self.token

    def left(self) -> list[Command]:
        """The call that is left to see to its write when the client has its answer."""
        if self.is_lost:
            return [cmd.LearnOutcome(self.write)]
        return [cmd.Linger()] if self.lingers else []

    def close_mark(self, status: Status) -> list[Command]:
        """The command to remove its write's mark, if it certainly ended."""
        if self.token is None:
            return []
        self.lingers = status.state not in (OperationState.FINISHED, OperationState.ERROR)
        return [] if self.lingers else [cmd.CloseWrite(self.token)]

    def cut_off(self, error: Exception | None) -> list[Command]:
        """The commands when it has no known end: it did not begin if `error` is the cluster's
        refusal, or if its session was gone."""
        marks: list[Command] = []
        if self.token is not None:
            refused = isinstance(error, Rejected | SessionGone)
            marks = [cmd.CloseWrite(self.token) if refused else cmd.KeepMark(self.token)]
            self.is_lost = self.accepted
            if error is not None and not refused:  # it may have been sent
                marks.append(cmd.RecoverWrite(self.token))
        end = Status(OperationState.ERROR, error.failure) if isinstance(error, Rejected) else None
        return marks + self.effects(self.statement, end)

    def explained(self, status: Status) -> Status:
        """The status, with an error of ours where Spark's says nothing that a user understands."""
        failure = status.failure
        if failure is None or not is_metastore_lost(failure):
            return status
        return replace(status, failure=failure_of(metastore_lost(self.cluster, failure)))

    def with_zone(self, zone: str | None) -> Known:
        """The statement, a SET or RESET, with the time zone that the server has afterwards. A RESET
        stays as it is where the server does not say its zone; for a SET ClusterLost is raised."""
        statement = self.statement
        assert isinstance(statement, Known)
        if zone is not None:
            return replace(statement, effect=with_zone(statement.effect, zone))
        if isinstance(statement.changes, ResetVariables):
            return statement
        raise ClusterLost(f"Cluster {self.cluster} does not say which time zone it has set.")

    def effects(self, statement: Known | Unknown, end: Status | None) -> list[Command]:
        """The commands for what the statement changed in metastore and session when it ended with
        `end`, which is None if its end is not known."""
        effects: list[Command] = []
        if self.writes:
            effects.append(cmd.ForgetFacts(tuple(each.table for each in self.writes)))
        if not isinstance(statement, Known):
            return effects
        if statement.kind == "refresh":
            tables = tuple(read.table for read in statement.reads)
            effects.append(cmd.ForgetFiles(tables, elsewhere=True))
        changes = statement.changes
        if isinstance(changes, ChangeFunction):
            effects.append(cmd.FunctionChanged(changes))
        if changes is None:
            return effects
        if end is not None and end.state is OperationState.FINISHED:
            return effects + self.apply(statement)
        if end is None or end.state is not OperationState.ERROR:
            return [*effects, cmd.DropSession()]  # it may or may not have happened there
        if (failed := after_error(changes, end.failure)) is not None:
            return effects + self.apply(replace(statement, effect=failed))
        return effects

    def apply(self, statement: Known | Unknown) -> list[Command]:
        if not isinstance(statement, Known) or statement.changes is None:
            return []
        changes, number = statement.changes, self.number
        return [cmd.Apply(changes, number, self.cluster, statement.temps, statement.immediate)]
