"""What happens to one statement: the events that `StatementMachine.receive` takes.

Most of them answer one command (`commands`). `Started`, `Stopped` and `Interrupted` come by
themselves.
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
from proxy.errors import Failure, Rejected
from proxy.protocol.replies import Status
from proxy.protocol.results import ResultTable
from router.access.restrictions import UNRESTRICTED, Restrictions
from router.claim import Changes
from router.costs import Costs
from router.decision import Decision, RunIn
from router.request import Facts


class WriteToken(Protocol):
    """A write that is marked as running in the metastore; `id` is that of its mark."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Started:
    """A client sent the statement."""


@dataclass(frozen=True, slots=True)
class CommandRead:
    """The text is this command of Causeway's own; None for any other statement."""

    command: ClusterCommand | None


@dataclass(frozen=True, slots=True)
class Analysed:
    statement: Known | Unknown


@dataclass(frozen=True, slots=True)
class DatabaseChecked:
    exists: bool


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy was made, or cancelled; `summary` is one line for the client."""

    summary: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """The copies that the query needs were made, or nobody waits for them any more."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The answer to a command of Causeway's own that reads the metastore or the history."""

    table: ResultTable


@dataclass(frozen=True, slots=True)
class Routed:
    """What the statement is, where it runs, and the facts that this was decided from.

    `versions` has a value for each table read, which changes with anything that changes the table's
    files anywhere. `coverage` is the setting by which the decision was made. `in_turn` are the
    tables that it may write only while no other statement does; `changes` those of which it reads
    only changed rows, `restricted` those of which its user may see a part. `costs` are there for a
    query whose cluster may be chosen by cost.
    """

    statement: Known | Unknown
    decision: Decision
    facts: Facts
    versions: Mapping[TableRef, object]
    coverage: Coverage = Coverage.READ
    in_turn: frozenset[TableRef] = frozenset()
    changes: Changes = field(default_factory=dict)
    costs: Costs | None = None
    restricted: Restrictions = UNRESTRICTED

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
    """No other statement writes the tables until this one leaves the queue. `waited`: others wrote
    them after the decision."""

    waited: bool


@dataclass(frozen=True, slots=True)
class ThreadFreed:
    """Another statement has ended in the Thrift Server, or some time has passed."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The statement's result from memory; None when the cluster has to be asked."""

    table: ResultTable | None


@dataclass(frozen=True, slots=True)
class SyntaxChecked:
    """Spark's own error; None when Spark has nothing against the statement, or was not asked."""

    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Entered:
    """The session in the cluster is open and has all changes of the user's session.

    `checked`: a guard checks claims there. `lacks`: the statement drops an object that could not be
    made there.
    """

    checked: bool
    lacks: bool = False


@dataclass(frozen=True, slots=True)
class WriteOpened:
    """`targets` are marked as being written. Without targets there is no mark and no `token`."""

    targets: Sequence[TableRef | PartitionRef]
    token: WriteToken | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The cluster has the statement and runs it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The statement ended in the cluster."""

    status: Status


@dataclass(frozen=True, slots=True)
class ZoneRead:
    """The time zone of the session in the cluster; None when the cluster does not say it."""

    zone: str | None


@dataclass(frozen=True, slots=True)
class TablesClaimed:
    """The cluster is the primary of the new tables."""


@dataclass(frozen=True, slots=True)
class OutcomeLearned:
    """`ended`: the statement certainly ended; otherwise its cluster did not answer for minutes."""

    ended: bool


@dataclass(frozen=True, slots=True)
class Lingered:
    """The time is over in which a cancelled statement may still finish its last step."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The last call failed: Rejected is the error of a cluster, or of the statement."""

    error: CausewayError | Rejected


@dataclass(frozen=True, slots=True)
class Stopped:
    """The client, the end of its session, a limit or an operator stopped the statement. The client
    has its state."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The server ends: no call can be carried out any more."""


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
    | WriteOpened
    | Accepted
    | Ended
    | ZoneRead
    | TablesClaimed
    | OutcomeLearned
    | Lingered
    | Failed
    | Stopped
    | Interrupted
)
