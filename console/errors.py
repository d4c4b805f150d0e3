"""Errors that a page shows instead of its content, and the error of a console that cannot start."""

from conf.errors import CausewayError


class SourceDown(Exception):
    """A source does not answer. `source` is its name for users, `reason` says why."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


class NotSetUp(SourceDown):
    """The settings do not name a source. `setting` is the one to set."""

    def __init__(self, source: str, setting: str) -> None:
        super().__init__(source, f"the settings name no {setting}")
        self.setting = setting


class Refused(Exception):
    """A source refused a request of the user. The message is that of the source."""


class NotAllowed(Exception):
    """The user lacks a role. The message is the role's name."""


class NoConsole(CausewayError):
    """The settings do not allow a console, or what it needs is not installed."""

    code = "CW519"
    sqlstate = "F0000"
    hint = "docs/guide/console.md says what it needs."
