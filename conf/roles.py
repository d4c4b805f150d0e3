"""What a user of the console, or a caller of the ports for operators, may do."""

from enum import IntEnum


class Role(IntEnum):
    """Each role may do what the roles before it may. An analyst sees where tables are and where a
    statement would run, and runs it as itself; a viewer sees everything."""

    ANALYST = 0
    VIEWER = 1
    OPERATOR = 2
    ADMINISTRATOR = 3

    @property
    def title(self) -> str:
        return self.name.lower()
