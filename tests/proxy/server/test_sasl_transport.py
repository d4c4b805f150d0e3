"""What is wrapped comes out as it went in; what is not good ends the connection."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import WireError
from proxy.server.sasl_transport import SaslTransport


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
        self.below, self.heard, self.words = Below(), b"", 0
        self.shield = SaslTransport(self.below, asyncio.Protocol(), self._hear, Turned(), limit)
        self.patience = 1_000_000  # pieces until it wants no more for now

    def _hear(self, data: bytes) -> None:
        self.heard += data
        self.words += 1
        self.patience -= bool(data)
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


def test_that_a_part_has_come_is_told() -> None:
    end = End()
    for piece in cut(framed(Turned().wrap(b"abc")), [1, 3, 6]):
        assert not end.heard
        before = end.words
        end.shield.data_received(piece)
        assert end.words > before
    assert end.heard == framed(b"abc")


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


class Slab(asyncio.BufferedProtocol):
    """Reads into a buffer of its own, as connections to clusters do."""

    def __init__(self) -> None:
        self.buffer, self.heard = bytearray(1000), b""
        self.there = asyncio.get_running_loop().create_future()
        self.lost = asyncio.Event()

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.there.set_result(bytes(self.buffer[:nbytes]))

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()

    def hear(self, data: bytes) -> None:
        self.heard += data
        if len(self.heard) == 9:
            self.there.set_result(None)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_connection_is_taken_over_between_two_words(run: Callable[[Any], None]) -> None:
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        data = await reader.readexactly(11)
        assert data == framed(Turned().wrap(b"hello"))
        writer.write(data)
        assert await reader.read() == b""
        writer.transport.abort()
        over.set()

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            address = server.sockets[0].getsockname()[:2]
            transport, slab = await loop.create_connection(Slab, *address)
            assert await slab.there == b"hello"
            slab.there = loop.create_future()
            shield = SaslTransport(transport, slab, slab.hear, Turned(), 1000)
            shield.write(framed(b"hello"))
            await slab.there
            assert slab.heard == framed(b"hello")
            shield.close()
            await slab.lost.wait()
            await over.wait()

    run(scenario())


@pytest.mark.parametrize("data", [framed(b"plain"), framed(b""), (1001).to_bytes(4, "big")])
def test_what_is_not_good_ends_the_connection(data: bytes) -> None:
    end = End()
    end.shield.data_received(framed(Turned().wrap(b"good")) + data)
    assert end.below.closed
    assert end.heard == framed(b"good")
