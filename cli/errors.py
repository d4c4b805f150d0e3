"""What a command of ours may fail with before it reaches a room. Codes CW50x."""

from conf.errors import CausewayError


class NoClusters(CausewayError):
    """A command that needs clusters was given settings without any."""

    code = "CW503"
    hint = "Set hive.cluster.properties (docs/settings.md)."


class CannotListen(CausewayError):
    """The proxy's address cannot be had."""

    code = "CW504"
    hint = "Another process may have it; hive.server2.thrift.port chooses the port."


class CopyFailed(CausewayError):
    """A copy that a statement asked for was not made, or not all of it."""

    code = "CW509"
