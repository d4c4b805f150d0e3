"""A message's end is the same however it is cut, and finding it costs the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.client import binary, message_end
from metastore.client.binary import (
    I64,
    LIST,
    MAP,
    SET,
    STRING,
    STRUCT,
    Items,
    Malformed,
    Pairs,
    Struct,
)
from metastore.client.message_end import Ending

_ODDS: list[tuple[int, object]] = [
    (LIST, Items(STRUCT, [Struct({1: (STRING, "x" * 30)}), Struct(), Struct({2: (I64, 7)})])),
    (SET, Items(I64, range(20))),
    (MAP, Pairs(STRING, MAP, {"a": Pairs(I64, STRUCT, {1: Struct()}), "b": Pairs(0, 0)})),
    (LIST, Items(LIST, [Items(STRING, ["", "y"]), Items(0)])),
    (STRUCT, Struct({1: (STRUCT, Struct({-1: (binary.BOOL, 1), 2: (binary.DOUBLE, 0.5)}))})),
]
_CALL = binary.call_bytes("add_partitions", 7, Struct(dict(enumerate(_ODDS, 1))))


def found(data: bytes, sizes: list[int]) -> int | None:
    """The end, when the bytes come in pieces of these sizes, over and over."""
    finder, buffer, number = Ending(), bytearray(), 0
    while len(buffer) < len(data):
        size = sizes[number % len(sizes)]
        buffer += data[len(buffer) : len(buffer) + size]
        number += 1
        end = finder.find(buffer)
        if end is not None:
            return end
    return None


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.binary(max_size=9))
def test_however_it_is_cut(sizes: list[int], after: bytes) -> None:
    assert found(_CALL + after, sizes) == len(_CALL)
    assert found(_CALL[:-1], sizes) is None


def test_no_byte_is_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = 0
    plain = binary.read_field_header

    def counted(data: bytes | bytearray, at: int) -> tuple[int, int, int]:
        nonlocal headers
        headers += 1
        return plain(data, at)

    monkeypatch.setattr(binary, "read_field_header", counted)
    monkeypatch.setattr(message_end, "read_field_header", counted)
    one = Struct({1: (STRING, "value"), 2: (LIST, Items(STRUCT, [Struct()] * 3))})
    call = binary.call_bytes(
        "f", 1, Struct({1: (STRUCT, Struct({3: (LIST, Items(STRUCT, [one] * 400))}))})
    )
    assert found(call, [len(call)]) == len(call)
    at_once, headers = headers, 0
    assert found(call, [100]) == len(call)
    assert headers < 1.5 * at_once


@pytest.mark.parametrize(
    "bad",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        _CALL[:-1] + b"\x01\0\1",  # a type that thrift does not have
        binary.call_bytes("f", 1, Struct())[:-1] + bytes((STRUCT, 0, 1)) * 70,
        binary.call_bytes("f", 1, Struct())[:-1] + bytes((LIST, 0, 1, STRING)) + b"\xff" * 4,
    ],
)
def test_what_can_never_end_is_refused(bad: bytes) -> None:
    for size in (1, len(bad)):
        with pytest.raises(Malformed):
            found(bad, [size])
