"""Marks the tables that a statement's text names. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dialect.lexing.text_tokens import tokens

_PART = re.compile(r"`[^`]*`|[^.`]+")


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """A piece of the text. `table` is the table that it names, empty for other text; `state` is the
    table's state, and `words` has its state in each cluster."""

    text: str
    table: str = ""
    state: str = ""
    words: str = ""


def pieces(text: str, database: str, tables: Mapping[str, tuple[str, str]]) -> list[MarkedPiece]:
    """The text in pieces, with the names of `tables` marked. `tables` maps `db.table` to its state
    and words. Names in literals and comments are not marked. A name without a database belongs to
    `database`."""
    found: list[MarkedPiece] = []
    plain = 0
    for start, end, parts in _names(text):
        table = ".".join(parts[-2:] if len(parts) > 1 else (database, *parts)).lower()
        if table in tables:
            found += [MarkedPiece(text[plain:start])] if plain < start else []
            found.append(MarkedPiece(text[start:end], table, *tables[table]))
            plain = end
    return [*found, MarkedPiece(text[plain:])] if plain < len(text) or not found else found


def _names(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yields start, end and parts, without backquotes, of each dotted name."""
    start = end = 0
    for token in tokens(text):
        if token.kind == "name" and token.start == end:
            end = token.end
            continue
        if start < end:
            yield start, end, _parts(text[start:end])
        start = token.start if token.kind == "name" else token.end
        end = token.end
    if start < end:
        yield start, end, _parts(text[start:end])


def _parts(name: str) -> list[str]:
    return [each.strip("`") for each in _PART.findall(name)] or [name]
