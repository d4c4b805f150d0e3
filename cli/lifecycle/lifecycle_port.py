"""The port of `causeway lifecycle serve`: health, metrics and a REST API for operators.

Requests need a token with a role, as at the proxy's administration, except for `/health` and
`/metrics`.
"""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from urllib.parse import parse_qs, unquote

from cli.errors import CannotListen
from cli.lifecycle.work_observer import QueryHistory
from conf.errors import BadCertificate
from conf.roles import Role
from conf.settings.lifecycle import Lifecycle
from conf.settings.security.operator_access import OperatorAccess
from conf.settings.security.transports import Transports
from conf.topology import Endpoint
from pipeline.scheduler.errors import BadRequest, UnknownEntity
from pipeline.scheduler.operations import EVENTS, Operations, Query, entity_key
from proxy.administration.admin_server import HISTORY, Answer, Observed, OperatorServer
from proxy.errors import NotFound

_ENTITY_ACTIONS = ("suspend", "resume")
ROUTES = (
    *(f"GET {path}" for path in HISTORY),
    *(f"GET {path}" for path in ("/health", "/metrics", "/v1/entities", "/v1/instances")),
    *("GET /v1/lag", "GET /v1/log/KIND/NAME", "GET /v1/retention/NAME"),
    *(f"POST /v1/entities/KIND/NAME/{action}" for action in _ENTITY_ACTIONS),
    *(f"POST /v1/instances/KIND/NAME/{action}" for action in EVENTS),
)


class LifecycleServer(OperatorServer):
    """Answers requests by calling `operations` in threads, because the calls block."""

    def __init__(
        self,
        operations: Operations,
        observed: Observed,
        transports: Transports,
        history: QueryHistory | None = None,
    ) -> None:
        """`history` answers requests for the history; None if there is no history."""
        super().__init__(observed, transports)
        self._operations = operations
        self._history = history

    def needed_role(self, method: str, path: str) -> Role:
        return Role.VIEWER if method == "GET" else Role.OPERATOR

    async def respond(self, method: str, path: str, query: str) -> Answer:
        parameters = parse_qs(query, keep_blank_values=True)
        answer = self._get if method == "GET" else self._post
        try:
            return await asyncio.to_thread(answer, path, parameters)
        except UnknownEntity as error:
            raise NotFound(str(error)) from error
        except BadRequest as error:
            return HTTPStatus.BAD_REQUEST, {"error": str(error)}

    def _get(self, path: str, query: Query) -> Answer:
        operations = self._operations
        if path == "/health":
            health = operations.health()
            ok = health["status"] == "ok"
            return HTTPStatus.OK if ok else HTTPStatus.SERVICE_UNAVAILABLE, health
        answers: dict[str, Callable[[], object]] = {
            "/metrics": operations.metrics,
            "/v1/entities": partial(operations.entities, query),
            "/v1/instances": partial(operations.instances, query),
            "/v1/lag": operations.lag,
        }
        match [unquote(part) for part in path.split("/")]:
            case ["", "v1", "log", kind, name]:
                return HTTPStatus.OK, operations.log(entity_key(kind, name), query)
            case ["", "v1", "retention", name]:
                return HTTPStatus.OK, operations.retention(entity_key("feed", name))
        if path in HISTORY:
            if self._history is None:
                raise NotFound("There is no history: history.store is not set.")
            given = {name: values[-1] for name, values in query.items()}
            return HTTPStatus.OK, self._history(HISTORY[path], given)
        if path not in answers:
            raise NotFound(f"There is nothing at {path}.")
        return HTTPStatus.OK, answers[path]()

    def _post(self, path: str, query: Query) -> Answer:
        parts = [unquote(part) for part in path.split("/")]
        match parts:
            case ["", "v1", "instances", kind, name, action] if action in EVENTS:
                key = entity_key(kind, name)
                return HTTPStatus.OK, self._operations.change_instances(key, action, query)
            case ["", "v1", "entities", kind, name, action] if action in _ENTITY_ACTIONS:
                key = entity_key(kind, name)
                return HTTPStatus.OK, self._operations.change_entity(key, action)
        raise NotFound(f"There is nothing at {path}.")


class LifecyclePort:
    """A context manager that serves the port in a thread. Entering raises CannotListen,
    BadCertificate."""

    def __init__(
        self, server: LifecycleServer, settings: Lifecycle, access: OperatorAccess
    ) -> None:
        self._server = server
        self._settings = settings
        self._access = access
        self._runner = asyncio.Runner()
        self._loop = self._runner.get_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="port", daemon=True)

    @property
    def listening(self) -> Endpoint | None:
        return self._server.listening

    def __enter__(self) -> "LifecyclePort":
        where = self._settings.port
        try:
            self._runner.run(
                self._server.listen_at(where, self._settings.token, self._access, None)
            )
        except OSError as error:
            self._runner.close()
            raise CannotListen(f"{where}: {error.strerror or error}.") from error
        except BadCertificate:
            self._runner.close()
            raise
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends open requests, and closes their connections."""
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._runner.close()
