"""What is wrapped comes out as it went in; what is not good ends the connection."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import WireError
from proxy.net.shield import Shield


class Below(asyncio.Transport):
    """A socket that nobody reads from."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol: asyncio.BaseProtocol | None = None
        self.written = b""
        self.closed = False
        self.reading = True

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: Any) -> None:
        self.written += data

    def abort(self) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Turned:
    """A layer: every bit turned, between brackets."""

    room = 7

    def wrap(self, message: bytes) -> bytes:
        assert len(message) <= self.room
        return b"(" + bytes(each ^ 0xFF for each in message) + b")"

    def unwrap(self, token: bytes) -> bytes:
        if token[:1] != b"(" or token[-1:] != b")":
            raise WireError("not wrapped")
        return bytes(each ^ 0xFF for each in token[1:-1])


class End:
    """One end of a protected connection, and what it heard."""

    def __init__(self, limit: int = 1000) -> None:
        self.below, self.heard = Below(), b""
        self.shield = Shield(self.below, asyncio.Protocol(), self._hear, Turned(), limit)
        self.patience = 1_000_000  # pieces until it wants no more for now

    def _hear(self, data: bytes) -> None:
        self.heard += data
        self.patience -= 1
        if self.patience == 0:
            self.shield.pause_reading()


def framed(*messages: bytes) -> bytes:
    return b"".join(len(each).to_bytes(4, "big") + each for each in messages)


def unframed(data: bytes) -> bytes:
    """The stream within, without the lengths that say how it was cut."""
    found = b""
    while data:
        length = int.from_bytes(data[:4], "big")
        found, data = found + data[4 : 4 + length], data[4 + length :]
    return found


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted(each % (len(data) + 1) for each in places)
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


@given(st.lists(st.binary(max_size=40)), st.lists(st.integers(0, 500)), st.lists(st.integers(0)))
def test_what_goes_in_comes_out(messages: list[bytes], writes: list[int], reads: list[int]) -> None:
    one, other = End(), End()
    for piece in cut(framed(*messages), writes):
        one.shield.write(piece)
    for piece in cut(one.below.written, reads):
        other.shield.data_received(piece)
    assert unframed(other.heard) == b"".join(messages)
    assert not other.below.closed


def test_a_message_that_fits_is_one_frame() -> None:
    end = End()
    end.shield.write(framed(b"abc", b"defg"))
    assert end.below.written == framed(Turned().wrap(b"abc"), Turned().wrap(b"defg"))
    other = End()
    other.shield.data_received(end.below.written)
    assert other.heard == framed(b"abc", b"defg")


def test_who_pauses_hears_no_more_until_it_goes_on() -> None:
    async def scenario() -> None:
        end = End()
        end.patience = 1
        end.shield.data_received(framed(Turned().wrap(b"one"), Turned().wrap(b"two")))
        assert end.heard == framed(b"one")
        assert not end.below.reading
        assert not end.shield.is_reading()
        end.shield.resume_reading()
        await asyncio.sleep(0)
        assert end.heard == framed(b"one", b"two")
        assert end.below.reading

    asyncio.run(scenario())


@pytest.mark.parametrize("data", [framed(b"plain"), framed(b""), (1001).to_bytes(4, "big")])
def test_what_is_not_good_ends_the_connection(data: bytes) -> None:
    end = End()
    end.shield.data_received(framed(Turned().wrap(b"good")) + data)
    assert end.below.closed
    assert end.heard == framed(b"good")
