"""The steps of a statement: the events that each one takes, and the steps that may follow it.

A step is the call that the machine waits for: in ROUTING it waits for the answer to `Route`. Most
statements take READING, ANALYSING, ROUTING, ENTERING, SENDING and RUNNING; a write takes QUEUEING
and MARKING, too.

1. READING parses the text as a command of Causeway's own. USE CLUSTER and others are answered from
   the session, SHOW COPIES and others in LISTING, COPY in COPYING. ANALYSING finds out what any
   other statement reads and writes. Two kinds change the session alone and are answered here: SET
   of Causeway's own settings, and USE, after CHECKING that the database exists.
2. ROUTING decides the cluster. RECALLING answers SHOW and DESCRIBE from memory, if the answer is
   certainly the one that this cluster would give. PARSING has Spark parse a statement that the
   analysis did not understand before it is refused: Spark's own error says more. A query that no
   cluster can run may have the missing data copied in FETCHING, once, if its session asks for that;
   then it is routed again. A write waits in QUEUEING while earlier statements write its table; then
   it is routed again, since its tables have changed.
3. ENTERING begins an attempt: it opens the session in the cluster and repeats there what the user's
   session did elsewhere. MARKING marks the tables of a write in the metastore before the statement
   is sent. SENDING sends the statement with its claim. If the server has no thread for it, WAITING
   waits for one, and the statement is routed again. RUNNING waits for its end. ZONING reads the
   time zone after a SET or RESET that leaves it to the server.
4. After the end, the mark is removed if the write certainly ended, and the effect is added to the
   session's journal if it certainly happened. CLAIMING makes the cluster the primary of new tables.
   Then the client gets the outcome, and the audit log its record.
5. After that, LEARNING polls a lost cluster until a write has ended. LINGERING waits for the last
   step of a cancelled write: a cluster reports a statement as cancelled while the thread that ran
   it may still write. If the end of a write stays unknown, its mark stays, and copies of the table
   are not read, until `running_writes` removes it. OVER: nothing is left to do.

An attempt is repeated when the cluster certainly did not start the statement: the connection was
lost before it was sent, or the cluster had closed the session. The statement is routed again

- when the cluster opens no session: another one may run it;
- when the guard refuses it because a table changed after the decision (CW363): nothing has run;
- when Spark reads a partition that the analysis left out (CW362): once, by all partitions;
- when a query's cluster is lost while it runs: once, to another cluster that has all its inputs.
  Its client has no row yet.

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
    """The steps; the module's docstring explains each one."""

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
    cmd.MakeCopy: Step.COPYING,
    cmd.Analyse: Step.ANALYSING,
    cmd.CheckDatabase: Step.CHECKING,
    cmd.Route: Step.ROUTING,
    cmd.Recall: Step.RECALLING,
    cmd.CheckSyntax: Step.PARSING,
    cmd.FetchMissing: Step.FETCHING,
    cmd.AwaitTurn: Step.QUEUEING,
    cmd.EnterCluster: Step.ENTERING,
    cmd.MarkWrite: Step.MARKING,
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
        ev.CallFailed: _OVER,
    },
    Step.LISTING: {ev.Listed: _OVER, ev.CallFailed: _OVER},
    Step.COPYING: {ev.Copied: _OVER, ev.CallFailed: _OVER},
    Step.ANALYSING: {ev.Analysed: _OVER | {Step.CHECKING, Step.ROUTING}, ev.CallFailed: _OVER},
    Step.CHECKING: {ev.DatabaseChecked: _OVER, ev.CallFailed: _OVER},
    Step.ROUTING: {
        ev.Routed: _ATTEMPT | {Step.RECALLING, Step.PARSING, Step.FETCHING, Step.QUEUEING},
        ev.CallFailed: _OVER,
    },
    Step.RECALLING: {ev.Recalled: _ATTEMPT, ev.CallFailed: _ATTEMPT},
    Step.QUEUEING: {ev.TurnCame: _ATTEMPT | {Step.ROUTING}, ev.CallFailed: _OVER},
    Step.PARSING: {ev.SyntaxChecked: _OVER, ev.CallFailed: _OVER},
    Step.FETCHING: {ev.Fetched: _OVER | {Step.ROUTING}, ev.CallFailed: _OVER},
    Step.ENTERING: {
        ev.Entered: _OVER | {Step.MARKING, Step.SENDING},
        ev.CallFailed: _ATTEMPT | {Step.ROUTING},
    },
    Step.MARKING: {ev.WriteMarked: _OVER | {Step.SENDING}, ev.CallFailed: _ATTEMPT},
    Step.SENDING: {
        ev.Accepted: frozenset({Step.RUNNING}),
        ev.ExecutionEnded: _OVER,
        ev.CallFailed: _ATTEMPT | {Step.SENDING, Step.WAITING, Step.ROUTING},
    },
    Step.WAITING: {ev.ThreadFreed: _ATTEMPT | {Step.ROUTING}, ev.CallFailed: _OVER},
    Step.RUNNING: {
        ev.ExecutionEnded: _OVER | {Step.ZONING, Step.ROUTING, Step.CLAIMING, Step.LINGERING},
        ev.CallFailed: _OVER | {Step.LEARNING, Step.ROUTING},
    },
    Step.ZONING: {ev.ZoneRead: _OVER, ev.CallFailed: _OVER},
    Step.CLAIMING: {ev.TablesClaimed: _OVER, ev.CallFailed: _OVER},
    Step.LEARNING: {
        ev.OutcomeLearned: frozenset({Step.LINGERING, Step.OVER}),
        ev.CallFailed: _OVER,
    },
    Step.LINGERING: {ev.Lingered: _OVER, ev.CallFailed: _OVER},
    Step.OVER: {},
}
"""For each step the events that it takes, and for each event the steps that may follow. `Stopped`
and `TaskCancelled` come at any step: the first one changes no step, the second one leads to
OVER."""


def step_after(commands: Sequence[Command]) -> Step:
    """The step of the call among the commands, which is the last one; OVER if there is no call."""
    return STEP_OF_CALL.get(type(commands[-1]), Step.OVER) if commands else Step.OVER
