"""Errors of processes' workflows."""

from pipeline.errors import ActionFailed


class ProcessError(ActionFailed):
    """The family of errors about workflows."""

    code = "CW760"


class NoScript(ProcessError):
    """The workflow's script cannot be read."""

    code = "CW761"


class ScriptFailed(ProcessError):
    """A statement or a program of the workflow failed."""

    code = "CW762"


class CannotRun(ProcessError):
    """The workflow cannot run with this engine or on this cluster."""

    code = "CW763"
