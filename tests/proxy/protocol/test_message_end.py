"""Where a bare message ends, told in any pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import WireError
from proxy.protocol.binary import (
    BOOL,
    CALL,
    I32,
    I64,
    LIST,
    MAP,
    STRING,
    STRUCT,
    Items,
    Message,
    Pairs,
    Struct,
    encode_message,
)
from proxy.protocol.message_end import EndFinder

INNER: Struct = {1: (STRING, b"x" * 70), 2: (BOOL, True)}
BODY: Struct = {
    1: (STRUCT, INNER),
    2: (LIST, Items(STRUCT, [INNER, {}])),
    3: (MAP, Pairs(STRING, LIST, [(b"k", Items(I64, [1, 2])), (b"", Items(BOOL, [False]))])),
    4: (LIST, Items(STRING, [])),
    5: (I32, 9),
}
DATA = encode_message(Message("Anything", CALL, 5, BODY))


@given(st.lists(st.integers(1, 40), min_size=1))
def test_any_pieces_end_in_the_same_place(sizes: list[int]) -> None:
    finder, at = EndFinder(), 0
    stream = DATA + b"next"
    while at < len(stream):
        piece = stream[at : at + sizes[at % len(sizes)]]
        end = finder.feed(piece)
        if end is not None:
            assert at + end == len(DATA)
            return
        at += len(piece)
    pytest.fail("no end was found")


def test_byte_by_byte() -> None:
    finder = EndFinder()
    ends = [finder.feed(DATA[at : at + 1]) for at in range(len(DATA))]
    assert ends[:-1] == [None] * (len(DATA) - 1)
    assert ends[-1] == 1


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        DATA[:4] + b"\xff\xff\xff\xff",
        DATA[:20] + b"\x05\0\1",
        DATA[:20] + b"\x0c\0\1" * 100,
    ],
)
def test_what_is_no_message_is_an_error(data: bytes) -> None:
    with pytest.raises(WireError):
        EndFinder().feed(data)


@given(st.binary(max_size=200))
def test_any_bytes_end_or_not_or_are_a_wire_error(data: bytes) -> None:
    for candidate in (data, DATA[:20] + data):
        try:
            end = EndFinder().feed(candidate)
        except WireError:
            continue
        assert end is None or 0 < end <= len(candidate)
