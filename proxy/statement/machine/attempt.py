"""One attempt to run a statement in a cluster: its claim, and the commands for its mark and for the
session's journal when it ends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from conf.names import ClusterName, PartitionRef, TableRef
from dialect.statement import ChangeFunction, Known, ResetVariables, Unknown, Write, WriteAction
from proxy.errors import ClusterLost, SessionGone, ThriftServerError
from proxy.protocol.replies import Status
from proxy.protocol.status import failure_of, is_metastore_lost, metastore_lost
from proxy.protocol.types import OperationState
from proxy.session.replay.objects import after_error
from proxy.session.settings.time_zone import with_zone
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.claims import claim_overlay
from proxy.statement.machine.commands import Command
from proxy.statement.machine.events import MarkedWrite, Routed


@dataclass(slots=True)
class Attempt:
    """An attempt, from ENTERING on.

    `checked`: a guard checks the claim. `number` is the place in the session's journal, `token` the
    marked write. `at_once`: the statement is sent synchronously. `accepted`: the cluster has it.
    `is_lost`: the cluster was lost while it ran a write, whose end may still be learnt. `lingers`:
    a write was cancelled, and its last step may still run. `status` is the end.
    """

    routed: Routed
    cluster: ClusterName
    checked: bool
    number: int
    token: MarkedWrite | None = None
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
        """Whether the statement is a SELECT of literals, which ends at once."""
        statement = self.statement
        return isinstance(statement, Known) and statement.constant and not statement.explain

    @property
    def writes(self) -> tuple[Write, ...]:
        statement = self.statement
        return statement.writes if isinstance(statement, Known) and not statement.explain else ()

    @property
    def created(self) -> tuple[TableRef, ...]:
        """The tables that the statement creates. A script may drop a table and create another one
        of the same name, so all that it creates or drops are among them."""
        recreating = (WriteAction.CREATE, WriteAction.DROP) if self.is_script else ()
        tables = (
            write.table
            for write in self.writes
            if write.action is not WriteAction.VIEW
            and (not write.exists or write.action in recreating)
        )
        return tuple(dict.fromkeys(tables))

    @property
    def is_script(self) -> bool:
        return isinstance(self.statement, Known) and self.statement.is_script

    def claim(self, targets: Iterable[TableRef | PartitionRef]) -> Mapping[str, str]:
        """The settings in the statement's overlay with the claim for the guard; {} if no guard
        checks it. `targets` have the write's mark."""
        if not self.checked:
            return {}
        return claim_overlay(self.routed, self.cluster, targets, self.token)

    @property
    def write(self) -> MarkedWrite:
        """The marked write; there is one if the attempt `is_lost` or `lingers`."""
        assert self.token is not None
        return self.token

    def left(self) -> list[Command]:
        """The call for a write without a known end, made after the client has its answer."""
        if self.is_lost:
            return [cmd.LearnOutcome(self.write)]
        return [cmd.Linger()] if self.lingers else []

    def close_mark(self, status: Status) -> list[Command]:
        """The command that removes the mark, if the status shows that the write certainly ended."""
        if self.token is None:
            return []
        self.lingers = status.state not in (OperationState.FINISHED, OperationState.ERROR)
        return [] if self.lingers else [cmd.RemoveMark(self.token)]

    def cut_off(self, error: Exception | None) -> list[Command]:
        """The commands for an attempt without a known end. `error` is that of the call that sent
        the statement: if the cluster refused it or had closed the session, nothing ran. None: the
        statement had been accepted, or its task is cancelled."""
        marks: list[Command] = []
        if self.token is not None:
            refused = isinstance(error, ThriftServerError | SessionGone)
            marks = [cmd.RemoveMark(self.token) if refused else cmd.KeepMark(self.token)]
            self.is_lost = self.accepted
            if error is not None and not refused:  # it may have been sent
                marks.append(cmd.RecoverWrite(self.token))
        end = (
            Status(OperationState.ERROR, error.failure)
            if isinstance(error, ThriftServerError)
            else None
        )
        return marks + self.effects(self.statement, end)

    def explained(self, status: Status) -> Status:
        """The status, in which an error of the cluster's metastore is replaced by Causeway's own
        error (`metastore_lost`), which a user can understand."""
        failure = status.failure
        if failure is None or not is_metastore_lost(failure):
            return status
        return replace(status, failure=failure_of(metastore_lost(self.cluster, failure)))

    def with_zone(self, zone: str | None) -> Known:
        """The SET or RESET with the time zone that the session has after it.

        `zone` is None if the server returned none: a RESET is unchanged then. Raises ClusterLost
        for a SET.
        """
        statement = self.statement
        assert isinstance(statement, Known)
        if zone is not None:
            return replace(statement, effect=with_zone(statement.effect, zone))
        if isinstance(statement.changes, ResetVariables):
            return statement
        raise ClusterLost(f"Cluster {self.cluster} does not say which time zone it has set.")

    def effects(self, statement: Known | Unknown, end: Status | None) -> list[Command]:
        """The commands for the statement's changes of the metastore and the session. `end` is its
        final status; None: not known."""
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
            return [*effects, cmd.DropSession()]  # the change may or may not have happened
        if (failed := after_error(changes, end.failure)) is not None:
            return effects + self.apply(replace(statement, effect=failed))
        return effects

    def apply(self, statement: Known | Unknown) -> list[Command]:
        """The command that adds the statement's effect to the journal, if it has one."""
        if not isinstance(statement, Known) or statement.changes is None:
            return []
        changes, number = statement.changes, self.number
        return [cmd.Apply(changes, number, self.cluster, statement.temps, statement.immediate)]
