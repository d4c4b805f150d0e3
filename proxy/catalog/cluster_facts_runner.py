"""What of a user's session in a cluster changes the answers to SHOW and DESCRIBE.

The cluster is asked for its version and its settings, once for each session in it, and again when
the session changed its settings.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from proxy.catalog.certain_settings import shows_usually
from proxy.catalog.metadata_runner import VERSION, session_settings
from proxy.catalog.server_info import DBMS_VERSION
from proxy.protocol import replies
from proxy.protocol.cluster_calls import get_info_call
from proxy.session.replay.cluster_session import ClusterSession
from proxy.session.session import SessionState

_ALSO_LISTS = "4.3."  # the version of Spark 4 that was compared
_ONE_SESSION = "spark.sql.hive.thriftserver.singlesession"
_ZONE = "spark.sql.session.timezone"


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """A session in a cluster while the user's session has changed its settings `changes` times.

    `usual`: its Spark answers as is known here, and others' temporary views are not its own.
    `lists`: that is so of SHOW DATABASES, SHOW TABLES and SHOW VIEWS, by Spark 4 too. `zone` is the
    time zone of Spark's JVM; None if it is not known.
    """

    changes: int
    usual: bool
    zone: str | None = None
    lists: bool = False


class ClusterFacts:
    """One per server."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[ClusterSession, SessionFacts] = WeakKeyDictionary()

    async def of(self, upstream: ClusterSession, state: SessionState) -> SessionFacts:
        """The facts of now. Raises CausewayError, Rejected."""
        changes = state.journal.settings_changes
        known = self._known.get(upstream)
        if known is None or known.changes != changes:
            known = self._known[upstream] = await _learn(upstream, state.protocol, changes)
        return known


async def _learn(upstream: ClusterSession, protocol: int, changes: int) -> SessionFacts:
    info = await upstream.call("GetInfo", get_info_call(upstream.session, DBMS_VERSION))
    version = replies.info_text(info)
    if not version.startswith((VERSION, _ALSO_LISTS)):
        return SessionFacts(changes, usual=False)
    found = await session_settings(upstream, protocol)
    settings = {key.lower(): text for key, text in found.items()}
    is_alone = settings.get(_ONE_SESSION, "false").lower() == "false"
    # A session that has no time zone of its own has its JVM's.
    zone = None if _ZONE in settings else upstream.zone
    lists = is_alone and shows_usually(settings)
    return SessionFacts(changes, lists and version.startswith(VERSION), zone, lists)
