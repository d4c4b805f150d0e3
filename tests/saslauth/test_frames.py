"""Frames, wrapped and not, in pieces of any size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saslauth.errors import SaslFailed
from saslauth.frames import FrameReader, framed
from saslauth.security_layer import SecurityLayer


class Reversing:
    """Reverses each content and adds a byte to it."""

    room = 5

    def wrap(self, message: bytes) -> bytes:
        return message[::-1] + b"!"

    def unwrap(self, token: bytes) -> bytes:
        if not token.endswith(b"!"):
            raise SaslFailed("not wrapped")
        return token[:-1][::-1]


@given(st.lists(st.binary(max_size=40)), st.integers(1, 50), st.sampled_from([None, Reversing()]))
def test_contents_are_read_as_they_were_written(
    messages: list[bytes], size: int, layer: SecurityLayer | None
) -> None:
    data = b"".join(framed(layer, each) for each in messages)
    reader = FrameReader(layer, 100)
    pieces = [reader.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert b"".join(pieces) == b"".join(messages)
    assert not reader.held


def test_an_empty_frame_has_no_content() -> None:
    assert FrameReader(None, 9).feed(bytes(4) + framed(None, b"x")) == b"x"


@pytest.mark.parametrize("layer", [None, Reversing()])
def test_an_incomplete_frame_is_held(layer: SecurityLayer | None) -> None:
    reader = FrameReader(layer, 100)
    reader.feed(framed(layer, b"abcde")[:-1])
    assert reader.held


@pytest.mark.parametrize("layer", [None, Reversing()])
def test_a_frame_above_the_limit_is_refused_by_its_length(layer: SecurityLayer | None) -> None:
    with pytest.raises(SaslFailed, match="101 bytes"):
        FrameReader(layer, 100).feed((101).to_bytes(4, "big"))
    with pytest.raises(SaslFailed):
        FrameReader(layer, 100).feed(b"\xff\xff\xff\xff")


def test_a_frame_that_is_not_wrapped_is_refused() -> None:
    with pytest.raises(SaslFailed, match="not wrapped"):
        FrameReader(Reversing(), 100).feed(framed(None, b"plain"))
