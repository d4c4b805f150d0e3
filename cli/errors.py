"""Errors of the commands themselves. Codes CW50x."""

from conf.errors import CausewayError


class NoClusters(CausewayError):
    """A command needs clusters, and the settings name none."""

    code = "CW503"
    hint = "Set hive.cluster.properties (docs/reference/settings.md)."


class CannotListen(CausewayError):
    """The proxy, the console or `lifecycle serve` cannot listen on its address."""

    code = "CW504"
    hint = (
        "Another process may use it; hive.server2.thrift.port, lifecycle.port or console.port"
        " chooses it."
    )


class NoAdmin(CausewayError):
    """No proxy answers at the administration address in the settings."""

    code = "CW505"
    hint = "proxy.admin.socket, or proxy.admin.port and proxy.admin.token.file, enable it."


class AdminRefused(CausewayError):
    """The proxy's administration refused the request."""

    code = "CW506"


class CopyFailed(CausewayError):
    """COPY made no copy, or only a part of it."""

    code = "CW509"


class NoPassword(CausewayError):
    """`causeway password` got a name or password that a password file cannot hold."""

    code = "CW517"


class NoHistory(CausewayError):
    """The settings name no history, or it does not exist yet."""

    code = "CW518"
    sqlstate = "55000"


class NotInstalled(CausewayError):
    """A command needs a package of an extra that is not installed."""

    code = "CW520"
    sqlstate = "0A000"

    def __init__(self, subcommand: str, module: str, extra: str) -> None:
        super().__init__(
            f"`causeway {subcommand}` needs {module}: pip install 'causeway[{extra}]'."
        )
