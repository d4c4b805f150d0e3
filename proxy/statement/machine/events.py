"""The events of one statement, which `StatementMachine.receive` takes.

Each event is the result of one call (`commands`), except `Started`, `Stopped` and `TaskCancelled`,
which come from outside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from conf.errors import CausewayError
from conf.names import ClusterName, PartitionRef, TableRef
from conf.settings.settings import Coverage
from dialect.catalog_commands import CatalogCommand
from dialect.grammar.cluster_statements import ClusterCommand
from dialect.statement import Known, Unknown
from proxy.errors import Failure, ThriftServerError
from proxy.protocol.replies import Status
from proxy.protocol.results import ResultTable
from router.access.restrictions import UNRESTRICTED, UserRestrictions
from router.claim import Changes
from router.costs import Costs
from router.decision import Decision, RunIn
from router.request import Facts


class MarkedWrite(Protocol):
    """A write with a mark in the metastore; `id` is the mark's. The machine needs no more of it
    (`metastore.placement.write_marks.WriteToken`)."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Started:
    """A client sent the statement."""


@dataclass(frozen=True, slots=True)
class CommandRead:
    """The text was parsed as this command of Causeway's own; None: it is another statement."""

    command: ClusterCommand | None


@dataclass(frozen=True, slots=True)
class Analysed:
    """The statement was analysed: what it reads, writes and changes, or why that is not known."""

    statement: Known | Unknown


@dataclass(frozen=True, slots=True)
class DatabaseChecked:
    """The database of a USE was looked up in the metastore."""

    exists: bool


@dataclass(frozen=True, slots=True)
class Copied:
    """A COPY ended, or was cancelled; `summary` is its result, one line for the client."""

    summary: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """The copies that the query needs were made, or the query was stopped while it waited."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The result of a command of Causeway's own that reads the metastore or the history."""

    table: ResultTable


@dataclass(frozen=True, slots=True)
class Routed:
    """The statement's analysis, the decision, and the facts that it was made from.

    - `versions`: for each table read a value that changes whenever its files change in any cluster;
    - `coverage`: the setting by which the decision was made;
    - `in_turn`: the tables that it may write only while no other statement does;
    - `changes`: the tables of which it reads only changed rows;
    - `restricted`: the tables of which its user may see a part;
    - `costs`: what a query would take in each cluster; None: the cost does not decide.
    """

    statement: Known | Unknown
    decision: Decision
    facts: Facts
    versions: Mapping[TableRef, object]
    coverage: Coverage = Coverage.READ
    in_turn: frozenset[TableRef] = frozenset()
    changes: Changes = field(default_factory=dict)
    costs: Costs | None = None
    restricted: UserRestrictions = UNRESTRICTED

    @property
    def cluster(self) -> ClusterName:
        """The cluster of a decision to run the statement."""
        assert isinstance(self.decision, RunIn)
        return self.decision.cluster

    @property
    def catalog(self) -> CatalogCommand | None:
        """The statement, if it may be answered from memory; None for any other statement."""
        statement = self.statement
        return statement.catalog if isinstance(statement, Known) and not statement.explain else None


@dataclass(frozen=True, slots=True)
class TurnCame:
    """No other statement writes the tables until this one leaves the queue. `waited`: it had to
    wait for earlier writes, so the tables have changed since the decision."""

    waited: bool


@dataclass(frozen=True, slots=True)
class ThreadFreed:
    """The Thrift Server may have a thread: another statement has ended there, or a second has
    passed without an end."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The statement's result from memory; None: the cluster has to run it."""

    table: ResultTable | None


@dataclass(frozen=True, slots=True)
class SyntaxChecked:
    """Spark's error for the statement; None: it accepts the text, or could not be reached."""

    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Entered:
    """The session in the cluster is open and has all changes of the user's session.

    `checked`: a guard checks claims there. `lacks`: the statement drops a temporary object that
    could not be made there, so there is nothing to run.
    """

    checked: bool
    lacks: bool = False


@dataclass(frozen=True, slots=True)
class WriteMarked:
    """`targets` have the mark of the running write `token`. Without targets there is no mark, and
    `token` is None."""

    targets: Sequence[TableRef | PartitionRef]
    token: MarkedWrite | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The cluster has accepted the statement and runs it."""


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    """The statement ended in the cluster."""

    status: Status


@dataclass(frozen=True, slots=True)
class ZoneRead:
    """The time zone of the session in the cluster; None: the cluster does not return one."""

    zone: str | None


@dataclass(frozen=True, slots=True)
class TablesClaimed:
    """The metastore has the cluster as primary of the new tables."""


@dataclass(frozen=True, slots=True)
class OutcomeLearned:
    """`ended`: the write certainly ended. Otherwise its cluster did not answer for minutes."""

    ended: bool


@dataclass(frozen=True, slots=True)
class Lingered:
    """The time has passed in which a cancelled write may still run its last step."""


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The last call failed. ThriftServerError is an error of the cluster or of the statement, any
    other error is Causeway's."""

    error: CausewayError | ThriftServerError


@dataclass(frozen=True, slots=True)
class Stopped:
    """The statement was stopped by its client, a limit, an operator or the end of its session. The
    operation has its final state: the client sees it already."""


@dataclass(frozen=True, slots=True)
class TaskCancelled:
    """The statement's task is cancelled, since the server ends: no call can be made any more."""


Event = (
    Started
    | CommandRead
    | Analysed
    | DatabaseChecked
    | Copied
    | Fetched
    | Listed
    | Routed
    | TurnCame
    | ThreadFreed
    | Recalled
    | SyntaxChecked
    | Entered
    | WriteMarked
    | Accepted
    | ExecutionEnded
    | ZoneRead
    | TablesClaimed
    | OutcomeLearned
    | Lingered
    | CallFailed
    | Stopped
    | TaskCancelled
)
