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
    ObjectSpans,
    Shape,
    Span,
    encoded,
    entries,
    is_partitioned,
)
from thriftcodec.skip import text_at
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
    data: bytes | bytearray, spans: ObjectSpans, shape: Shape, facts: Mapping[str, str]
) -> list[Edit]:
    """The edits that replace the facts in a client's object by `facts`, for the metastore."""
    edits = _parameters(data, spans, shape, facts)
    span = spans.fields.get(_VIEW_TEXT) if shape is Shape.TABLE else None
    if span is not None and data.startswith(_HIDDEN, span[0] + _LENGTH):
        edits.append((span[0] - _FIELD_HEADER, span[1], b""))
    return edits


def with_hidden_facts(
    data: bytes | bytearray, spans: ObjectSpans, shape: Shape, own: Changes = _NONE
) -> list[Edit]:
    """The edits that remove the `causeway.` parameters of an object in a reply, and put those of a
    table into its `viewOriginalText`. `own` has new values of other parameters.

    A partitioned table without facts gets an empty JSON object there. So the guard can see that
    facts of the table's partitions may be hidden.
    """
    edits = _without_facts(data, spans.parameters, own) if spans.facts and spans.parameters else []
    if shape is not Shape.TABLE or not (spans.facts or is_partitioned(data, spans)):
        return edits
    kind = spans.fields.get(_TABLE_TYPE)
    if kind is None or text_at(data, kind[0]) not in _TABLE_TYPES:
        return edits
    hidden = encoded(HIDDEN_FACTS + json.dumps(spans.facts))
    if (span := spans.fields.get(_VIEW_TEXT)) is not None:
        return [*edits, (*span, hidden)]
    header = bytes((STRING,)) + _VIEW_TEXT.to_bytes(2, "big")
    return [*edits, (spans.end - 1, spans.end - 1, header + hidden)]


def with_parameters(data: bytes | bytearray, spans: ObjectSpans, own: Changes) -> list[Edit]:
    """The edits that give the parameters in `own` new values, or remove them."""
    if not own or spans.parameters is None:
        return []
    edits, removed = _changed(data, spans.parameters, own)
    return [*edits, _count(data, spans.parameters, removed)]


def _without_facts(data: bytes | bytearray, span: Span, own: Changes) -> list[Edit]:
    """The edits that cut the `causeway.` parameters out. The others keep their place, because this
    runs for each of many partitions."""
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
    """The edits for the parameters in `own`, and how many entries they remove."""
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
    data: bytes | bytearray, spans: ObjectSpans, shape: Shape, facts: Mapping[str, str]
) -> list[Edit]:
    if spans.parameters is None:
        if not facts:
            return []
        header = bytes((MAP,)) + LAYOUTS[shape].parameters.to_bytes(2, "big")
        at = spans.end - 1
        return [(at, at, header + _map((), facts))]
    kept = []
    for key, (start, end) in entries(data, spans.parameters):
        if not key.startswith(_RESERVED):
            kept.append(bytes(data[start:end]))
    return [(*spans.parameters, _map(kept, facts))]


def _map(kept: list[bytes] | tuple[()], facts: Mapping[str, str]) -> bytes:
    pairs = [encoded(key) + encoded(value) for key, value in facts.items()]
    count = (len(kept) + len(pairs)).to_bytes(4, "big")
    return b"".join((bytes((STRING, STRING)), count, *kept, *pairs))
