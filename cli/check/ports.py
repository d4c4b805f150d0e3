"""Checks of the addresses that the proxy, the lifecycle's server and the console listen on."""

import errno
import http.client
import socket
import ssl
from urllib.error import URLError
from urllib.request import Request, urlopen

from cli.check import targets
from cli.check.report import CheckFinding, error, ok, warning
from cli.errors import AdminRefused, NoAdmin
from cli.server.admin import call
from conf.settings.operating import Operating
from conf.topology import Endpoint
from proxy.administration.operator_client import connection_to

_FREE = "free"
_METRIC = b"causeway_lifecycle_"  # the prefix of the lifecycle server's metrics
_METRICS_BYTES = 1 << 20  # at most read of the metrics
_CONSOLE_FILE = "/static/console.css"  # a file that the console serves without a log-in


def port(target: targets.ProxyAddress) -> CheckFinding:
    """Whether the proxy can listen at the address, or listens already. Raises OSError."""
    if can_listen(target.endpoint):
        return ok(_FREE)
    if _is_running(target.operating):
        return ok("in use by the proxy that runs with these settings")
    return error("another process uses it, and `causeway serve` would not start")


def lifecycle_port(target: targets.LifecycleAddress, timeout: float) -> CheckFinding:
    """Whether the lifecycle's server can listen at the address, or listens already. An address of
    another machine, as the console's settings may name, must answer. Raises OSError."""
    try:
        if can_listen(target.endpoint):
            return ok(_FREE)
        is_local = True
    except OSError as failure:
        if failure.errno != errno.EADDRNOTAVAIL:
            raise
        is_local = False
    if _is_lifecycle(target, timeout):
        return ok(
            "in use by a lifecycle server" if is_local else "a lifecycle server answers there"
        )
    if is_local:
        return error("another process uses it, and `causeway lifecycle serve` would not start")
    return error("not an address of this machine, and no lifecycle server answers there")


def console_port(target: targets.ConsoleAddress, timeout: float) -> CheckFinding:
    """Whether the console can listen at the address, or listens already. Raises OSError."""
    if can_listen(target.endpoint):
        return ok(_FREE)
    if _serves_console(target, timeout):
        return ok("in use by a console")
    return warning("another process uses it, and `causeway console` would not start")


def can_listen(endpoint: Endpoint) -> bool:
    """Whether no process uses the address. Raises OSError if it belongs to another machine."""
    try:
        for family, kind, number, _, address in socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            with socket.socket(family, kind, number) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as failure:
        if failure.errno != errno.EADDRINUSE:
            raise
        return False
    return True


def _is_running(operating: Operating) -> bool:
    """Whether a proxy answers at the administration address of the settings."""
    try:
        call(operating, "GET", "/v1/cache")
    except (NoAdmin, AdminRefused):
        return False
    return True


def _is_lifecycle(target: targets.LifecycleAddress, timeout: float) -> bool:
    """Whether the server at the address serves the metrics of a lifecycle server. Raises OSError if
    the file of certificate authorities cannot be read."""
    connection = connection_to(target.endpoint, target.access, timeout)
    try:
        connection.request("GET", "/metrics")
        return _METRIC in connection.getresponse().read(_METRICS_BYTES)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _serves_console(target: targets.ConsoleAddress, timeout: float) -> bool:
    """Whether the server sends the console's public file. The certificate is not verified, because
    no secret is sent."""
    scheme = "https" if target.tls else "http"
    context = ssl._create_unverified_context() if target.tls else None
    request = Request(f"{scheme}://{target.endpoint}{_CONSOLE_FILE}")
    try:
        with urlopen(request, timeout=timeout, context=context) as response:
            return str(response.headers.get_content_type()) == "text/css"
    except (URLError, OSError, http.client.HTTPException):
        return False
