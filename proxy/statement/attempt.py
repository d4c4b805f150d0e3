"""One try to run a statement in a cluster: what is known of it, and what follows for marks and the
session's journal when it ends."""

from dataclasses import dataclass, replace

from conf.names import ClusterName, TableRef
from dialect.statement import Action, ChangeFunction, Known, Unknown, Write
from proxy.protocol.replies import Status
from proxy.protocol.types import OperationState
from proxy.session.replay.objects import after_error
from proxy.statement import commands as cmd
from proxy.statement.commands import Command
from proxy.statement.events import WriteToken


@dataclass(slots=True)
class Attempt:
    """`number` is its place in the journal, `token` that of its write's mark. `checked`: a guard
    checks its claim. `accepted`: the cluster has the statement.
    """

    cluster: ClusterName
    statement: Known | Unknown
    checked: bool
    number: int
    claimed: bool = False
    token: WriteToken | None = None
    at_once: bool = False
    accepted: bool = False
    status: Status | None = None

    @property
    def writes(self) -> tuple[Write, ...]:
        statement = self.statement
        return statement.writes if isinstance(statement, Known) and not statement.explain else ()

    @property
    def created(self) -> tuple[TableRef, ...]:
        """The new tables."""
        made = (each for each in self.writes if not each.exists and each.action is not Action.VIEW)
        return tuple(each.table for each in made)

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
