"""What a page shows in the place of its content, and why the console does not start."""

from conf.errors import CausewayError


class SourceDown(Exception):
    """A source does not answer. `source` is its name for people, `reason` why it does not."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


class NotSetUp(SourceDown):
    """The settings do not name a source; `setting` is the one that would."""

    def __init__(self, source: str, setting: str) -> None:
        super().__init__(source, f"the settings name no {setting}")
        self.setting = setting


class Refused(Exception):
    """A source refused a request of the user; the message is the source's own."""


class NotAllowed(Exception):
    """The user lacks a role; the message is its name."""


class NoConsole(CausewayError):
    """The settings do not allow a console, or what it needs is not installed."""

    code = "CW519"
    sqlstate = "F0000"
    hint = "docs/guide/console.md says what it needs."
