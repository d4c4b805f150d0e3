"""Calls of sources that a page can do without."""

from collections.abc import Awaitable
from typing import TypeVar

from console.errors import Refused, SourceDown

T = TypeVar("T")


async def optional(call: Awaitable[T], default: T, problems: list[str]) -> T:
    """The result of the call. If its source does not answer, adds the reason to `problems` and
    returns `default`."""
    try:
        return await call
    except (SourceDown, Refused) as error:
        problems.append(str(error))
        return default
