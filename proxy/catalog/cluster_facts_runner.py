"""Facts of a session in a cluster that change the answers to SHOW and DESCRIBE.

The cluster's version and settings are read once for each session in it, and again after the session
has changed its settings.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from proxy.catalog.certain_settings import shows_as_usual
from proxy.catalog.metadata_runner import VERSION, session_settings
from proxy.catalog.server_info import DBMS_VERSION
from proxy.protocol import replies
from proxy.protocol.cluster_calls import get_info_call
from proxy.session.replay.cluster_session import ClusterSession
from proxy.session.session import SessionState

_ALSO_LISTS = "4.3."  # the version of Spark 4 whose lists were compared with ours
_ONE_SESSION = "spark.sql.hive.thriftserver.singlesession"
_ZONE = "spark.sql.session.timezone"


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Facts of a session in a cluster after the user's session has changed its settings `changes`
    times.

    `usual`: Spark answers SHOW and DESCRIBE as `descriptions` does, and other sessions' temporary
    views are not visible. `lists`: this holds for SHOW DATABASES, SHOW TABLES and SHOW VIEWS, also
    in Spark 4. `zone` is the time zone of Spark's JVM; None if it is not known.
    """

    changes: int
    usual: bool
    zone: str | None = None
    lists: bool = False


class ClusterFacts:
    """Reads and caches the facts; there is one for all clients of the process."""

    def __init__(self) -> None:
        self._facts: WeakKeyDictionary[ClusterSession, SessionFacts] = WeakKeyDictionary()

    async def of(self, upstream: ClusterSession, state: SessionState) -> SessionFacts:
        """The current facts. Raises CausewayError, ThriftServerError."""
        changes = state.journal.settings_changes
        facts = self._facts.get(upstream)
        if facts is None or facts.changes != changes:
            facts = self._facts[upstream] = await _read_facts(upstream, state.protocol, changes)
        return facts


async def _read_facts(upstream: ClusterSession, protocol: int, changes: int) -> SessionFacts:
    info = await upstream.call("GetInfo", get_info_call(upstream.session, DBMS_VERSION))
    version = replies.info_text(info)
    if not version.startswith((VERSION, _ALSO_LISTS)):
        return SessionFacts(changes, usual=False)
    original = await session_settings(upstream, protocol)
    settings = {key.lower(): text for key, text in original.items()}
    has_own_views = settings.get(_ONE_SESSION, "false").lower() == "false"
    # A session without a time zone of its own has that of its JVM.
    zone = None if _ZONE in settings else upstream.zone
    lists = has_own_views and shows_as_usual(settings)
    return SessionFacts(changes, lists and version.startswith(VERSION), zone, lists)
