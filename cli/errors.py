"""What a command of ours may fail with before it reaches a room. Codes CW50x."""

from conf.errors import CausewayError


class NoClusters(CausewayError):
    """A command that needs clusters was given settings without any."""

    code = "CW503"
    hint = "Set hive.cluster.properties (docs/reference/settings.md)."


class CannotListen(CausewayError):
    """The proxy's address cannot be had."""

    code = "CW504"
    hint = "Another process may have it; hive.server2.thrift.port chooses the port."


class NoAdmin(CausewayError):
    """No running proxy answers where the settings say that it is administered."""

    code = "CW505"
    hint = "proxy.admin.socket, or proxy.admin.port and proxy.admin.token.file, switch it on."


class AdminRefused(CausewayError):
    """The proxy's administration said no."""

    code = "CW506"


class CopyFailed(CausewayError):
    """A copy that a statement asked for was not made, or not all of it."""

    code = "CW509"


class NoPassword(CausewayError):
    """`causeway password` was given a name or password that no entry can be made of."""

    code = "CW517"
