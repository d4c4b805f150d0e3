"""The REST API for operators, and the metrics, on a TCP port or a Unix socket.

`OperatorServer` has the parts that every such API needs: the listeners, and the check of a
caller's role.

Every user and every browser on the machine can connect to a port. So requests to a port need a
token, which a web page cannot make a browser send; only `/health` and `/metrics` need none. A token
has a role, and each request needs a lowest role. A socket is protected by its permissions: its
owner is an administrator. GET changes nothing.
"""

import asyncio
import logging
import os
import socket
import stat
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from conf.errors import BadCertificate, CausewayError
from conf.logs.printable import json_text
from conf.roles import Role
from conf.secrets import SecretFile
from conf.server_certificate import Certificate
from conf.settings.operating import Operating
from conf.settings.security.operator_access import OperatorAccess
from conf.settings.security.transports import Transports
from conf.topology import Endpoint
from database.errors import StoreUnavailable
from proxy.administration import operator_requests as actions
from proxy.administration.operator_tokens import CallerAuthenticator
from proxy.errors import NotFound
from proxy.operations import metrics
from proxy.operations.audit.audit_events import ApiCaller
from proxy.protocol.framing import Frame
from proxy.protocol.http import Head, HttpReader, authorization_of
from proxy.protocol.request_guard import XSRF_HEADER, RequestGuard, guard_of
from proxy.record.incidents import internal_error

if TYPE_CHECKING:
    from proxy.operations.history.history_runner import HistoryRunner

_log = logging.getLogger(__name__)
_TIMEOUT = 10.0  # seconds for a request, and for TLS before it
_REFRESH = 10.0  # seconds between checks for a new certificate
_MAX_CONNECTIONS = 32
_MAX_BODY = 4 << 10  # bytes of a request
_CREDENTIALS = struct.Struct("iII")  # of SO_PEERCRED: process, user, group
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_GET = {
    "/v1/sessions": actions.SESSIONS,
    "/v1/statements": actions.STATEMENTS,
    "/v1/copies": actions.COPIES,
    "/v1/clusters": actions.CLUSTERS,
    "/v1/cache": actions.CACHE,
    "/v1/admission": actions.ADMISSION,
}
_POST = {
    ("sessions", "kill"): actions.KILL_SESSION,
    ("statements", "kill"): actions.KILL_STATEMENT,
    ("clusters", "drain"): actions.DRAIN,
    ("clusters", "resume"): actions.RESUME,
    ("clusters", "activate"): actions.RESUME,
    ("endpoints", "drain"): actions.DRAIN,
    ("endpoints", "resume"): actions.RESUME,
    ("endpoints", "activate"): actions.RESUME,
    ("users", "block"): actions.BLOCK,
    ("users", "unblock"): actions.UNBLOCK,
    ("maintenance", "begin"): actions.MAINTENANCE,
    ("maintenance", "end"): actions.END_MAINTENANCE,
}
_OPERATORS = ("sessions", "statements")  # what operators may change; administrators change all
_EXPLAIN = "/v1/explain"
HISTORY = {
    "/v1/history": "statements",
    "/v1/history/copies": "copies",
    "/v1/history/instances": "instances",
    "/v1/history/refusals": "refusals",
    "/v1/history/lineage": "lineage",
    "/v1/history/traffic": "traffic",
}
"""The questions of `database.history.questions` by their paths."""
_OPEN = ("/health", "/metrics")
ROUTES = (
    *(f"GET {path}" for path in (*_OPEN, *_GET, _EXPLAIN, *HISTORY)),
    "POST /v1/reload",
    *(f"POST /v1/{kind}/NAME/{action}" for kind, action in _POST),
)
_REFUSALS = {
    HTTPStatus.MISDIRECTED_REQUEST: "The request is for another host (proxy.http.allowed.hosts).",
    HTTPStatus.BAD_REQUEST: f"The header {XSRF_HEADER} is missing.",
}
Answer = tuple[HTTPStatus, object]
"""A status with a JSON value or with the text of the metrics."""
Observed = Callable[[str, str, ApiCaller, bool], None]
"""Takes a method, a path, the caller, and whether the caller was refused."""


class OperatorServer(ABC):
    """Listens, and passes allowed requests to `respond`."""

    def __init__(
        self, observed: Observed | None = None, transports: Transports | None = None
    ) -> None:
        """`observed` is called for each request except those for health and metrics. `transports`
        has the accepted hosts, and whether requests to the port need the XSRF header."""
        self._transports = transports or Transports()
        self._observed = observed or (lambda action, argument, caller, refused: None)
        self._servers: list[asyncio.Server] = []
        self._refreshing: asyncio.TimerHandle | None = None
        self._socket: Path | None = None
        self._connections = 0
        self.listening: Endpoint | None = None

    @abstractmethod
    async def respond(self, method: str, path: str, query: str) -> Answer:
        """The answer to GET or POST. Raises NotFound, and another CausewayError for a refusal."""

    @abstractmethod
    def needed_role(self, method: str, path: str) -> Role:
        """The lowest role that may make the request."""

    async def listen_at(
        self,
        where: Endpoint | None,
        administrators: SecretFile | None,
        access: OperatorAccess,
        unix_socket: Path | None,
    ) -> None:
        """Listens on a port, for which callers need a token, and on a Unix socket.

        Raises OSError, BadCertificate.
        """
        if where is not None:
            assert administrators is not None, "the settings require it"
            transports = self._transports
            own_name = socket.gethostname()
            guard = guard_of(transports.allowed_hosts, transports.xsrf, where.host, own_name)
            callers = CallerAuthenticator(_token_files(administrators, access), access.issuer)
            serve = self._connection_handler(callers, guard)
            server = await asyncio.start_server(
                serve, where.host, where.port, **self._tls_arguments(access)
            )
            self._servers.append(server)
            self.listening = Endpoint(where.host, server.sockets[0].getsockname()[1])
        if unix_socket is not None:
            bound = _bind(unix_socket)
            serve = self._connection_handler(None, RequestGuard())
            self._servers.append(await asyncio.start_unix_server(serve, sock=bound))
            self._socket = unix_socket

    def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
        for server in self._servers:
            server.close()
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)

    def _tls_arguments(self, access: OperatorAccess) -> dict[str, Any]:
        """The arguments of a listener with TLS, with a certificate that is reloaded when its file
        changes; empty without TLS. Raises BadCertificate."""
        if not access.use_tls:
            return {}
        if access.tls is None:
            raise BadCertificate("proxy.admin.use.SSL needs proxy.admin.keystore.path.")
        certificate = Certificate(access.tls)
        self._refresh(certificate)
        return {"ssl": certificate.context, "ssl_handshake_timeout": _TIMEOUT}

    def _refresh(self, certificate: Certificate) -> None:
        """Loads the certificate if it changed, and schedules the next check, until `close`."""
        certificate.refresh()
        loop = asyncio.get_running_loop()
        self._refreshing = loop.call_later(_REFRESH, self._refresh, certificate)

    def _connection_handler(
        self, callers: CallerAuthenticator | None, guard: RequestGuard
    ) -> Callable[..., Any]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._connections += 1
            try:
                if self._connections <= _MAX_CONNECTIONS:
                    async with asyncio.timeout(_TIMEOUT):
                        await self._serve(reader, writer, callers, guard)
            except (OSError, TimeoutError):
                pass
            finally:
                self._connections -= 1
                writer.close()

        return serve

    async def _serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        callers: CallerAuthenticator | None,
        guard: RequestGuard,
    ) -> None:
        http, head = HttpReader(_MAX_BODY), None
        while data := await reader.read(16 << 10):
            for event in http.feed(data):
                if isinstance(event, Head):
                    head = event
                    continue
                answer: Answer = (HTTPStatus.BAD_REQUEST, _error("Not a request."))
                refused = guard.refusal(head) if head is not None else None
                if refused is not None:
                    answer = refused, _error(_REFUSALS[refused])
                elif isinstance(event, Frame) and head is not None:
                    caller = await _caller(head, callers, _address(writer))
                    answer = await self._answer(head, caller)
                writer.write(_reply(*answer))
                await writer.drain()
                return

    async def _answer(self, head: Head, caller: ApiCaller) -> Answer:
        path, _, query = head.target.partition("?")
        if path not in _OPEN:
            needed = self.needed_role(head.method, path)
            allowed = caller.role is not None and caller.role >= needed
            self._observed(head.method, path, caller, not allowed)
            if caller.role is None:
                return HTTPStatus.UNAUTHORIZED, _error("The token is missing or wrong.")
            if not allowed:
                reason = f"This needs the role {needed.title}; the token's is {caller.role.title}."
                return HTTPStatus.FORBIDDEN, _error(reason)
        if head.method not in ("GET", "POST"):
            return HTTPStatus.METHOD_NOT_ALLOWED, _error("GET and POST are served.")
        try:
            return await self.respond(head.method, path, query)
        except NotFound as error:
            return HTTPStatus.NOT_FOUND, _error(str(error))
        except StoreUnavailable as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, _error(str(error))
        except CausewayError as error:
            return HTTPStatus.CONFLICT, _error(str(error))
        except Exception:
            internal = internal_error(_log, f"answering {head.method} {path}")
            return HTTPStatus.INTERNAL_SERVER_ERROR, _error(str(internal))


class AdminServer(OperatorServer):
    """Serves the answers of `run_action`: those of one process, or of all workers."""

    def __init__(
        self,
        run_action: actions.RunAction,
        observed: Observed | None = None,
        transports: Transports | None = None,
        history: "HistoryRunner | None" = None,
    ) -> None:
        """`history` is read in this process, not in a worker, so that a slow database delays no
        other request."""
        super().__init__(observed, transports)
        self._run_action = run_action
        self._history = history

    async def listen(self, operating: Operating) -> None:
        """Listens where the settings say. Raises OSError."""
        await self.listen_at(
            operating.admin, operating.admin_token, operating.access, operating.admin_socket
        )

    def needed_role(self, method: str, path: str) -> Role:
        if method == "GET":
            return Role.VIEWER
        kind = path.split("/")[2:3]
        return Role.OPERATOR if kind and kind[0] in _OPERATORS else Role.ADMINISTRATOR

    async def respond(self, method: str, path: str, query: str) -> Answer:
        return await (self._get(path, query) if method == "GET" else self._post(path))

    async def _get(self, path: str, query: str) -> Answer:
        if path == "/metrics":
            return HTTPStatus.OK, metrics.text(await self._run_action(actions.SAMPLES, ""))
        if path == "/health":
            health = await self._run_action(actions.HEALTH, "")
            ok = health["status"] == "ok"
            return HTTPStatus.OK if ok else HTTPStatus.SERVICE_UNAVAILABLE, health
        if path == _EXPLAIN:
            return HTTPStatus.OK, await self._run_action(actions.EXPLAIN, query)
        if path in HISTORY:
            if self._history is None:
                raise NotFound("There is no history: history.store is not set.")
            return HTTPStatus.OK, await self._history.answer(HISTORY[path], dict(parse_qsl(query)))
        if path not in _GET:
            raise NotFound(f"There is nothing at {path}.")
        return HTTPStatus.OK, await self._run_action(_GET[path], "")

    async def _post(self, path: str) -> Answer:
        if path == "/v1/reload":
            return HTTPStatus.OK, await self._run_action(actions.RELOAD, "")
        parts = [unquote(part) for part in path.split("/")]
        if len(parts) != 5 or parts[:2] != ["", "v1"] or (parts[2], parts[4]) not in _POST:
            raise NotFound(f"There is nothing at {path}.")
        answer = await self._run_action(_POST[parts[2], parts[4]], parts[3])
        if answer.get("killed") == 0:
            raise NotFound(f"There is no such {parts[2].removesuffix('s')}: {parts[3]}.")
        return HTTPStatus.OK, answer


def _bind(path: Path) -> socket.socket:
    """A bound Unix socket that only its owner can use from the start. Raises OSError."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.stat().st_mode):
            path.unlink()  # left by a process that was killed
    bound = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        bound.bind(str(path))
    except OSError:
        bound.close()
        raise
    finally:
        os.umask(before)
    return bound


def _token_files(administrators: SecretFile, access: OperatorAccess) -> Mapping[Role, SecretFile]:
    """The configured files of tokens by role."""
    files = {
        Role.VIEWER: access.viewers,
        Role.OPERATOR: access.operators,
        Role.ADMINISTRATOR: administrators,
    }
    return {role: file for role, file in files.items() if file is not None}


async def _caller(head: Head, callers: CallerAuthenticator | None, address: str) -> ApiCaller:
    """The sender of a request. `callers` is None for a Unix socket, which is for its owner only."""
    if callers is None:
        return ApiCaller(address, role=Role.ADMINISTRATOR)
    scheme, token = authorization_of(head) or ("", "")
    if scheme != "bearer" or not token:
        return ApiCaller(address)
    return await callers.authenticate(token, address)


def _address(writer: asyncio.StreamWriter) -> str:
    """The caller's address; for a Unix socket the caller's process and user."""
    peer = writer.get_extra_info("peername")
    if isinstance(peer, tuple):
        return str(peer[0])
    end = writer.get_extra_info("socket")
    credentials = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(credentials)
    return f"uid {user}, process {process}"


def _error(text: str) -> dict[str, str]:
    return {"error": text}


def _reply(status: HTTPStatus, body: object) -> bytes:
    text = body if isinstance(body, str) else json_text(body) + "\n"
    data = text.encode(errors="replace")
    kind = _TEXT if isinstance(body, str) else "application/json"
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(data)}\r\nX-Content-Type-Options: nosniff\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + data
