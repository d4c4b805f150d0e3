"""Why a log-in is rejected: for the log only. The client receives no reason."""

from conf.errors import Blame


class BadCredentials(Exception):
    """The credentials are wrong. Counts as a failure of the user and the address."""


class AuthBackendUnavailable(Exception):
    """The credentials could not be checked. Does not count as a failure."""

    def __init__(self, reason: str, blame: Blame = Blame.DIRECTORY) -> None:
        super().__init__(reason)
        self.blame = blame
