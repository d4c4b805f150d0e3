"""Edges between tables, as the history answers them."""

from typing import Any


def made(source: str, target: str, statements: int = 1) -> dict[str, Any]:
    day = "2026-01-31T00:00:00.000Z"
    return {
        "source": source,
        "target": target,
        "statements": statements,
        "last": day,
        "example": "a1",
    }
