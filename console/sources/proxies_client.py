"""The administration of all proxies: what runs, the clusters' health, and where a statement would
run (docs/reference/rest.md)."""

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

_PATIENCE = 15.0  # seconds for all proxies
_FRESH = 0.9  # seconds for which an answer is shown to others, too
_THREADS = 16
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of the proxies that answer, and why the others do not: a sentence for each."""

    by_proxy: dict[Endpoint, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """The lists of all proxies as one; each row has its `proxy`."""
        return [
            row | {"proxy": str(proxy)} for proxy, rows in self.by_proxy.items() for row in rows
        ]


class Proxies:
    """Raises SourceDown where no proxy answers. `Answers.problems` names those that do not."""

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
        """Copies that are being made for statements."""
        return await self._copies.get()

    async def clusters(self) -> Answers:
        """Clusters and their Thrift Servers."""
        return await self._clusters.get()

    async def metrics(self) -> str:
        """The metrics of the first proxy that answers, in Prometheus's text format."""
        return await self._metrics.get()

    async def explain(self, sql: str, database: str = "default", cluster: str = "") -> Any:
        """Where a statement would run. Raises Refused for one that the API does not take."""
        asked = {"sql": sql, "database": database or "default"}
        asked |= {"cluster": cluster} if cluster else {}
        return await self._first(partial(self._call, "GET"), f"/v1/explain?{urlencode(asked)}")

    async def kill_statement(self, statement: str) -> None:
        """Cancels a statement, wherever it runs. Raises Refused if it runs nowhere."""
        await self._somewhere(f"/v1/statements/{quote(statement, safe='')}/kill")

    async def drain(self, cluster: str, resume: bool = False) -> None:
        """Opens no new sessions in a cluster, or does so again, in all proxies. Raises SourceDown
        if one of them does not answer."""
        action = "resume" if resume else "drain"
        answers = await self._all(f"/v1/clusters/{quote(cluster, safe='')}/{action}", "POST")
        if answers.problems:
            raise SourceDown("a proxy", "; ".join(answers.problems))

    async def _first(self, ask: Callable[[str, Endpoint], Awaitable[T]], path: str) -> T:
        """The answer of the first proxy that answers."""
        problems = []
        for proxy in self._known():
            try:
                return await ask(path, proxy)
            except SourceDown as error:
                problems.append(error.reason)
        raise SourceDown("the proxy", "; ".join(problems))

    async def _somewhere(self, path: str) -> None:
        """Posts to all proxies, of which one has what is asked for. Raises Refused."""
        answers = await self._all(path, "POST")
        if not answers.by_proxy:
            raise Refused("; ".join(answers.problems))

    async def _all(self, path: str, method: str = "GET") -> Answers:
        """Raises SourceDown if no proxy answers."""
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
