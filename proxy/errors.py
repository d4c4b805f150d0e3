"""What the proxy may refuse or fail with. Codes CW2xx; docs/reference/errors.md describes them."""

from dataclasses import dataclass, field

from conf.errors import Blame, CausewayError


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something failed, as the client gets it. `vendor` is the vendor's code of JDBC."""

    message: str
    sqlstate: str | None = None
    vendor: int = 0
    blame: Blame | None = field(default=None, compare=False)  # None: the cluster's own failure


class Rejected(Exception):
    """A failure in the Thrift Server's own words: a cluster's, or one that it would give."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


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
    """The connection to a cluster broke while a request was there."""

    code = "CW202"
    blame = Blame.CLUSTER
    sqlstate = "08006"
    hint = "The session goes on, and is set up anew there; look before repeating a write."


class SessionGone(ClusterLost):
    """A cluster closed the session by itself, so the request did nothing there."""

    code = "CW211"


class NotCarried(CausewayError):
    """Something of the session could not be repeated on another cluster."""

    code = "CW203"
    sqlstate = "0A000"
    hint = "Stay on the cluster where it was said, with USE CLUSTER, or take it back."


class NotYourself(CausewayError):
    """A session may not act as another user."""

    code = "CW204"
    sqlstate = "28000"
    hint = "Connect as that user instead."


class EndpointNotAllowed(CausewayError):
    """`SET hive.cluster.properties` named an endpoint that the operator did not (D13)."""

    code = "CW205"
    sqlstate = "42501"
    hint = "Choose among the configured clusters and endpoints; SHOW CLUSTERS lists them."


class PartitionsPassedBy(CausewayError):
    """A setting would have Spark list a table's folder instead of asking for its partitions."""

    code = "CW212"
    sqlstate = "42000"
    hint = "Leave it as it is: each cluster's own copies are told partition by partition."


class SettingDenied(CausewayError):
    """A setting that users may not change, or a property of the server's process."""

    code = "CW230"
    sqlstate = "42501"
    hint = "The operator decides which settings users may change (docs/reference/settings.md)."


class CodeDenied(CausewayError):
    """A statement calls a function or brings code that the operator denies, or may do so."""

    code = "CW231"
    sqlstate = "42501"
    hint = "The operator decides which functions and code users may run (docs/guide/security.md)."


class UnknownCluster(CausewayError):
    """USE CLUSTER with a name that hive.cluster.properties does not have (DC-U3)."""

    code = "CW206"
    sqlstate = "42704"
    hint = "SHOW CLUSTERS lists the names; the session is unchanged."


class TooMany(CausewayError):
    """A bound on sessions, operations or connections was reached."""

    code = "CW207"
    sqlstate = "53300"
    hint = "Close some, or open a new session, then try again."


class Stopping(CausewayError):
    """The proxy is about to end and begins nothing new."""

    code = "CW215"
    sqlstate = "57P01"
    hint = "Connect again: another one may serve you."


class NoSuchThing(CausewayError):
    """An operator named what is not there."""

    code = "CW216"
    sqlstate = "42704"
    hint = "`causeway admin clusters`, `sessions` and `statements` list what is."


class TooLarge(CausewayError):
    """A request longer than the proxy takes."""

    code = "CW208"
    sqlstate = "54000"
    hint = "Put the data in a file or table and read it from there."


class NotUnderstoodCommand(CausewayError):
    """A command of ours that cannot be carried out as written."""

    code = "CW209"
    sqlstate = "42601"


class Unsettled(CausewayError):
    """The catalog kept asking for more tables while a statement was analysed, or kept changing."""

    code = "CW210"
    sqlstate = "54001"
    hint = "Try again; views that are nested too deeply have to be simplified."


class BadCertificate(CausewayError):
    """hive.server2.keystore.path holds nothing that clients could be shown."""

    code = "CW214"
    hint = "Put the certificate, its chain and its key into one PEM or PKCS12 file."


class AuthRejected(CausewayError):
    """The login was rejected. The client receives no reason; the log has it."""

    code = "CW213"
    sqlstate = "28000"

    def __init__(self, text: str = "The login was rejected.") -> None:
        super().__init__(text)


class ResultTooLarge(CausewayError):
    """More of a statement's result was read than it may have, and it was closed."""

    code = "CW222"
    sqlstate = "54000"
    hint = "Write it into a table or a directory; proxy.limit.result.* are the operator's."


class StatementTooLong(CausewayError):
    """A statement ran for longer than it may, and was cancelled."""

    code = "CW223"
    sqlstate = "57014"
    hint = "proxy.limit.statement.time is the operator's; look before repeating a write."


class WorkerLost(CausewayError):
    """The process of Causeway that kept a session ended while a request was there."""

    code = "CW220"
    blame = Blame.CAUSEWAY
    sqlstate = "08006"
    hint = "Open another session; look before repeating a write."


class WorkerFailed(CausewayError):
    """One of the server's processes did not start, or does not answer its supervisor."""

    code = "CW221"
    blame = Blame.CAUSEWAY
    hint = "The server's log says more."


class InternalError(CausewayError):
    """A fault of Causeway itself. The message has the id of the incident, which the log has too,
    with a traceback."""

    code = "CW224"
    sqlstate = "XX000"
    blame = Blame.CAUSEWAY
    hint = "Give the operator the id of the incident: the log has the reason."
