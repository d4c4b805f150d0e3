"""Edits of an object's `causeway.` parameters (D12), in requests and in replies.

Clients that name no cluster do not see these parameters, so that no statement of SQL shows them.
The guard in a cluster's Spark needs a table's facts as they were when Spark read its location. They
are in the table's `viewOriginalText`, which is empty for a table, which Spark keeps with it, and
which no statement shows for a table.
"""

import json
from collections.abc import Mapping
from struct import Struct as Format

from conf.placement import RESERVED_PREFIX
from metastore.client.object_spans import (
    LAYOUTS,
    Edit,
    Found,
    Shape,
    Span,
    encoded,
    entries,
    is_partitioned,
    text,
)
from thriftcodec.values import MAP, STRING

HIDDEN_FACTS = "-- causeway "
"""The beginning of a table's `viewOriginalText`; a JSON object of parameters follows."""

Changes = Mapping[str, str | None]
"""New values of parameters, by name; None: without the parameter."""
_NONE: Changes = {}
_RESERVED = RESERVED_PREFIX.encode()
_HIDDEN = HIDDEN_FACTS.encode()
_VIEW_TEXT, _TABLE_TYPE = 10, 12  # fields of Table
_TABLE_TYPES = ("MANAGED_TABLE", "EXTERNAL_TABLE")
_FIELD_HEADER = 3  # bytes: type and number
_LENGTH = 4  # bytes before a string
_MAP_TYPES, _MAP_HEADER = 2, 6  # bytes: the types, and with them the number of entries
_U32 = Format(">I").unpack_from


def with_facts(
    data: bytes | bytearray, found: Found, shape: Shape, ours: Mapping[str, str]
) -> list[Edit]:
    """Replaces the facts that the client sent by `ours`, as the metastore keeps them."""
    edits = _parameters(data, found, shape, ours)
    span = found.fields.get(_VIEW_TEXT) if shape is Shape.TABLE else None
    if span is not None and data.startswith(_HIDDEN, span[0] + _LENGTH):
        edits.append((span[0] - _FIELD_HEADER, span[1], b""))
    return edits


def with_hidden_facts(
    data: bytes | bytearray, found: Found, shape: Shape, own: Changes = _NONE
) -> list[Edit]:
    """Removes the `causeway.` parameters; a table's facts go to its `viewOriginalText`. The other
    parameters in `own` get these values, or are removed.

    A partitioned table without facts has an empty object there: the guard learns from it that
    parameters of its partitions may be hidden.
    """
    edits = _without_facts(data, found.parameters, own) if found.ours and found.parameters else []
    if shape is not Shape.TABLE or not (found.ours or is_partitioned(data, found)):
        return edits
    kind = found.fields.get(_TABLE_TYPE)
    if kind is None or text(data, kind[0]) not in _TABLE_TYPES:
        return edits
    facts = encoded(HIDDEN_FACTS + json.dumps(found.ours))
    if (span := found.fields.get(_VIEW_TEXT)) is not None:
        return [*edits, (*span, facts)]
    header = bytes((STRING,)) + _VIEW_TEXT.to_bytes(2, "big")
    return [*edits, (found.end - 1, found.end - 1, header + facts)]


def with_parameters(data: bytes | bytearray, found: Found, own: Changes) -> list[Edit]:
    """Gives parameters other values, or removes them."""
    if not own or found.parameters is None:
        return []
    edits, removed = _changed(data, found.parameters, own)
    return [*edits, _count(data, found.parameters, removed)]


def _without_facts(data: bytes | bytearray, span: Span, own: Changes) -> list[Edit]:
    """Leaves the other parameters where they are. It runs for each of many partitions."""
    edits: list[Edit] = []
    at = span[0] + _MAP_HEADER
    while at < span[1]:
        middle = at + _LENGTH + _U32(data, at)[0]
        end = middle + _LENGTH + _U32(data, middle)[0]
        if data.startswith(_RESERVED, at + _LENGTH):
            edits.append((at, end, b""))
        at = end
    changed, removed = _changed(data, span, own) if own else ([], 0)
    return [*edits, *changed, _count(data, span, len(edits) + removed)]


def _changed(data: bytes | bytearray, span: Span, own: Changes) -> tuple[list[Edit], int]:
    """The edits, and how many entries they remove."""
    edits: list[Edit] = []
    removed = 0
    for key, (start, end) in entries(data, span):
        name = key.decode("utf-8", "surrogateescape")
        if name in own:
            value = own[name]
            removed += value is None
            kept = b"" if value is None else encoded(name) + encoded(value)
            edits.append((start, end, kept))
    return edits, removed


def _count(data: bytes | bytearray, span: Span, removed: int) -> Edit:
    count = _U32(data, span[0] + _MAP_TYPES)[0] - removed
    return span[0] + _MAP_TYPES, span[0] + _MAP_HEADER, count.to_bytes(4, "big")


def _parameters(
    data: bytes | bytearray, found: Found, shape: Shape, ours: Mapping[str, str]
) -> list[Edit]:
    if found.parameters is None:
        if not ours:
            return []
        header = bytes((MAP,)) + LAYOUTS[shape].parameters.to_bytes(2, "big")
        at = found.end - 1
        return [(at, at, header + _map((), ours))]
    kept = []
    for key, (start, end) in entries(data, found.parameters):
        if not key.startswith(_RESERVED):
            kept.append(bytes(data[start:end]))
    return [(*found.parameters, _map(kept, ours))]


def _map(kept: list[bytes] | tuple[()], ours: Mapping[str, str]) -> bytes:
    pairs = [encoded(key) + encoded(value) for key, value in ours.items()]
    count = (len(kept) + len(pairs)).to_bytes(4, "big")
    return b"".join((bytes((STRING, STRING)), count, *kept, *pairs))
