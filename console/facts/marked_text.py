"""A statement's text in pieces, with the tables that it names marked. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dialect.lexing.text_tokens import tokens

_PART = re.compile(r"`[^`]*`|[^.`]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """`table` is the table that the piece names, empty for other text; `state` is a state of the
    table, and `words` say where it is."""

    text: str
    table: str = ""
    state: str = ""
    words: str = ""


def pieces(text: str, database: str, tables: Mapping[str, tuple[str, str]]) -> list[Piece]:
    """The text, with the names of `tables` (`db.table` to a state and words about it) marked.
    Names in literals and comments are left alone; a name without a database is of `database`."""
    found: list[Piece] = []
    plain = 0
    for start, end, parts in _names(text):
        table = ".".join(parts[-2:] if len(parts) > 1 else (database, *parts)).lower()
        if table in tables:
            found += [Piece(text[plain:start])] if plain < start else []
            found.append(Piece(text[start:end], table, *tables[table]))
            plain = end
    return [*found, Piece(text[plain:])] if plain < len(text) or not found else found


def _names(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Each dotted name: where it begins and ends, and its parts without backquotes."""
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
