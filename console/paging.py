"""Divides long lists into pages by the query parameter `page`. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode


@dataclass(frozen=True, slots=True)
class Pager:
    """The page `number` of `count` pages, counted from 1. It has the items from `first` to before
    `end` of `total`. `previous` and `next` are the queries of the neighbouring pages; empty if
    there is none."""

    number: int
    count: int
    first: int
    end: int
    total: int
    previous: str = ""
    next: str = ""


def pager(query: Mapping[str, str], total: int, size: int) -> Pager:
    """The page that the query names, or the nearest existing one."""
    count = max(1, -(-total // size))
    wanted = query.get("page", "1")
    number = min(max(int(wanted), 1), count) if wanted.isdecimal() else 1
    return Pager(
        number,
        count,
        (number - 1) * size,
        min(number * size, total),
        total,
        changed(query, page=str(number - 1)) if number > 1 else "",
        changed(query, page=str(number + 1)) if number < count else "",
    )


def changed(query: Mapping[str, str], **changes: str) -> str:
    """The query with changed values; empty values are left out."""
    values = {**query, **changes}
    return "?" + urlencode({name: value for name, value in values.items() if value})


def links(query: Mapping[str, str]) -> Callable[..., str]:
    """The function `link` of templates: `link(sort="table")` is the page's query with that sort."""
    return partial(changed, query)
