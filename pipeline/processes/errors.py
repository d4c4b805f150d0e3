"""What can go wrong with running a process's workflow."""

from conf.errors import CausewayError
from pipeline.lifecycle.errors import ActionFailed


class ProcessError(CausewayError):
    """The family of errors about workflows."""

    code = "CW760"


class NoScript(ActionFailed):
    """The workflow's script cannot be read."""

    code = "CW761"


class ScriptFailed(ActionFailed):
    """A statement or a program of the workflow failed."""

    code = "CW762"


class CannotRun(ActionFailed):
    """This engine, or this cluster, cannot run the workflow here."""

    code = "CW763"
