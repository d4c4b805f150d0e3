"""Reads the history from its database (`history.store`)."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from conf.settings.settings import Settings
from console.errors import NotSetUp, SourceDown
from console.sources.cached import Cached
from database.errors import StoreUnavailable
from proxy.operations.history.history_runner import HistoryRunner

SOURCE = "the history"
MINUTE = 60.0  # seconds
RECENT = 300  # most statements of the last minute
_FRESH = 0.9  # seconds for which an answer serves other viewers, too


class HistoryClient:
    """The history. Methods raise SourceDown if there is none, or if its database does not answer in
    time."""

    def __init__(self, settings: Settings) -> None:
        url = settings.operating.history_store
        self._history = HistoryRunner(url, "") if url else None
        self._recent = Cached(self._last_minute, _FRESH)

    async def page(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """A page of `statements`, the newest first, and `next` (docs/reference/rest.md#history).
        Raises BadSearch."""
        return await self.answer("statements", parameters)

    async def answer(self, question: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The answer to a question of `database.history.questions`. Raises BadSearch."""
        async with _named():
            return await self._known().answer(question, parameters)

    async def recent(self) -> list[dict[str, Any]]:
        """The ended statements that arrived in the last minute, `RECENT` at most. Requests at about
        the same time share one search."""
        return await self._recent.get()

    async def _last_minute(self) -> list[dict[str, Any]]:
        since = str(time.time() - MINUTE)
        found = await self.page({"since": since, "limit": str(RECENT)})
        return list(found["statements"])

    async def statement(self, number: str) -> dict[str, Any] | None:
        """The ended statement with this id; None if there is none."""
        found = await self.page({"statement": number, "limit": "1"})
        return found["statements"][0] if found["statements"] else None

    def _known(self) -> HistoryRunner:
        if self._history is None:
            raise NotSetUp(SOURCE, "history.store")
        return self._history


@asynccontextmanager
async def _named() -> AsyncIterator[None]:
    try:
        yield
    except StoreUnavailable as error:
        raise SourceDown(SOURCE, str(error)) from error
