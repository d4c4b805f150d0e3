"""Why somebody is not let in: for the log alone, a client hears nothing of it."""

from conf.errors import Blame


class Wrong(Exception):
    """What the client said is not so: it counts as a failure of that user and address."""


class Unsure(Exception):
    """It could not be found out, which is nobody's failure."""

    def __init__(self, reason: str, blame: Blame = Blame.DIRECTORY) -> None:
        super().__init__(reason)
        self.blame = blame
