"""The errors of negotiations, protected connections and log-ins.

They have no codes: callers turn them into errors of their own.
"""

from conf.errors import Blame


class SaslFailed(Exception):
    """The negotiation, or the protected connection, cannot go on. The text contains no secret."""


class BadCredentials(Exception):
    """The credentials are wrong. The reason is for the log: the client does not receive it."""


class AuthBackendUnavailable(Exception):
    """The credentials could not be checked. The reason is for the log."""

    def __init__(self, reason: str, blame: Blame = Blame.DIRECTORY) -> None:
        super().__init__(reason)
        self.blame = blame
