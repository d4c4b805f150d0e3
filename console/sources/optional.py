"""Sources of a part of a page, without which the rest is shown."""

from collections.abc import Awaitable
from typing import TypeVar

from console.errors import Refused, SourceDown

T = TypeVar("T")


async def optional(call: Awaitable[T], instead: T, problems: list[str]) -> T:
    """The result of the call. If its source does not answer, `instead`, and the reason is added to
    `problems`."""
    try:
        return await call
    except (SourceDown, Refused) as error:
        problems.append(str(error))
        return instead
