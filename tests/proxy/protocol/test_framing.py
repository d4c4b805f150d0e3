"""SASL and bare messages: whole, byte by byte, too large, refused, or waiting for an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import WireError
from proxy.protocol.framing import (
    MAX_EARLY,
    BareInbound,
    Credentials,
    Frame,
    FramingEvent,
    GssapiToken,
    Inbound,
    Oversized,
    SaslInbound,
    Send,
    client_negotiation,
)
from saslauth.negotiation import COMPLETE, GSSAPI, OK, PLAIN, START
from thriftcodec.values import CALL, STRING, Message, Struct
from thriftcodec.writer import encode_message


def step(status: int, payload: bytes) -> bytes:
    return bytes((status,)) + len(payload).to_bytes(4, "big") + payload


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def feed(inbound: Inbound, data: bytes, size: int) -> list[FramingEvent]:
    """The events; every log-in is accepted."""
    events: list[FramingEvent] = []
    for at in range(0, len(data), size):
        events += (new := inbound.feed(data[at : at + size]))
        if isinstance(inbound, SaslInbound) and any(isinstance(e, Credentials) for e in new):
            events += inbound.accept()
    return events


CREDENTIALS = b"\0ann\0secret"
ANN = Credentials("ann", "secret")
DONE = Send(step(COMPLETE, b""))
PYTHON = step(START, b"PLAIN") + step(OK, CREDENTIALS)
JAVA = step(START, b"PLAIN") + step(COMPLETE, CREDENTIALS)
MESSAGE = encode_message(Message("X", CALL, 1, Struct({1: (STRING, b"abc")})))
LONG = encode_message(Message("Y", CALL, 2, Struct({1: (STRING, b"q" * 9000)})))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("hello", [PYTHON, JAVA], ids=["python", "java"])
def test_a_client_logs_in_and_then_calls(hello: bytes, size: int) -> None:
    stream = hello + frame(MESSAGE) + frame(b"") + frame(LONG)
    assert feed(SaslInbound(), stream, size) == [
        ANN,
        DONE,
        Frame(MESSAGE),
        Frame(b""),
        Frame(LONG),
    ]


def test_the_authorisation_id_is_ignored() -> None:
    hello = step(START, b"PLAIN") + step(OK, b"root\0ann\0x")
    assert SaslInbound().feed(hello) == [Credentials("ann", "x")]


def test_nothing_is_read_until_the_login_step_is_answered() -> None:
    inbound = SaslInbound()
    assert inbound.feed(PYTHON + frame(MESSAGE)) == [ANN]
    assert inbound.feed(frame(LONG)) == []
    assert inbound.accept() == [DONE, Frame(MESSAGE), Frame(LONG)]
    assert inbound.feed(frame(MESSAGE)) == [Frame(MESSAGE)]


def test_a_refused_client_receives_no_reason_and_is_not_read() -> None:
    inbound = SaslInbound()
    inbound.feed(PYTHON + frame(MESSAGE))
    assert inbound.refuse() == [Send(step(3, b"Error validating the login"), last=True)]
    assert inbound.feed(frame(MESSAGE)) == []


def test_a_rejected_client_is_not_read() -> None:
    inbound = SaslInbound()
    inbound.feed(PYTHON)
    inbound.accept()
    inbound.reject("full")
    assert inbound.feed(frame(MESSAGE)) == []


def test_early_bytes_of_a_client_are_bounded() -> None:
    inbound = SaslInbound()
    inbound.feed(PYTHON)
    assert inbound.feed(b"x" * MAX_EARLY) == []
    with pytest.raises(WireError):
        inbound.feed(b"x")


def test_tokens_are_exchanged_until_accepted() -> None:
    inbound = SaslInbound(frozenset((GSSAPI, PLAIN)))
    assert inbound.feed(step(START, b"GSSAPI") + step(OK, b"one")) == [GssapiToken(b"one")]
    assert inbound.challenge(b"two") == [Send(step(OK, b"two"))]
    assert inbound.feed(step(COMPLETE, b"three")) == [GssapiToken(b"three")]
    assert inbound.accept(b"four") == [Send(step(COMPLETE, b"four"))]
    assert inbound.feed(frame(MESSAGE)) == [Frame(MESSAGE)]


def test_no_secret_is_in_repr_or_log() -> None:
    assert "secret" not in repr(ANN) + repr(GssapiToken(b"secret"))


@pytest.mark.parametrize(
    "data",
    [
        step(START, b"GSSAPI"),
        step(OK, b"PLAIN"),
        step(START, b"PLAIN") + step(OK, b"\0ann\0"),
        step(START, b"PLAIN") + step(OK, b"\0\0x"),
        step(START, b"PLAIN") + step(OK, b"ann"),
        step(START, b"PLAIN") + step(OK, b"\0\xff\xfe\0x"),
    ],
)
def test_a_bad_negotiation_is_answered_and_ended(data: bytes) -> None:
    inbound = SaslInbound()
    (event,) = inbound.feed(data + frame(MESSAGE))
    assert isinstance(event, Send)
    assert event.last
    assert inbound.feed(frame(MESSAGE)) == []


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", step(9, b""), b"\1\xff\xff\xff\xff"])
def test_bytes_that_are_no_negotiation_are_an_error(data: bytes) -> None:
    with pytest.raises(WireError):
        SaslInbound().feed(data)


@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_a_frame_above_the_limit_is_skipped_and_the_next_is_read(size: int) -> None:
    inbound = SaslInbound(limit=5000)
    events = feed(inbound, PYTHON + frame(LONG) + frame(MESSAGE), size)
    assert events[2:] == [Oversized(LONG[:4096], len(LONG)), Frame(MESSAGE)]


def test_an_oversized_frame_shorter_than_the_kept_head_ends_before_the_next() -> None:
    events = feed(SaslInbound(limit=len(MESSAGE) - 1), PYTHON + frame(MESSAGE), 7)
    assert events[2:] == [Oversized(MESSAGE, len(MESSAGE))]


@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_bare_messages(size: int) -> None:
    events = feed(BareInbound(limit=5000), MESSAGE + LONG + MESSAGE, size)
    assert events == [Frame(MESSAGE), Oversized(LONG[:4096], len(LONG)), Frame(MESSAGE)]


def test_a_frame_of_gigabytes_is_an_error() -> None:
    with pytest.raises(WireError):
        feed(SaslInbound(), PYTHON + b"\x7f\xff\xff\xff", 1000)


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_give_events_or_a_wire_error(data: bytes, greeted: bool) -> None:
    inbound = SaslInbound()
    try:
        events = feed(inbound, (PYTHON if greeted else b"") + data, 1000)
    except WireError:
        return
    assert all(isinstance(event, Send | Credentials | Frame | Oversized) for event in events)


def test_the_proxys_own_negotiation_is_accepted() -> None:
    events = SaslInbound().feed(client_negotiation("bob", "x"))
    assert events == [Credentials("bob", "x")]
