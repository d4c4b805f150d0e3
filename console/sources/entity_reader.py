"""Parses the documents of feeds, processes and clusters that the lifecycle lists. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.falcon.documents import document
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.errors import BadDocument


class EntityReader:
    """Parses lists of documents. Documents of the previous list are not parsed again."""

    def __init__(self) -> None:
        self._parsed: dict[str, Entity | None] = {}  # by text; None for invalid documents

    def read(self, documents: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Entity]:
        """The entities with valid documents, by kind and name."""
        before, self._parsed = self._parsed, {}
        found: dict[tuple[str, str], Entity] = {}
        for each in documents:
            text = each["document"]
            entity = before[text] if text in before else _parse(text)
            self._parsed[text] = entity
            if entity is not None:
                found[each["kind"], each["name"]] = entity
        return found


def _parse(text: str) -> Entity | None:
    try:
        return document.read(text.encode())
    except BadDocument:
        return None  # it was valid for another release
