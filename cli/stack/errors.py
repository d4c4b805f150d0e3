"""Errors of the embedded stack. Codes CW51x."""

from conf.errors import CausewayError


class StackError(CausewayError):
    """The embedded stack cannot start or continue."""

    code = "CW510"


class JavaMissing(StackError):
    """No Java that suits the installed Spark was found."""

    code = "CW511"
    hint = "`make install` brings one, or set JAVA_HOME to a Java 17."


class PortTaken(StackError):
    """Another process listens at the proxy's address."""

    code = "CW512"
    hint = "Choose another with --port."


class ServiceDied(StackError):
    """A process of the stack ended."""

    code = "CW513"


class ServiceSilent(StackError):
    """A process of the stack did not answer in time."""

    code = "CW514"


class FolderInUse(StackError):
    """Another `causeway up` runs on the same folder."""

    code = "CW515"
    hint = "Stop it, or choose another folder with --dir."


class BadClusters(StackError):
    """`--clusters` is not a list of names."""

    code = "CW516"
