"""Runs the requests of operators in one process: show, kill, drain, resume, reload and finish."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

from conf.errors import CausewayError
from conf.logs.log_fields import extra
from conf.logs.logs import set_log_level
from conf.names import ClusterName
from conf.settings.reload import reloaded
from conf.settings.settings import Settings
from conf.topology import Cluster, Endpoint
from proxy.administration import operator_requests as actions
from proxy.errors import NotFound, Stopping
from proxy.limits import DEFAULT
from proxy.operations.audit.audit_events import ApiCaller
from proxy.operations.metrics import QUEUE, Sample, copy_lags
from proxy.protocol.replies import application_exception
from proxy.protocol.status import failure_of
from proxy.protocol.types import NEWEST_PROTOCOL, OperationState
from proxy.server.connection_limiter import ConnectionLimiter
from proxy.server.listeners import Listeners
from proxy.server.server_state import ServerState
from proxy.session.session import DEFAULT_DATABASE, USE_DATABASE, SessionState
from proxy.session.user_session import UserSession
from proxy.statement.dry_run import dry_run
from proxy.statement.machine.cluster_commands import use_cluster
from proxy.upstream.endpoint_health import Drainable
from proxy.upstream.health_runner import check_all
from thriftcodec.values import INTERNAL_ERROR_CODE

_log = logging.getLogger(__name__)
_STEP = 0.05  # seconds between checks whether the process is idle
_LAST_REPLIES = 1.0  # seconds for each step of `finish` in which clients receive the last replies
ENDING = 3 * _LAST_REPLIES  # seconds that `Admin.finish` may take after the drain time
_FETCHING = 5.0  # seconds between a reply and the client's next call, at most, while it fetches


class Admin:
    """Shows and changes the state of one process.

    `read_settings` reads the settings for a reload; it may raise a CausewayError. `deregister`
    removes the server from service discovery, which may take seconds.
    """

    def __init__(
        self,
        server: ServerState,
        limiter: ConnectionLimiter,
        listeners: Listeners,
        read_settings: Callable[[], Settings] | None = None,
        deregister: Callable[[], None] | None = None,
    ) -> None:
        self._server = server
        self._limiter = limiter
        self._listeners = listeners
        self._read_settings = read_settings
        self._deregister = deregister

    async def run_action(self, action: str, argument: str = "") -> Any:
        """The answer to a request; a `RunAction`. Raises NotFound and other CausewayErrors."""
        reads: dict[str, Callable[[], Any]] = {
            actions.SESSIONS: self.sessions,
            actions.STATEMENTS: self.statements,
            actions.COPIES: self.copies,
            actions.CLUSTERS: self.clusters,
            actions.CACHE: self.cache,
            actions.SAMPLES: self.samples,
            actions.HEALTH: self.health,
            actions.ADMISSION: self.admission,
            actions.RELOAD: self.reload,
        }
        changes: dict[str, Callable[[str], Awaitable[Any]]] = {
            actions.KILL_SESSION: self.kill_session,
            actions.KILL_STATEMENT: self.kill_statement,
            actions.DRAIN: self.drain,
            actions.RESUME: self.resume,
            actions.EXPLAIN: self.explain,
            actions.BLOCK: self.block,
            actions.UNBLOCK: self.unblock,
            actions.MAINTENANCE: self.begin_maintenance,
            actions.END_MAINTENANCE: self.end_maintenance,
        }
        if action in reads:
            return reads[action]()
        if action in changes:
            return await changes[action](argument)
        raise NotFound(f"There is no action {action!r}.")

    # Requests that change nothing

    def sessions(self) -> list[dict[str, Any]]:
        now = asyncio.get_running_loop().time()
        return [_session(each, now) for each in self._server.sessions.items()]

    def statements(self) -> list[dict[str, Any]]:
        """The statements that are not closed, with the decision for each."""
        records = [each.operation.record for each in self._server.operations.items()]
        lines = []
        for record in records:
            if record.statement:  # empty for a metadata call
                line = record.line(brief=True)
                if record.seconds is None:
                    line["seconds"] = round(time.time() - record.began, 3)
                lines.append(line)
        return lines

    def copies(self) -> list[dict[str, Any]]:
        """The copies that are being made for statements, with bytes and rate."""
        running = self._server.services.copier
        return [] if running is None else running.lines()

    def clusters(self) -> list[dict[str, Any]]:
        """The clusters and their Thrift Servers, with health and load."""
        sessions: dict[Endpoint, int] = {}
        for session in self._server.sessions.items():
            for endpoint in session.upstreams().values():
                sessions[endpoint] = sessions.get(endpoint, 0) + 1
        return [self._cluster(each, sessions) for each in self._server.clusters()]

    def _cluster(self, cluster: Cluster, sessions: Mapping[Endpoint, int]) -> dict[str, Any]:
        health, endpoints = self._server.pool.health, []
        for endpoint in cluster.hs2:
            condition = health.condition(endpoint)
            endpoints.append(
                {
                    "endpoint": str(endpoint),
                    "up": condition.up,
                    "since": round(condition.since, 3),
                    "reason": condition.reason,
                    "seconds": condition.seconds and round(condition.seconds, 6),
                    "drained": health.is_drained(endpoint),
                    "checked": condition.checked,
                    "connections": self._server.pool.held(endpoint),
                    "sessions": sessions.get(endpoint, 0),
                }
            )
        drained = health.is_drained(cluster.name)
        return {
            "name": cluster.name,
            "filesystem": cluster.filesystem,
            "drained": drained,
            "endpoints": endpoints,
        }

    async def explain(self, query: str) -> dict[str, Any]:
        """The cluster in which a statement would run, and the clusters of its tables.

        `query` is a URL's query with the statement as `sql`, and optionally the current `database`
        and the pinned `cluster`. Raises NotFound without a statement, and a CausewayError.
        """
        parameters = dict(parse_qsl(query))
        topology, sql = self._server.topology, parameters.get("sql", "")
        if not sql or not topology.in_use:
            raise NotFound("There is no parameter sql, or no cluster is configured.")
        database = {USE_DATABASE: parameters.get("database", DEFAULT_DATABASE)}
        session = SessionState.opened("", NEWEST_PROTOCOL, database, topology)
        if "cluster" in parameters:
            use_cluster(session, parameters["cluster"])
        return (await dry_run(sql, session, self._server.router)).document()

    def cache(self) -> dict[str, int]:
        return dict(self._server.router.snapshot.counts())

    def health(self) -> dict[str, str]:
        return {"status": "stopping" if self._server.stopping else "ok"}

    def admission(self) -> dict[str, Any]:
        """The message of maintenance, null if there is none, and the blocked users."""
        admission = self._server.admission
        return {"maintenance": admission.maintenance or None, "blocked": admission.blocked}

    def samples(self) -> list[Sample]:
        """The metrics: the counters, and the gauges with their current values."""
        server, observer, health = self._server, self._server.observer, self._server.pool.health
        gauges: list[Sample] = [
            ("causeway_connections", (), len(self._limiter)),
            ("causeway_sessions", (), len(server.sessions)),
            ("causeway_statements_running", (), server.running),
            ("causeway_operations", (), len(server.operations)),
            ("causeway_tables_cached", (), self.cache().get("tables", 0)),
            ("causeway_catalog_total", ("memory",), server.router.analysis.from_memory),
            ("causeway_catalog_total", ("loaded",), server.router.analysis.loaded),
            (QUEUE, ("write",), server.services.write_places.waiting),
            (QUEUE, ("statement",), len(server.statements.queue)),
            (QUEUE, ("server",), server.pool.busy.waiting),
            (QUEUE, ("analysis",), server.router.analysis.waiting),
        ]
        record_queues = {
            "audit": observer.audit,
            "history": observer.history,
            "telemetry": observer.telemetry,
        }
        for name, queue in record_queues.items():
            if queue is not None:
                gauges.append((f"causeway_{name}_dropped_total", (), queue.dropped))
                gauges.append((QUEUE, (name,), queue.waiting))
        for cluster in server.clusters():
            for endpoint in cluster.hs2:
                labels = (str(cluster.name), str(endpoint))
                up = health.condition(endpoint).up
                drained = health.is_drained(endpoint) or health.is_drained(cluster.name)
                gauges += [
                    ("causeway_endpoint_up", labels, float(up is not False)),
                    ("causeway_endpoint_drained", labels, float(drained)),
                    ("causeway_endpoint_connections", labels, server.pool.held(endpoint)),
                    ("causeway_endpoint_opening", labels, server.pool.waiting_for(endpoint)),
                ]
        lags = copy_lags(server.router.snapshot.lacking_since(), time.time())
        return [*observer.metrics.samples(), *gauges, *lags]

    # Requests that change something

    async def kill_session(self, session: str) -> dict[str, int]:
        """Closes a session and its statements, here and in the clusters."""
        for each in self._server.sessions.items():
            if each.handle.guid.hex() == session:
                fields = extra(session=session, user=each.state.user)
                _log.info("an operator closes the session", extra=fields)
                await self._server.close(each)
                return {"killed": 1}
        return {"killed": 0}

    async def kill_statement(self, statement: str) -> dict[str, int]:
        """Cancels a statement; the session stays open."""
        for each in self._server.operations.items():
            if each.operation.record.statement == statement and not each.operation.ended:
                fields = extra(statement=statement, user=each.operation.record.user)
                _log.info("an operator cancels the statement", extra=fields)
                await each.operation.cancel()
                return {"killed": 1}
        return {"killed": 0}

    async def block(self, user: str) -> dict[str, int]:
        """Accepts no more sessions of the user, and closes the open ones, also those in which the
        user impersonates another user."""
        admission = self._server.admission
        _log.info("an operator blocks the user", extra=extra(user=user))
        admission.block(user)
        sessions = self._server.sessions.items()
        blocked = [each for each in sessions if admission.is_blocked(each.state.user, each.by)]
        await asyncio.gather(*(self._server.close(each) for each in blocked))
        return {"closed": len(blocked)}

    async def unblock(self, user: str) -> dict[str, int]:
        """Accepts sessions of the user again. Raises NotFound for a user that is not blocked."""
        if not self._server.admission.unblock(user):
            raise NotFound(f"The user {user!r} is not blocked.")
        _log.info("an operator unblocks the user", extra=extra(user=user))
        return {"unblocked": 1}

    async def begin_maintenance(self, message: str) -> dict[str, int]:
        """Accepts no more statements; running statements continue."""
        _log.info("an operator begins maintenance: %s", message)
        self._server.admission.maintenance = message
        return {"running": self._server.running}

    async def end_maintenance(self, _: str) -> dict[str, int]:
        """Accepts statements again."""
        _log.info("an operator ends maintenance")
        self._server.admission.maintenance = ""
        return {"running": self._server.running}

    async def drain(self, name: str) -> dict[str, int]:
        """Opens no new sessions in a cluster or at an endpoint. Raises NotFound."""
        place, _ = self._place(name)
        _log.info("an operator drains %s", name)
        self._server.pool.health.drain(place)
        return {"drained": 1}

    async def resume(self, name: str) -> dict[str, int]:
        """Opens new sessions there again, after a health check of the cluster. Raises NotFound."""
        place, clusters = self._place(name)
        _log.info("an operator resumes %s", name)
        self._server.pool.health.resume(place)
        await check_all(self._server.pool, clusters)
        return {"resumed": 1}

    def _place(self, name: str) -> tuple[Drainable, list[Cluster]]:
        for cluster in self._server.clusters():
            if cluster.name == name:
                return ClusterName(name), [cluster]
            for endpoint in cluster.hs2:
                if str(endpoint) == name:
                    return endpoint, [cluster]
        raise NotFound(f"There is no cluster or endpoint {name!r}.")

    def reload(self) -> dict[str, list[str]]:
        """Applies the settings that may change at run time; returns their names, and the names of
        changed settings that need a restart.

        Raises a CausewayError for settings that cannot be read; then nothing changes.
        """
        if self._read_settings is None:
            raise NotFound("The settings were not read from a file.")
        result = reloaded(self._server.router.settings, self._read_settings())
        limits = DEFAULT.of(result.settings.operating)
        self._server.reconfigure(result.settings, limits)
        self._limiter.apply_limits(limits)
        set_log_level(result.settings.operating.log_level)
        _log.info("settings reloaded: %s", ", ".join(result.changed) or "nothing changed")
        if result.restart:
            _log.warning("these settings need a restart: %s", ", ".join(result.restart))
        return {"changed": list(result.changed), "restart": list(result.restart)}

    def reload_at_signal(self) -> None:
        """Reloads the settings at SIGHUP; a failure is logged."""
        if self._server.peers.number == 0:  # one worker reports it for all
            self._server.observer.administered(actions.RELOAD, "", ApiCaller("SIGHUP"))
        try:
            self.reload()
        except CausewayError as error:
            _log.error("settings not reloaded: %s", error)

    async def finish(self) -> None:
        """Accepts no new work, and waits until all statements have ended, at most for
        `Limits.drain`. Then ends the remaining statements and closes the clients' connections, with
        the reason if the protocol allows that."""
        server, loop = self._server, asyncio.get_running_loop()
        deadline = loop.time() + server.limits.drain
        server.stopping = True
        if self._deregister is not None:
            await asyncio.to_thread(self._deregister)
        self._limiter.closing_reason = str(Stopping())
        self._listeners.close_binary()
        while loop.time() < deadline and not self._is_idle(loop.time()):  # noqa: ASYNC110
            await asyncio.sleep(_STEP)
        self._listeners.close()
        await self._end_statements()
        await self._dismiss_clients()

    async def _end_statements(self) -> None:
        """Ends all statements with CW215, and waits until their clients have received it."""
        operations = [each.operation for each in self._server.operations.items()]
        running = [each for each in operations if not each.ended]
        if not running:
            return
        failure = failure_of(Stopping())
        ends = [asyncio.ensure_future(each.end(failure)) for each in running]
        _, unfinished = await asyncio.wait(ends, timeout=_LAST_REPLIES)
        for each in unfinished:
            each.cancel()
        await _until(lambda: all(each.task is None for each in self._limiter.clients))

    async def _dismiss_clients(self) -> None:
        """Closes all connections, and waits for that for a short time."""
        text = str(Stopping())
        farewell = application_exception("ExecuteStatement", 0, text, INTERNAL_ERROR_CODE)
        for client in list(self._limiter.clients):
            client.dismiss(farewell)
        await _until(lambda: not self._limiter.clients)

    def _is_idle(self, now: float) -> bool:
        """Whether no statement or call runs, and no client is fetching a result."""
        if self._server.running:
            return False
        if any(session.open_calls for session in self._server.sessions.items()):
            return False
        operations = (each.operation for each in self._server.operations.items())
        return not any(
            each.state is OperationState.FINISHED and now - each.used < _FETCHING
            for each in operations
        )


async def _until(condition: Callable[[], bool]) -> None:
    """Waits until the condition holds, or for `_LAST_REPLIES`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_REPLIES):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(_STEP)


def _session(session: UserSession, now: float) -> dict[str, Any]:
    state = session.state
    operations = session.operations.values()
    return {
        "session": session.handle.guid.hex(),
        "user": state.user,
        "address": session.address,
        "application": session.application,
        "opened": round(session.opened, 3),
        "idle": round(now - session.used, 3),
        "pinned": state.pinned,
        "database": state.database,
        "clusters": {name: str(endpoint) for name, endpoint in session.upstreams().items()},
        "operations": len(operations),
        "running": sum(not each.ended for each in operations),
        "last": _last_text(session),
    }


def _last_text(session: UserSession) -> str:
    texts = [each.record.text for each in session.operations.values() if each.record.text.length]
    return texts[-1].brief()[:200] if texts else ""
