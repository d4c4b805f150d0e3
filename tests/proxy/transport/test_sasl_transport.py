"""Wrapped messages are unwrapped unchanged; malformed frames abort the connection."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from proxy.transport.sasl_transport import SaslTransport
from saslauth.errors import SaslFailed


class Below(asyncio.Transport):
    """A transport that records the written bytes."""

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
    """A security layer that inverts every bit and adds brackets."""

    room = 7

    def wrap(self, message: bytes) -> bytes:
        assert len(message) <= self.room
        return b"(" + bytes(each ^ 0xFF for each in message) + b")"

    def unwrap(self, token: bytes) -> bytes:
        if token[:1] != b"(" or token[-1:] != b")":
            raise SaslFailed("not wrapped")
        return bytes(each ^ 0xFF for each in token[1:-1])


class End:
    """One end of a protected connection, and the bytes that it received."""

    def __init__(self, limit: int = 1000) -> None:
        self.below, self.received, self.calls = Below(), b"", 0
        self.transport = SaslTransport(
            self.below, asyncio.Protocol(), self._receive, Turned(), limit
        )
        self.pause_after = 1_000_000  # pieces

    def _receive(self, data: bytes) -> None:
        self.received += data
        self.calls += 1
        self.pause_after -= bool(data)
        if self.pause_after == 0:
            self.transport.pause_reading()


def framed(*messages: bytes) -> bytes:
    return b"".join(len(each).to_bytes(4, "big") + each for each in messages)


def unframed(data: bytes) -> bytes:
    """The messages without the lengths before them."""
    found = b""
    while data:
        length = int.from_bytes(data[:4], "big")
        found, data = found + data[4 : 4 + length], data[4 + length :]
    return found


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted(each % (len(data) + 1) for each in places)
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


@given(st.lists(st.binary(max_size=40)), st.lists(st.integers(0, 500)), st.lists(st.integers(0)))
def test_wrapped_messages_are_unwrapped(
    messages: list[bytes], writes: list[int], reads: list[int]
) -> None:
    one, other = End(), End()
    for piece in cut(framed(*messages), writes):
        one.transport.write(piece)
    for piece in cut(one.below.written, reads):
        other.transport.data_received(piece)
    assert unframed(other.received) == b"".join(messages)
    assert not other.below.closed


def test_a_message_that_fits_is_one_frame() -> None:
    end = End()
    end.transport.write(framed(b"abc", b"defg"))
    assert end.below.written == framed(Turned().wrap(b"abc"), Turned().wrap(b"defg"))
    other = End()
    other.transport.data_received(end.below.written)
    assert other.received == framed(b"abc", b"defg")


def test_a_partial_frame_is_reported() -> None:
    end = End()
    for piece in cut(framed(Turned().wrap(b"abc")), [1, 3, 6]):
        assert not end.received
        before = end.calls
        end.transport.data_received(piece)
        assert end.calls > before
    assert end.received == framed(b"abc")


def test_a_paused_reader_receives_nothing_until_it_resumes() -> None:
    async def scenario() -> None:
        end = End()
        end.pause_after = 1
        end.transport.data_received(framed(Turned().wrap(b"one"), Turned().wrap(b"two")))
        assert end.received == framed(b"one")
        assert not end.below.reading
        assert not end.transport.is_reading()
        end.transport.resume_reading()
        await asyncio.sleep(0)
        assert end.received == framed(b"one", b"two")
        assert end.below.reading

    asyncio.run(scenario())


class BufferedEnd(asyncio.BufferedProtocol):
    """Reads into its own buffer, as connections to clusters do."""

    def __init__(self) -> None:
        self.buffer, self.received = bytearray(1000), b""
        self.there = asyncio.get_running_loop().create_future()
        self.lost = asyncio.Event()

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.there.set_result(bytes(self.buffer[:nbytes]))

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()

    def receive(self, data: bytes) -> None:
        self.received += data
        if len(self.received) == 9:
            self.there.set_result(None)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_protection_begins_between_two_messages(run: Callable[[Any], None]) -> None:
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
            transport, end = await loop.create_connection(BufferedEnd, *address)
            assert await end.there == b"hello"
            end.there = loop.create_future()
            protected = SaslTransport(transport, end, end.receive, Turned(), 1000)
            protected.write(framed(b"hello"))
            await end.there
            assert end.received == framed(b"hello")
            protected.close()
            await end.lost.wait()
            await over.wait()

    run(scenario())


@pytest.mark.parametrize("data", [framed(b"plain"), framed(b""), (1001).to_bytes(4, "big")])
def test_malformed_frames_abort_the_connection(data: bytes) -> None:
    end = End()
    end.transport.data_received(framed(Turned().wrap(b"good")) + data)
    assert end.below.closed
    assert end.received == framed(b"good")
