"""The commands that `StatementMachine.receive` returns and `StatementRunner` carries out.

A call takes time and is answered by one event: the one after the arrow, or `CallFailed`. An effect
is not answered and does not fail. A list of commands has at most one call, at its end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conf.names import ClusterName, TableRef
from dialect.catalog_commands import CatalogCommand
from dialect.grammar.cluster_statements import CopyTable, ExplainCluster, ShowCopies
from dialect.statement import ChangeFunction, Known, SessionEffect, Unknown, Write
from proxy.errors import Failure, ThriftServerError
from proxy.protocol.results import ResultTable
from proxy.protocol.types import OperationState
from proxy.statement.machine.events import MarkedWrite
from router.needed_copies import CopyNeeded

# Calls


@dataclass(frozen=True, slots=True)
class ReadCommand:
    """Parse the text as a command of Causeway's own, such as USE CLUSTER. -> CommandRead"""

    sql: str


@dataclass(frozen=True, slots=True)
class Analyse:
    """Analyse the statement, loading tables from the metastore. -> Analysed"""


@dataclass(frozen=True, slots=True)
class CheckDatabase:
    """Look the database up in the metastore. -> DatabaseChecked"""

    name: str


@dataclass(frozen=True, slots=True)
class MakeCopy:
    """Make a secondary copy (DC-P1). -> Copied"""

    command: CopyTable


@dataclass(frozen=True, slots=True)
class FetchMissing:
    """Make the copies that a query needs to run. -> Fetched"""

    copies: tuple[CopyNeeded, ...]


@dataclass(frozen=True, slots=True)
class Explain:
    """Decide where another statement would run. -> Listed"""

    command: ExplainCluster


@dataclass(frozen=True, slots=True)
class ListStatements:
    """Read the user's own statements from the history, `limit` at most. -> Listed"""

    limit: int | None


@dataclass(frozen=True, slots=True)
class ListCopies:
    """List the copies of a table, or of a database's tables. -> Listed"""

    command: ShowCopies


@dataclass(frozen=True, slots=True)
class Route:
    """Load the facts and decide where the statement runs. -> Routed

    `statement` is its analysis; None: it is analysed again, since its tables changed. `lost` is the
    cluster that was lost while it ran the statement. With `whole` the statement is routed as if it
    read all partitions of its tables.
    """

    statement: Known | Unknown | None
    lost: ClusterName | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class AwaitTurn:
    """Wait until no earlier statement writes these tables. The statement keeps its place in the
    queue until it ends. -> TurnCame"""

    tables: frozenset[TableRef]


@dataclass(frozen=True, slots=True)
class AwaitThread:
    """Wait until the Thrift Server, which refused the statement with the error `refused`, may have
    a thread for it. The statement keeps its place in the queue until the server accepts it.
    -> ThreadFreed"""

    refused: ThriftServerError


@dataclass(frozen=True, slots=True)
class Recall:
    """Answer SHOW or DESCRIBE from memory, as the cluster would. -> Recalled"""

    command: CatalogCommand
    cluster: ClusterName


@dataclass(frozen=True, slots=True)
class CheckSyntax:
    """Have Spark parse a statement that the analysis did not understand. -> SyntaxChecked"""

    statement: Unknown


@dataclass(frozen=True, slots=True)
class EnterCluster:
    """Open the session in the cluster, repeat there what the user's session did elsewhere, and
    refresh tables that have other `versions` than when it read them. -> Entered"""

    cluster: ClusterName
    statement: Known | Unknown
    versions: Mapping[TableRef, object]


@dataclass(frozen=True, slots=True)
class MarkWrite:
    """Mark the writes as running in the metastore. -> WriteMarked"""

    writes: Sequence[Write]


@dataclass(frozen=True, slots=True)
class Execute:
    """Send the statement with this claim in its overlay. -> Accepted

    With `at_once` the call is synchronous. -> ExecutionEnded
    """

    claim: Mapping[str, str] = field(default_factory=dict)
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class WaitForEnd:
    """Poll the cluster until the statement ends there. -> ExecutionEnded"""


@dataclass(frozen=True, slots=True)
class ReadZone:
    """Read the time zone of the session in the cluster. -> ZoneRead"""


@dataclass(frozen=True, slots=True)
class ClaimTables:
    """Give the new tables their cluster as primary. -> TablesClaimed"""

    tables: Sequence[TableRef]
    cluster: ClusterName


@dataclass(frozen=True, slots=True)
class LearnOutcome:
    """Poll the lost cluster, for some minutes, until the write has ended. -> OutcomeLearned"""

    token: MarkedWrite


@dataclass(frozen=True, slots=True)
class Linger:
    """Wait for the last step of a cancelled write. -> Lingered"""


# Effects


@dataclass(frozen=True, slots=True)
class SetResult:
    """Make this table the statement's result."""

    table: ResultTable


@dataclass(frozen=True, slots=True)
class Become:
    """Show the client this state from now on, unless it stopped the statement."""

    state: OperationState
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class LeaveQueue:
    """Give up the place in the queue of writes or of threads. The wait for it ends."""


@dataclass(frozen=True, slots=True)
class CancelCopies:
    """End the copies that the statement waits for, unless other statements wait for them, too."""


@dataclass(frozen=True, slots=True)
class CancelInCluster:
    """Cancel the statement in its cluster."""


@dataclass(frozen=True, slots=True)
class RemoveMark:
    """Remove the mark of a write that ended."""

    token: MarkedWrite


@dataclass(frozen=True, slots=True)
class KeepMark:
    """Log that the mark stays, so that copies are not read: the write may not have ended."""

    token: MarkedWrite


@dataclass(frozen=True, slots=True)
class RecoverWrite:
    """Remove the mark later, once the write's session has certainly ended (`running_writes`)."""

    token: MarkedWrite


@dataclass(frozen=True, slots=True)
class Apply:
    """Add the statement's `effect` to the session's journal.

    `number` is its place in the journal. `cluster` is where it ran; None: in the proxy alone.
    `used` are the temporary objects that it used. `immediate` is the text of an EXECUTE IMMEDIATE,
    which other clusters run instead of the statement's own text.
    """

    effect: SessionEffect
    number: int
    cluster: ClusterName | None
    used: Sequence[str] = ()
    immediate: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionChanged:
    """Have all sessions look this permanent function up again: it may have been replaced."""

    function: ChangeFunction


@dataclass(frozen=True, slots=True)
class DropSession:
    """Drop the session in the cluster: the statement may or may not have changed it."""


@dataclass(frozen=True, slots=True)
class ForgetFacts:
    """Load the facts of these tables again before they are used."""

    tables: Sequence[TableRef]


@dataclass(frozen=True, slots=True)
class ForgetFiles:
    """Refresh these tables before the session in this cluster reads them again. With `elsewhere`:
    before the user's sessions in all other clusters do."""

    tables: Sequence[TableRef]
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class DiscardResult:
    """Close the operation in the cluster, because the statement is run again."""


@dataclass(frozen=True, slots=True)
class KeepRequest:
    """Keep the client's request: the query may run again if its cluster is lost with the result."""


@dataclass(frozen=True, slots=True)
class AskSchema:
    """Request the schema of the result from the cluster, before the client requests it."""


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """Report the outcome to metrics and the audit log. Close the operation in the cluster if the
    client has closed it."""


# Before a cluster is entered
Preparation = (
    ReadCommand
    | Analyse
    | CheckDatabase
    | MakeCopy
    | FetchMissing
    | Explain
    | ListStatements
    | ListCopies
    | Route
    | Recall
    | CheckSyntax
)
# In the cluster of the decision, or in a queue before it
Execution = (
    AwaitTurn
    | AwaitThread
    | EnterCluster
    | MarkWrite
    | Execute
    | WaitForEnd
    | ReadZone
    | ClaimTables
    | LearnOutcome
    | Linger
)
Call = Preparation | Execution
Effect = (
    SetResult
    | Become
    | LeaveQueue
    | CancelCopies
    | CancelInCluster
    | RemoveMark
    | KeepMark
    | RecoverWrite
    | Apply
    | FunctionChanged
    | DropSession
    | ForgetFacts
    | ForgetFiles
    | DiscardResult
    | KeepRequest
    | AskSchema
    | ReportOutcome
)
Command = Call | Effect
