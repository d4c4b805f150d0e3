"""What `StatementMachine.receive` asks for, and `StatementRunner` carries out.

A call is answered by one event: the one after the arrow, or `Failed`. An effect is not answered and
does not fail. A list of commands has at most one call, at its end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conf.names import ClusterName, TableRef
from dialect.catalog_commands import CatalogCommand
from dialect.grammar.cluster_statements import CopyTable, ExplainCluster, ShowCopies
from dialect.statement import ChangeFunction, Known, SessionEffect, Unknown, Write
from proxy.errors import Failure, Rejected
from proxy.protocol.results import ResultTable
from proxy.protocol.types import OperationState
from proxy.statement.machine.events import WriteToken
from router.cures import CopyNeeded

# Calls


@dataclass(frozen=True, slots=True)
class ReadCommand:
    """Read whether the text is a command of Causeway's own. -> CommandRead"""

    sql: str


@dataclass(frozen=True, slots=True)
class Analyse:
    """Analyse the statement, loading tables from the metastore. -> Analysed"""


@dataclass(frozen=True, slots=True)
class CheckDatabase:
    """Look the database up in the metastore. -> DatabaseChecked"""

    name: str


@dataclass(frozen=True, slots=True)
class Copy:
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
    """Load the facts and decide where the statement runs. `statement` is None where it has to be
    analysed again, since its tables changed. `lost` is the cluster that was lost while it ran the
    statement. `whole`: as if it read all partitions of its tables. -> Routed"""

    statement: Known | Unknown | None
    lost: ClusterName | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class AwaitTurn:
    """Wait until no earlier statement writes these tables; until its end the statement keeps its
    place in the queue. -> TurnCame"""

    tables: frozenset[TableRef]


@dataclass(frozen=True, slots=True)
class AwaitThread:
    """Wait until the Thrift Server that refused the statement may have a thread for it; until the
    cluster accepts it the statement keeps its place. -> ThreadFreed"""

    refused: Rejected


@dataclass(frozen=True, slots=True)
class Recall:
    """Answer the statement from memory, as the cluster would. -> Recalled"""

    command: CatalogCommand
    cluster: ClusterName


@dataclass(frozen=True, slots=True)
class CheckSyntax:
    """Ask Spark what is wrong with a statement that was not understood. -> SyntaxChecked"""

    statement: Unknown


@dataclass(frozen=True, slots=True)
class EnterCluster:
    """Open the session in the cluster, repeat there what the user's session did elsewhere, and
    refresh tables that have other `versions` than when it read them. -> Entered"""

    cluster: ClusterName
    statement: Known | Unknown
    versions: Mapping[TableRef, object]


@dataclass(frozen=True, slots=True)
class OpenWrite:
    """Mark the writes as running in the metastore. -> WriteOpened"""

    writes: Sequence[Write]


@dataclass(frozen=True, slots=True)
class Execute:
    """Send the statement with this claim in its overlay. -> Accepted; `at_once`: -> Ended"""

    claim: Mapping[str, str] = field(default_factory=dict)
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class WaitForEnd:
    """Poll until the statement ends in the cluster. -> Ended"""


@dataclass(frozen=True, slots=True)
class ReadZone:
    """Read which time zone the session in the cluster has now. -> ZoneRead"""


@dataclass(frozen=True, slots=True)
class ClaimTables:
    """Give the new tables their cluster as primary. -> TablesClaimed"""

    tables: Sequence[TableRef]
    cluster: ClusterName


@dataclass(frozen=True, slots=True)
class LearnOutcome:
    """Ask the lost cluster, for minutes, whether the write ended. -> OutcomeLearned"""

    token: WriteToken


@dataclass(frozen=True, slots=True)
class Linger:
    """Wait for the last step of a cancelled write. -> Lingered"""


# Effects


@dataclass(frozen=True, slots=True)
class Answer:
    """The statement's result is this table, made by the proxy."""

    table: ResultTable


@dataclass(frozen=True, slots=True)
class Become:
    """The client sees this state from now on, unless it stopped the statement."""

    state: OperationState
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class LeaveQueue:
    """Give up the place in the queue, which ends the wait."""


@dataclass(frozen=True, slots=True)
class CancelCopies:
    """End the copies that the statement waits for, unless others wait for them, too."""


@dataclass(frozen=True, slots=True)
class CancelInCluster:
    """Cancel the statement in its cluster."""


@dataclass(frozen=True, slots=True)
class CloseWrite:
    """Remove the mark of a write that ended."""

    token: WriteToken


@dataclass(frozen=True, slots=True)
class KeepMark:
    """Log that the mark stays, and copies unread: it is not known whether the write ended."""

    token: WriteToken


@dataclass(frozen=True, slots=True)
class RecoverWrite:
    """Remove the mark when the write's session has certainly ended, however long that takes."""

    token: WriteToken


@dataclass(frozen=True, slots=True)
class Apply:
    """Write into the session's journal that the statement had `effect`: in `cluster`, or in the
    proxy alone for None. `number` is its place there; it used the temporary objects `used`.
    `immediate` is repeated elsewhere in the place of EXECUTE IMMEDIATE."""

    effect: SessionEffect
    number: int
    cluster: ClusterName | None
    used: Sequence[str] = ()
    immediate: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionChanged:
    """A permanent function may be another one now: sessions look it up again."""

    function: ChangeFunction


@dataclass(frozen=True, slots=True)
class DropSession:
    """Give up the session in the cluster: it is not known whether the statement changed it."""


@dataclass(frozen=True, slots=True)
class ForgetFacts:
    """Load the facts of these tables again before they are used."""

    tables: Sequence[TableRef]


@dataclass(frozen=True, slots=True)
class ForgetFiles:
    """Refresh these tables before the session in this cluster reads them again; with `elsewhere`,
    the sessions in all other clusters."""

    tables: Sequence[TableRef]
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class DiscardResult:
    """Close the operation in the cluster: the statement is run again."""


@dataclass(frozen=True, slots=True)
class KeepRequest:
    """Keep the client's request: the query may run again if its cluster is lost with the result."""


@dataclass(frozen=True, slots=True)
class AskSchema:
    """Ask the cluster for the schema of the result, before the client asks."""


@dataclass(frozen=True, slots=True)
class Report:
    """Count the outcome, write the audit log, and let go of the operation if it was closed."""


# Before a cluster is entered
Preparation = (
    ReadCommand
    | Analyse
    | CheckDatabase
    | Copy
    | FetchMissing
    | Explain
    | ListStatements
    | ListCopies
    | Route
    | Recall
    | CheckSyntax
)
# In the cluster of the decision, or in the queue before it
Execution = (
    AwaitTurn
    | AwaitThread
    | EnterCluster
    | OpenWrite
    | Execute
    | WaitForEnd
    | ReadZone
    | ClaimTables
    | LearnOutcome
    | Linger
)
Call = Preparation | Execution
Effect = (
    Answer
    | Become
    | LeaveQueue
    | CancelCopies
    | CancelInCluster
    | CloseWrite
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
    | Report
)
Command = Call | Effect
