"""The errors of the proxy, with codes CW2xx; docs/reference/errors.md describes them."""

from dataclasses import dataclass, field

from conf.errors import Blame, CausewayError
from router.decision import Decision, Refuse


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that a client receives. `vendor` is JDBC's vendor code."""

    message: str
    sqlstate: str | None = None
    vendor: int = 0
    blame: Blame | None = field(default=None, compare=False)  # None: the cluster's own failure


class ThriftServerError(Exception):
    """An error that the client receives in a Thrift Server's form: that of a cluster, or Causeway's
    own where a cluster would send the same or where the router refuses a statement."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def refusal(decision: Decision) -> Failure:
    """The failure of a statement that the router refused."""
    assert isinstance(decision, Refuse)
    code = decision.code
    text = f"[{code}] {decision.because} {decision.hint}".rstrip()
    return Failure(text, decision.sqlstate, int(code.removeprefix("CW")))


class WireError(CausewayError):
    """Bytes that are not the HiveServer2 protocol. The connection cannot go on."""

    code = "CW200"
    sqlstate = "08P01"


class ClusterDown(CausewayError):
    """No endpoint of the cluster accepted a session in time."""

    code = "CW201"
    blame = Blame.CLUSTER
    sqlstate = "08001"
    hint = "The session goes on: try again later, or work with tables of other clusters."


class ClusterLost(CausewayError):
    """The connection to a cluster broke during a request."""

    code = "CW202"
    blame = Blame.CLUSTER
    sqlstate = "08006"
    hint = "The session continues. Check whether a write was done before you repeat it."


class ClusterWithoutMetastore(CausewayError):
    """Spark in a cluster cannot reach the metastore, from which it reads each table."""

    code = "CW226"
    blame = Blame.METASTORE
    sqlstate = "08S01"
    hint = "Statements without tables run. Check the metastore and its view, then try again."


class NotIncremental(CausewayError):
    """Settings of Hudi select only changed rows, and these cannot be read."""

    code = "CW227"
    sqlstate = "0A000"
    hint = "RESET the setting to read all rows (docs/guide/hudi.md)."


class SessionGone(ClusterLost):
    """A cluster closed its session, so the request did nothing there."""

    code = "CW211"


class StateNotRepeated(CausewayError):
    """A part of the session's state could not be repeated in another cluster."""

    code = "CW203"
    sqlstate = "0A000"
    hint = "Stay in the cluster where it was set, with USE CLUSTER, or undo it."


class ImpersonationDenied(CausewayError):
    """A session may not act as another user."""

    code = "CW204"
    sqlstate = "28000"
    hint = "Connect as that user instead."


class EndpointNotAllowed(CausewayError):
    """`SET hive.cluster.properties` named an endpoint that is not configured (D13)."""

    code = "CW205"
    sqlstate = "42501"
    hint = "Use a configured cluster and endpoint; SHOW CLUSTERS lists them."


class ChecksBypassed(CausewayError):
    """A setting would let Spark read or analyse tables in a way that Causeway cannot check."""

    code = "CW212"
    sqlstate = "42000"
    hint = "Keep the default."


class SettingDenied(CausewayError):
    """A statement changes a setting that users may not change, or a property of the process."""

    code = "CW230"
    sqlstate = "42501"
    hint = "The operator decides which settings users may change (docs/reference/settings.md)."


class CodeDenied(CausewayError):
    """A statement calls, or may call, a function or code that the operator denies."""

    code = "CW231"
    sqlstate = "42501"
    hint = "The operator decides which functions and code users may run (docs/guide/security.md)."


class UnknownCluster(CausewayError):
    """USE CLUSTER named a cluster that hive.cluster.properties does not have (DC-U3)."""

    code = "CW206"
    sqlstate = "42704"
    hint = "SHOW CLUSTERS lists the names. The session is unchanged."


class LimitReached(CausewayError):
    """A limit on sessions, operations or connections was reached."""

    code = "CW207"
    sqlstate = "53300"
    hint = "Close some sessions or statements, then try again."


class Stopping(CausewayError):
    """The proxy is stopping and accepts no new work."""

    code = "CW215"
    sqlstate = "57P01"
    hint = "Connect again; another proxy may answer."

    def __init__(self) -> None:
        super().__init__("Causeway is about to end.")


class NotFound(CausewayError):
    """An administrator's command named a session, statement or cluster that does not exist."""

    code = "CW216"
    sqlstate = "42704"
    hint = "`causeway admin clusters`, `sessions` and `statements` list the names."


class UserBlocked(CausewayError):
    """An operator blocked the user."""

    code = "CW217"
    sqlstate = "28000"
    hint = "Ask the operator; `causeway admin unblock` ends it."


class InMaintenance(CausewayError):
    """An operator announced maintenance: running statements continue, and no others begin."""

    code = "CW218"
    sqlstate = "57P03"
    hint = "Try again later; `causeway admin maintenance --end` ends it."


class TooLarge(CausewayError):
    """A request is longer than the limit."""

    code = "CW208"
    sqlstate = "54000"
    hint = "Write the data to a file or table and read it from there."


class InvalidCommand(CausewayError):
    """A command of Causeway's own cannot be run as written."""

    code = "CW209"
    sqlstate = "42601"


class AnalysisUnstable(CausewayError):
    """The tables of a statement changed again and again, or were too many, during its analysis."""

    code = "CW210"
    sqlstate = "54001"
    hint = "Try again. If it fails again, use fewer nested views."


class AuthRejected(CausewayError):
    """The login was rejected. The client receives no reason; the log has it."""

    code = "CW213"
    sqlstate = "28000"

    def __init__(self, text: str = "The login was rejected.") -> None:
        super().__init__(text)


class ResultTooLarge(CausewayError):
    """A statement's result exceeded the limit of rows or bytes, and the statement was closed."""

    code = "CW222"
    sqlstate = "54000"
    hint = "Write the result to a table or a directory; proxy.limit.result.* set the limits."


class StatementTimeout(CausewayError):
    """A statement exceeded the time limit and was cancelled."""

    code = "CW223"
    sqlstate = "57014"
    hint = "proxy.limit.statement.time sets the limit. Check a write before you repeat it."


class TableBusy(CausewayError):
    """Too many statements wait to write a table, or one waited for too long. It did not start."""

    code = "CW225"
    sqlstate = "55P03"
    hint = "Try again later. proxy.limit.write.wait and router.writes decide about waiting."


class CopyQuotaExceeded(CausewayError):
    """Copies for queries would exceed the user's or the link's bytes for today."""

    code = "CW232"
    sqlstate = "53400"
    hint = "Try again tomorrow (UTC), or ask the operator, who sets router.fetch.*."


class WorkerLost(CausewayError):
    """The worker process that kept a session ended during a request."""

    code = "CW220"
    blame = Blame.CAUSEWAY
    sqlstate = "08006"
    hint = "Open another session. Check whether a write was done before you repeat it."


class WorkerFailed(CausewayError):
    """A worker process did not start, or does not answer its supervisor."""

    code = "CW221"
    blame = Blame.CAUSEWAY
    hint = "The server's log says more."


class InternalError(CausewayError):
    """A fault of Causeway itself. The message contains the incident's id; the log has the traceback
    under the same id."""

    code = "CW224"
    sqlstate = "XX000"
    blame = Blame.CAUSEWAY
    hint = "Give the operator the id of the incident: the log has the reason."
