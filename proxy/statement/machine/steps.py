"""The steps of a statement: each with the events that it takes, and the steps that may follow.

A step is the call that the machine waits for: in ROUTING it waits for the answer to `Route`. Most
statements take READING, ANALYSING, ROUTING, ENTERING, SENDING and RUNNING; a write takes QUEUEING
and MARKING, too.

1. READING finds out whether the text is a command of Causeway's own. USE CLUSTER and its neighbours
   are answered from the session, others in LISTING and COPYING. ANALYSING finds out what any other
   statement reads and writes. SET of Causeway's own settings is answered, and USE, after CHECKING
   that the database exists: they change the session alone.
2. ROUTING decides the cluster. RECALLING answers a question about the catalog from memory, if the
   answer is certainly the one that this cluster would give. Before a statement that is not
   understood is refused, PARSING has Spark look at it: its own error says more. A query that no
   cluster can run may have what is missing copied in FETCHING, once, if its session asks for that;
   then it is routed again. A write waits for
   its turn in QUEUEING while earlier statements write its table, and is routed again then: its
   tables have changed.
3. ENTERING begins an attempt: it opens the session in the cluster and repeats there what the user's
   session did elsewhere. MARKING writes into the metastore that a write runs, before the cluster
   gets it. SENDING sends the statement with its claim. RUNNING waits for its end. ZONING reads the
   time zone that a SET left to the server.
   Where the server has no thread for it, WAITING waits for one, and it is routed again.
4. After its end the mark goes, if the write certainly ended, and the session's journal gets the
   effect, if it certainly happened. CLAIMING makes the cluster the primary of new tables. Then the
   client gets the outcome, and operators its record.
5. After that, LEARNING asks a cluster that was lost how a write ended; LINGERING waits for the last
   step of a cancelled write: a cluster says that a statement is cancelled while the thread that ran
   it may still write. Where it is not known how a write ended, its mark stays, and copies of the
   table stay unread, until `running_writes` finds out. OVER: nothing is left to do.

An attempt is repeated when the cluster certainly did not start the statement: the connection was
lost before it was sent, or the cluster had closed the session. The statement is routed again when
the cluster opens no session, since another one may run it, and when the guard finds that a table
changed after the decision (CW363): nothing has run then. Once it is routed by all partitions of
its tables: when Spark reads one that the analysis left out (CW362). A query whose cluster is lost
while it runs is routed once more, to another cluster that has all its inputs: its client has no
row of it.

A client that stops a statement gets its reply at once, at any step. The statement goes on to the
next point where it can end with its mark and its session in a known state.
"""

from collections.abc import Sequence
from enum import IntEnum, auto

from proxy.statement.machine import commands as cmd
from proxy.statement.machine import events as ev
from proxy.statement.machine.commands import Command
from proxy.statement.machine.events import Event


class Step(IntEnum):
    """Where a statement is on its way; the module's docstring says what each step is."""

    NEW = auto()
    READING = auto()
    LISTING = auto()
    COPYING = auto()
    ANALYSING = auto()
    CHECKING = auto()
    ROUTING = auto()
    RECALLING = auto()
    PARSING = auto()
    FETCHING = auto()
    QUEUEING = auto()
    ENTERING = auto()
    MARKING = auto()
    SENDING = auto()
    WAITING = auto()
    RUNNING = auto()
    ZONING = auto()
    CLAIMING = auto()
    LEARNING = auto()
    LINGERING = auto()
    OVER = auto()


STEP_OF_CALL: dict[type[Command], Step] = {
    cmd.ReadCommand: Step.READING,
    cmd.ListStatements: Step.LISTING,
    cmd.ListCopies: Step.LISTING,
    cmd.Explain: Step.LISTING,
    cmd.Copy: Step.COPYING,
    cmd.Analyse: Step.ANALYSING,
    cmd.CheckDatabase: Step.CHECKING,
    cmd.Route: Step.ROUTING,
    cmd.Recall: Step.RECALLING,
    cmd.CheckSyntax: Step.PARSING,
    cmd.FetchMissing: Step.FETCHING,
    cmd.AwaitTurn: Step.QUEUEING,
    cmd.EnterCluster: Step.ENTERING,
    cmd.OpenWrite: Step.MARKING,
    cmd.Execute: Step.SENDING,
    cmd.AwaitThread: Step.WAITING,
    cmd.WaitForEnd: Step.RUNNING,
    cmd.ReadZone: Step.ZONING,
    cmd.ClaimTables: Step.CLAIMING,
    cmd.LearnOutcome: Step.LEARNING,
    cmd.Linger: Step.LINGERING,
}
"""The step in which a call is carried out."""

_OVER = frozenset({Step.OVER})
_ATTEMPT = _OVER | {Step.ENTERING}  # another attempt, or none

TRANSITIONS: dict[Step, dict[type[Event], frozenset[Step]]] = {
    Step.NEW: {ev.Started: _ATTEMPT | {Step.READING}},
    Step.READING: {
        ev.CommandRead: _OVER | {Step.LISTING, Step.COPYING, Step.ANALYSING},
        ev.Failed: _OVER,
    },
    Step.LISTING: {ev.Listed: _OVER, ev.Failed: _OVER},
    Step.COPYING: {ev.Copied: _OVER, ev.Failed: _OVER},
    Step.ANALYSING: {ev.Analysed: _OVER | {Step.CHECKING, Step.ROUTING}, ev.Failed: _OVER},
    Step.CHECKING: {ev.DatabaseChecked: _OVER, ev.Failed: _OVER},
    Step.ROUTING: {
        ev.Routed: _ATTEMPT | {Step.RECALLING, Step.PARSING, Step.FETCHING, Step.QUEUEING},
        ev.Failed: _OVER,
    },
    Step.RECALLING: {ev.Recalled: _ATTEMPT, ev.Failed: _ATTEMPT},
    Step.QUEUEING: {ev.TurnCame: _ATTEMPT | {Step.ROUTING}, ev.Failed: _OVER},
    Step.PARSING: {ev.SyntaxChecked: _OVER, ev.Failed: _OVER},
    Step.FETCHING: {ev.Fetched: _OVER | {Step.ROUTING}, ev.Failed: _OVER},
    Step.ENTERING: {
        ev.Entered: _OVER | {Step.MARKING, Step.SENDING},
        ev.Failed: _ATTEMPT | {Step.ROUTING},
    },
    Step.MARKING: {ev.WriteOpened: _OVER | {Step.SENDING}, ev.Failed: _ATTEMPT},
    Step.SENDING: {
        ev.Accepted: frozenset({Step.RUNNING}),
        ev.Ended: _OVER,
        ev.Failed: _ATTEMPT | {Step.SENDING, Step.WAITING, Step.ROUTING},
    },
    Step.WAITING: {ev.ThreadFreed: _ATTEMPT | {Step.ROUTING}, ev.Failed: _OVER},
    Step.RUNNING: {
        ev.Ended: _OVER | {Step.ZONING, Step.ROUTING, Step.CLAIMING, Step.LINGERING},
        ev.Failed: _OVER | {Step.LEARNING, Step.ROUTING},
    },
    Step.ZONING: {ev.ZoneRead: _OVER, ev.Failed: _OVER},
    Step.CLAIMING: {ev.TablesClaimed: _OVER, ev.Failed: _OVER},
    Step.LEARNING: {ev.OutcomeLearned: frozenset({Step.LINGERING, Step.OVER}), ev.Failed: _OVER},
    Step.LINGERING: {ev.Lingered: _OVER, ev.Failed: _OVER},
    Step.OVER: {},
}
"""What may follow what. `Stopped` and `Interrupted` come at any step: the first one changes no
step, the second one leads to OVER."""


def step_after(commands: Sequence[Command]) -> Step:
    """The step that these commands lead to: that of the call, which is last; OVER without one."""
    return STEP_OF_CALL.get(type(commands[-1]), Step.OVER) if commands else Step.OVER
