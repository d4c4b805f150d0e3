"""A user's session in one cluster, with what of the user's session it has."""

from proxy.session.replay.session_replay import SessionReplay
from proxy.upstream.upstream_session import UpstreamSession


class ClusterSession(UpstreamSession):
    """`replay` is set by the session that opens it."""

    replay: SessionReplay
