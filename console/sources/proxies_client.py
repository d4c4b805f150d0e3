"""Calls the administration of all proxies: running statements, health of clusters, and decisions
(docs/reference/rest.md)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from conf.settings.settings import Settings
from conf.topology import Endpoint
from console.errors import NotSetUp, Refused, SourceDown
from console.sources.cached import Cached, within
from console.sources.http_client import Api, call, text
from proxy.auth.thread_pool import DaemonThreads

_PATIENCE = 15.0  # seconds for a request
_FRESH = 0.9  # seconds for which a response serves other viewers, too
_THREADS = 16
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answers:
    """The responses of the proxies. `problems` has a sentence for each that did not answer."""

    by_proxy: dict[Endpoint, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """The rows of all proxies; each row has its `proxy`."""
        return [
            row | {"proxy": str(proxy)} for proxy, rows in self.by_proxy.items() for row in rows
        ]


class Proxies:
    """All proxies. Methods raise SourceDown if no proxy answers."""

    def __init__(self, settings: Settings) -> None:
        own = settings.operating.admin
        self.endpoints: Sequence[Endpoint] = settings.console.proxies or ([own] if own else [])
        self._token = settings.operating.admin_token
        self._access = settings.operating.access
        self._threads = DaemonThreads(_THREADS, "proxies")
        self._statements = Cached(partial(self._all, "/v1/statements"), _FRESH)
        self._sessions = Cached(partial(self._all, "/v1/sessions"), _FRESH)
        self._copies = Cached(partial(self._all, "/v1/copies"), _FRESH)
        self._clusters = Cached(partial(self._all, "/v1/clusters"), _FRESH)
        self._metrics = Cached(partial(self._first, self._text, "/metrics"), _FRESH)

    async def statements(self) -> Answers:
        """Statements that are not closed."""
        return await self._statements.get()

    async def sessions(self) -> Answers:
        """Open sessions of clients."""
        return await self._sessions.get()

    async def copies(self) -> Answers:
        """Running copies for statements."""
        return await self._copies.get()

    async def clusters(self) -> Answers:
        """Clusters and their Thrift Servers."""
        return await self._clusters.get()

    async def metrics(self) -> str:
        """The metrics of the first proxy that answers, in Prometheus's text format."""
        return await self._metrics.get()

    async def explain(self, sql: str, database: str = "default", cluster: str = "") -> Any:
        """The decision for a statement, which is not run. Raises Refused with the API's error."""
        parameters = {"sql": sql, "database": database or "default"}
        parameters |= {"cluster": cluster} if cluster else {}
        path = f"/v1/explain?{urlencode(parameters)}"
        return await self._first(partial(self._call, "GET"), path)

    async def kill_statement(self, statement: str) -> None:
        """Cancels a statement in the proxy that runs it. Raises Refused if none does."""
        await self._post_to_any(f"/v1/statements/{quote(statement, safe='')}/kill")

    async def drain(self, cluster: str, resume: bool = False) -> None:
        """Drains a cluster in all proxies, or ends that. Raises SourceDown if a proxy does not
        answer."""
        action = "resume" if resume else "drain"
        answers = await self._all(f"/v1/clusters/{quote(cluster, safe='')}/{action}", "POST")
        if answers.problems:
            raise SourceDown("a proxy", "; ".join(answers.problems))

    async def _first(self, request: Callable[[str, Endpoint], Awaitable[T]], path: str) -> T:
        """The response of the first proxy that answers."""
        problems = []
        for proxy in self._known():
            try:
                return await request(path, proxy)
            except SourceDown as error:
                problems.append(error.reason)
        raise SourceDown("the proxy", "; ".join(problems))

    async def _post_to_any(self, path: str) -> None:
        """Posts to all proxies. Raises Refused unless one accepts the request."""
        answers = await self._all(path, "POST")
        if not answers.by_proxy:
            raise Refused("; ".join(answers.problems))

    async def _all(self, path: str, method: str = "GET") -> Answers:
        """The responses of all proxies. Raises SourceDown if none answers."""
        known = self._known()
        calls = (self._call(method, path, each) for each in known)
        results = await asyncio.gather(*calls, return_exceptions=True)
        found, problems, refusals = {}, [], 0
        for proxy, result in zip(known, results, strict=True):
            if isinstance(result, SourceDown):
                problems.append(result.reason)
            elif isinstance(result, Refused):
                refusals += 1
                problems.append(str(result))
            elif isinstance(result, BaseException):
                raise result
            else:
                found[proxy] = result
        if not found and not refusals:
            raise SourceDown("the proxy", "; ".join(problems))
        return Answers(found, tuple(problems))

    async def _call(self, method: str, path: str, proxy: Endpoint) -> Any:
        api = self._api(proxy)
        request = self._threads.run(partial(call, api, method, path))
        return await within(_PATIENCE, api.source, request)

    async def _text(self, path: str, proxy: Endpoint) -> str:
        api = self._api(proxy)
        return await within(_PATIENCE, api.source, self._threads.run(partial(text, api, path)))

    def _api(self, proxy: Endpoint) -> Api:
        return Api(f"the proxy at {proxy}", proxy, self._access, self._token)

    def _known(self) -> Sequence[Endpoint]:
        if not self.endpoints:
            raise NotSetUp("the proxy", "proxy.admin.port")
        return self.endpoints
