"""Events and commands that the playbooks share, and statements that are sent or run."""

from dataclasses import replace

from conf.errors import CausewayError
from dialect.catalog_commands import ShowDatabases
from dialect.grammar.cluster_statements import CopyTable
from dialect.statement import Known, SetVariable, Unknown
from proxy.errors import ClusterDown, ClusterLost, Failure, SessionGone
from proxy.protocol.replies import Status
from proxy.protocol.results import ResultTable
from proxy.protocol.status import failure_of
from proxy.protocol.types import OperationState
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import Accepted, Entered, ExecutionEnded, WriteMarked
from router.decision import Refuse
from router.needed_copies import CopyNeeded
from tests.proxy.statement.playbook import (
    EAST,
    READ,
    RUNNING,
    TABLE,
    WEST,
    WRITE,
    Playbook,
    Token,
    decided,
)

FINISHED = ExecutionEnded(Status(OperationState.FINISHED))
CANCELED = ExecutionEnded(Status(OperationState.CANCELED))
DONE = cmd.Become(OperationState.FINISHED)
WRONG = Failure("no such column", "42703")
FAILED = ExecutionEnded(Status(OperationState.ERROR, WRONG))
LOST = ClusterLost("The connection to cluster east broke.")
GONE = SessionGone("Cluster east closed the session.")
DOWN = ClusterDown("Cluster east is down.")
TOKEN = Token("t")
OPENED = WriteMarked((TABLE,), TOKEN)
WROTE = cmd.ForgetFacts((TABLE,))
ENTER_READ = cmd.EnterCluster(EAST, READ, {TABLE: 1})
ENTER_WRITE = cmd.EnterCluster(EAST, WRITE, {})
SET = Known("set", effect=SetVariable("a", "1"))
APPLIED = cmd.Apply(SetVariable("a", "1"), 1, EAST)
REFUSE = Refuse("CW104", "0A000", "DC-R9", "No cluster has all inputs.", "Copy one.")
NEEDED = (CopyNeeded(TABLE, (), EAST, WEST, 10),)
CURABLE = replace(REFUSE, copies=NEEDED)
TURN = frozenset({TABLE})
COPY = CopyTable("default", "t", (), "east", "west")
SHOW = Known("metadata_read", catalog=ShowDatabases(None))
DATABASES = ResultTable(("namespace",), (("default",),))


def error(failure: Failure | CausewayError) -> cmd.Become:
    failure = failure_of(failure) if isinstance(failure, CausewayError) else failure
    return cmd.Become(OperationState.ERROR, failure)


def sent(what: Known | Unknown = READ) -> Playbook:
    """A statement that was sent to east, which has not accepted it yet."""
    book = decided(what) >> Entered(checked=False)
    if isinstance(what, Known) and what.writes:
        book = book << cmd.MarkWrite(what.writes) >> OPENED
    return book << cmd.Execute()


def running(what: Known | Unknown = READ) -> Playbook:
    return sent(what) >> Accepted() << RUNNING << cmd.WaitForEnd()
