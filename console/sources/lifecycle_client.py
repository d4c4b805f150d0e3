"""Calls the lifecycle's REST API (docs/reference/rest.md#lifecycle)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from conf.settings.settings import Settings
from console.errors import NotSetUp
from console.sources.cached import Cached, within
from console.sources.entity_reader import EntityReader
from console.sources.http_client import Api, call
from pipeline.falcon.entities.entity import Entity
from proxy.auth.thread_pool import DaemonThreads

SOURCE = "the lifecycle"
MAX_INSTANCES = 5_000  # read for one page of the console
_PAGE = 1_000  # instances of one response
_PATIENCE = 15.0  # seconds for a request
_FRESH, _DOCUMENTS_FRESH = 1.0, 10.0  # seconds for which a response serves other requests, too
_THREADS = 8

Parameters = Sequence[tuple[str, str]]


class LifecycleClient:
    """The lifecycle. Methods raise SourceDown if it does not answer, and Refused with its error."""

    def __init__(self, settings: Settings) -> None:
        self._endpoint = settings.lifecycle.port
        self._token = settings.lifecycle.token
        self._access = settings.operating.access
        self._threads = DaemonThreads(_THREADS, "lifecycle")
        self._entities = Cached(partial(self._get, "/v1/entities"), _FRESH)
        documents = "/v1/entities?documents=true"
        self._documents = Cached(partial(self._get, documents), _DOCUMENTS_FRESH)
        self._reader = EntityReader()
        self._lag = Cached(partial(self._get, "/v1/lag"), _FRESH)

    async def entities(self) -> list[dict[str, Any]]:
        """Clusters, feeds and processes with their status."""
        found: list[dict[str, Any]] = await self._entities.get()
        return found

    async def documents(self) -> list[dict[str, Any]]:
        """Entities with their documents, up to some seconds old."""
        found: list[dict[str, Any]] = await self._documents.get()
        return found

    async def parsed_entities(self) -> dict[tuple[str, str], Entity]:
        """The entities with valid documents, by kind and name."""
        return self._reader.read(await self.documents())

    async def lag(self) -> list[dict[str, Any]]:
        """The lag of replications and processes."""
        found: list[dict[str, Any]] = await self._lag.get()
        return found

    async def page(self, parameters: Parameters) -> dict[str, Any]:
        """A page of `instances`, the newest first, and `next`."""
        found: dict[str, Any] = await self._get(f"/v1/instances?{urlencode(parameters)}")
        return found

    async def instances(self, parameters: Parameters) -> tuple[list[dict[str, Any]], bool]:
        """The matching instances, the newest first, up to MAX_INSTANCES, and whether there are
        more."""
        found: list[dict[str, Any]] = []
        after: str | None = None
        while len(found) < MAX_INSTANCES:
            rest = [("limit", str(_PAGE)), *([("after", after)] if after else [])]
            page = await self.page([*parameters, *rest])
            found += page["instances"]
            if (after := page["next"]) is None:
                return found, False
        return found, True

    async def log(self, kind: str, name: str, start: str = "") -> list[dict[str, Any]]:
        """The log of an entity, or of its instances at the time `start`, the oldest entry first."""
        path = f"/v1/log/{_part(kind)}/{_part(name)}"
        found: list[dict[str, Any]] = await self._get(
            path + (f"?{urlencode({'start': start})}" if start else "")
        )
        return found

    async def retention(self, feed: str) -> list[dict[str, Any]]:
        """The plan of the feed's next eviction, for each cluster."""
        found: list[dict[str, Any]] = await self._get(f"/v1/retention/{_part(feed)}")
        return found

    async def change_instances(
        self, kind: str, name: str, action: str, parameters: Mapping[str, str]
    ) -> dict[str, Any]:
        """Reruns, kills, suspends or resumes instances. Returns the `changed` ones, and the reasons
        why others were `refused`."""
        path = f"/v1/instances/{_part(kind)}/{_part(name)}/{_part(action)}"
        result: dict[str, Any] = await self._call("POST", f"{path}?{urlencode(parameters)}")
        return result

    async def change_entity(self, kind: str, name: str, action: str) -> str:
        """Suspends or resumes an entity. Returns the lifecycle's sentence about it."""
        path = f"/v1/entities/{_part(kind)}/{_part(name)}/{_part(action)}"
        result = await self._call("POST", path)
        self._entities = Cached(partial(self._get, "/v1/entities"), _FRESH)
        return str(result["changed"])

    async def _get(self, path: str) -> Any:
        return await self._call("GET", path)

    async def _call(self, method: str, path: str) -> Any:
        if self._endpoint is None:
            raise NotSetUp(SOURCE, "lifecycle.port")
        api = Api(SOURCE, self._endpoint, self._access, self._token)
        request = partial(call, api, method, path)
        return await within(_PATIENCE, SOURCE, self._threads.run(request))


def _part(text: str) -> str:
    return quote(text, safe="")
