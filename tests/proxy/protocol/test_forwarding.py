"""Calls between workers are read in any pieces."""

import pytest

from proxy.errors import WireError
from proxy.protocol.forwarding import PeerInbound, forwarded_call
from proxy.protocol.framing import ForwardedIdentity, Frame

CALLS = (("ann", "10.0.0.1", b"first"), ("", "", b""), ("zoë", "::1", b"\0" * 1000))


@pytest.mark.parametrize("size", [1, 3, 7, 10_000])
def test_forwarded_calls_are_read_in_any_pieces(size: int) -> None:
    inbound = PeerInbound()
    data = b"".join(
        inbound.wrap(len(call)) + call for call in (forwarded_call(*each) for each in CALLS)
    )
    events = [e for at in range(0, len(data), size) for e in inbound.feed(data[at : at + size])]
    assert events == [
        event
        for user, at, message in CALLS
        for event in (ForwardedIdentity(user, at), Frame(message))
    ]


@pytest.mark.parametrize(
    "data", [b"\x7f\xff\xff\xff", b"\0\0\0\4\0\0\0\1", b"\0\0\0\5\0\0\0\0\0", b"\0\0\0\1x"]
)
def test_malformed_forwarded_calls_are_errors(data: bytes) -> None:
    with pytest.raises(WireError):
        PeerInbound().feed(data)
