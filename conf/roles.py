"""The roles of users of the console, and of callers of the ports for operators."""

from enum import IntEnum


class Role(IntEnum):
    """Each role may also do what the roles before it may. An analyst sees where tables are and
    where a statement would run, and runs statements under its own name. A viewer sees everything.
    """

    ANALYST = 0
    VIEWER = 1
    OPERATOR = 2
    ADMINISTRATOR = 3

    @property
    def title(self) -> str:
        return self.name.lower()
