"""A user's session in one cluster, and the repetition of the user's changes there."""

from proxy.session.replay.session_replay import SessionReplay
from proxy.upstream.upstream_session import UpstreamSession


class ClusterSession(UpstreamSession):
    """An upstream session whose `replay` is set by the `UserSession` that opens it."""

    replay: SessionReplay
