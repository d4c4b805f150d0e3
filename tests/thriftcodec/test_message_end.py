"""A message's end is the same for pieces of any sizes, and finding it costs the same."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thriftcodec import message_end, skip
from thriftcodec.errors import MalformedMessage
from thriftcodec.message_end import MessageEnd
from thriftcodec.values import (
    BOOL,
    DOUBLE,
    I64,
    LIST,
    MAP,
    SET,
    STRING,
    STRUCT,
    Items,
    Pairs,
    Struct,
)
from thriftcodec.writer import call_bytes

_FIELDS: list[tuple[int, object]] = [
    (LIST, Items(STRUCT, [Struct({1: (STRING, "x" * 70)}), Struct(), Struct({2: (I64, 7)})])),
    (SET, Items(I64, range(20))),
    (MAP, Pairs(STRING, MAP, {"a": Pairs(I64, STRUCT, {1: Struct()}), "b": Pairs(0, 0)})),
    (LIST, Items(LIST, [Items(STRING, ["", "y"]), Items(0)])),
    (STRUCT, Struct({1: (STRUCT, Struct({-1: (BOOL, 1), 2: (DOUBLE, 0.5)}))})),
]
_CALL = call_bytes("add_partitions", 7, Struct(dict(enumerate(_FIELDS, 1))))
_EMPTY = call_bytes("f", 1, Struct())[:-1]


def end_of(data: bytes, sizes: list[int]) -> int | None:
    """The end of a message that arrives in pieces of these sizes, repeated."""
    finder, at, number = MessageEnd(), 0, 0
    while at < len(data):
        piece = data[at : at + sizes[number % len(sizes)]]
        end = finder.feed(piece)
        if end is not None:
            return at + end
        at += len(piece)
        number += 1
    return None


@given(st.lists(st.integers(1, 100), min_size=1, max_size=8), st.binary(max_size=9))
def test_any_pieces_end_in_the_same_place(sizes: list[int], after: bytes) -> None:
    assert end_of(_CALL + after, sizes) == len(_CALL)
    assert end_of(_CALL[:-1], sizes) is None


def test_byte_by_byte() -> None:
    assert end_of(_CALL, [1]) == len(_CALL)


def test_the_bytes_of_a_long_text_are_not_kept() -> None:
    finder = MessageEnd()
    call = call_bytes("f", 1, Struct({1: (STRING, "x" * 10_000_000)}))
    first, second = call[:5_000_000], call[5_000_000:]
    tracemalloc.start()
    try:
        assert finder.feed(first) is None
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000
    assert finder.feed(second) == len(second)


def test_each_byte_is_read_once_in_any_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers = 0
    plain = skip.read_field_header

    def counted(data: bytes | bytearray, at: int) -> tuple[int, int, int]:
        nonlocal headers
        headers += 1
        return plain(data, at)

    monkeypatch.setattr(skip, "read_field_header", counted)
    monkeypatch.setattr(message_end, "read_field_header", counted)
    one = Struct({1: (STRING, "value"), 2: (LIST, Items(STRUCT, [Struct()] * 3))})
    call = call_bytes(
        "f", 1, Struct({1: (STRUCT, Struct({3: (LIST, Items(STRUCT, [one] * 400))}))})
    )
    assert end_of(call, [len(call)]) == len(call)
    at_once, headers = headers, 0
    assert end_of(call, [100]) == len(call)
    assert headers < 1.5 * at_once


@pytest.mark.parametrize(
    "bad",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        _CALL[:4] + b"\xff\xff\xff\xff" + _CALL[8:],
        _CALL[:-1] + b"\x05\0\1",  # an unknown type
        _EMPTY + bytes((STRUCT, 0, 1)) * 70,
        _EMPTY + bytes((LIST, 0, 1, STRING)) + b"\xff" * 4,
    ],
)
def test_bytes_that_cannot_be_a_message_are_refused(bad: bytes) -> None:
    for size in (1, len(bad)):
        with pytest.raises(MalformedMessage):
            end_of(bad, [size])


@given(st.binary(max_size=200))
def test_any_bytes_are_complete_incomplete_or_malformed(data: bytes) -> None:
    for candidate in (data, _EMPTY + data):
        try:
            end = MessageEnd().feed(candidate)
        except MalformedMessage:
            continue
        assert end is None or 0 < end <= len(candidate)
