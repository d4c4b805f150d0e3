"""The history of statements, read from its database (`history.store`)."""

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
RECENT = 300  # statements
_FRESH = 0.9  # seconds for which an answer is shown to others, too


class HistoryClient:
    """Raises SourceDown where there is no history, or its database does not answer in time."""

    def __init__(self, settings: Settings) -> None:
        url = settings.operating.history_store
        self._history = HistoryRunner(url, "") if url else None
        self._recent = Cached(self._last_minute, _FRESH)

    async def page(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """`statements`, the newest first, and `next` (docs/reference/rest.md#history). Raises
        BadSearch."""
        return await self.answer("statements", parameters)

    async def answer(self, question: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The answer to a question of `database.history.questions`. Raises BadSearch."""
        async with _named():
            return await self._known().answer(question, parameters)

    async def recent(self) -> list[dict[str, Any]]:
        """The statements that arrived in the last minute and ended, `RECENT` at most. Viewers that
        ask at about the same time cost the database one search."""
        return await self._recent.get()

    async def _last_minute(self) -> list[dict[str, Any]]:
        since = str(time.time() - MINUTE)
        found = await self.page({"since": since, "limit": str(RECENT)})
        return list(found["statements"])

    async def statement(self, number: str) -> dict[str, Any] | None:
        """The statement with this id that ended; None: there is none."""
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
