"""Properties that must hold for any bytes. Each target is a function of bytes.

A target may let only its reader's own errors pass: anything else that it raises is a finding. The
first byte says, where a stream is read, in what pieces it comes.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise

from conf.settings.security.authentication import Jwt
from dialect.analyze import FAILED, analyze
from dialect.grammar.cluster_statements import parse
from dialect.statement import Namespace, Unknown
from proxy.auth.cookies import KEY_BYTES, CookieIdentity, Cookies
from proxy.auth.tokens.bearer_tokens import claimed_name, claims_of, read_keys
from proxy.catalog.metadata import metadata_request
from proxy.errors import WireError
from proxy.protocol import replies, results
from proxy.protocol.forwarding import PeerInbound
from proxy.protocol.framing import (
    BareInbound,
    Credentials,
    Frame,
    GssapiToken,
    Inbound,
    Oversized,
    SaslInbound,
    Send,
)
from proxy.protocol.http import (
    Head,
    HttpReader,
    authorization_of,
    basic_credentials,
    do_as,
    refusal,
    spnego_token,
)
from proxy.protocol.messages import BareMessageEnd, decode_head, decode_message
from proxy.protocol.requests import Handle, handle_of, read_operation_call, read_request
from proxy.protocol.row_count import rows_in
from proxy.record.statement_text import StatementText
from proxy.transport.sasl_transport import SaslTransport
from saslauth.errors import BadCredentials, SaslFailed
from saslauth.negotiation import read_sasl_reply
from tests.dialect.catalogs import TestCatalog
from tests.fuzz.view_targets import view_reply, view_request
from thriftcodec.values import I32, STRING, Struct
from thriftcodec.writer import encode_message

_OVER = "no more can be read"
_LIMIT = 200  # of a frame, so that one that is too long is soon there
# A public key without its private one; made for this.
_JWKS = json.dumps(
    {
        "keys": [
            {
                "kty": "EC",
                "crv": "P-256",
                "kid": "k",
                "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            }
        ]
    }
)
_KEYS = read_keys(_JWKS)
_JWT = Jwt("unused")
COOKIES = Cookies(bytes(KEY_BYTES), 60.0, True)
ANN, NOW = CookieIdentity("ann@corp", "ann"), 1_700_000_000.0


def thrift(data: bytes) -> None:
    """A message is read or refused; one that was read is written as the same. What is read of an
    operation's call in one step is what is read field by field."""
    quickly = read_operation_call(data)
    try:
        message = decode_message(data)
    except WireError:
        assert quickly is None
        return
    again = decode_message(encode_message(message))
    assert repr(again) == repr(message)  # not ==: a double may be no number
    try:
        request = read_request(message)
        handle_of(request)
    except WireError:
        assert quickly is None
        return
    if quickly is not None:
        call, quick = quickly
        assert (call.name, call.kind, call.seqid) == (message.name, message.kind, message.seqid)
        assert repr(quick) == repr(request)


def message_end(data: bytes) -> None:
    """The end of an unframed message is where its reader finds it, however the bytes are cut."""
    finder, at, end = BareMessageEnd(), 0, None
    try:
        for piece in _pieces(data):
            end = finder.feed(piece)
            if end is not None:
                end += at
                break
            at += len(piece)
    except WireError:
        end = None
    body = data[1:]
    if end is None:
        return
    assert 0 < end <= len(body)
    why = ""
    try:
        decode_message(body[:end])
    except WireError as error:
        why = str(error)
    assert "after the end" not in why
    assert "too early" not in why


def sasl(data: bytes) -> None:
    """The events are the same however the bytes are cut, and no frame comes before the log-in."""
    _same(_sasl_events(_pieces(data)), _sasl_events(iter((data[1:],))))


def _sasl_events(pieces: Iterator[bytes]) -> list[object]:
    inbound = SaslInbound(frozenset(("PLAIN", "GSSAPI")), _LIMIT)
    events: list[object] = []
    waiting: list[object] = []
    try:
        for piece in pieces:
            waiting += inbound.feed(piece)
            while waiting:
                event = waiting.pop(0)
                events.append(event)
                if isinstance(event, Credentials):
                    waiting += inbound.accept() if event.user else inbound.refuse()
                elif isinstance(event, GssapiToken):
                    last = event.data.endswith(b"!")
                    waiting += inbound.accept(b"k") if last else inbound.challenge(b"c")
    except WireError:
        events.append(_OVER)
    frames = [n for n, event in enumerate(events) if isinstance(event, Frame | Oversized)]
    logins = [n for n, event in enumerate(events) if isinstance(event, Credentials | GssapiToken)]
    assert not frames or (logins and logins[0] < frames[0])
    return [event for event in events if not isinstance(event, Send)]


def unframed(data: bytes) -> None:
    """NOSASL: messages come out in order and the same, however they are cut; what is kept of a
    stream is bounded."""
    cut = _read_all(BareInbound(_LIMIT), _pieces(data))
    _same(cut, _read_all(BareInbound(_LIMIT), iter((data[1:],))))
    assert all(len(event.data) <= _LIMIT for event in cut if isinstance(event, Frame))


def peer(data: bytes) -> None:
    """Calls of other workers are the same however the bytes are cut."""
    _same(_read_all(PeerInbound(), _pieces(data)), _read_all(PeerInbound(), iter((data[1:],))))


def _read_all(inbound: Inbound, pieces: Iterator[bytes]) -> list[object]:
    events: list[object] = []
    try:
        for piece in pieces:
            events += inbound.feed(piece)
    except WireError:
        events.append(_OVER)
    return events


def security_layer(data: bytes) -> None:
    """Unwrapped bytes are the same however they were cut, and wrapping is reversible."""
    cut, whole = _unwrapped(_pieces(data)), _unwrapped(iter((data[1:],)))
    assert cut == whole
    below = _Below()
    sent = SaslTransport(below, asyncio.Protocol(), below.write, _Layer(), _LIMIT)
    for piece in _pieces(b"\2" + b"".join((len(each).to_bytes(4, "big") + each) for each in whole)):
        sent.write(piece)
    messages = _unwrapped(iter((b"".join(below.written),)))
    assert b"".join(messages) == b"".join(whole)


def _unwrapped(pieces: Iterator[bytes]) -> list[bytes]:
    """The complete messages."""
    messages: list[bytes] = []
    below = _Below()
    shield = SaslTransport(below, asyncio.Protocol(), messages.append, _Layer(), _LIMIT)
    for piece in pieces:
        if not below.is_closing():
            shield.data_received(piece)
    return [each[4:] for each in messages if each]  # nothing says that something has come


class _Layer:
    """A security layer that wraps bytes in exclamation marks."""

    room = 7

    def wrap(self, message: bytes) -> bytes:
        return b"!" + message + b"!"

    def unwrap(self, token: bytes) -> bytes:
        if len(token) < 2 or token[:1] != b"!" or token[-1:] != b"!":
            raise SaslFailed("not wrapped")
        return token[1:-1]


class _Below(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self._closing = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        pass

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def abort(self) -> None:
        self._closing = True

    def is_closing(self) -> bool:
        return self._closing


def _same(cut: list[object], whole: list[object]) -> None:
    """Events before an error may be lost with it if both are in one piece."""
    if _OVER in (*cut, *whole):
        assert cut[-1:] == [_OVER] or whole[-1:] == [_OVER]
        cut, whole = ([event for event in each if event is not _OVER] for each in (cut, whole))
        shorter = min(len(cut), len(whole))
        cut, whole = cut[:shorter], whole[:shorter]
    assert cut == whole


def http(data: bytes) -> None:
    """Requests and bodies are the same however the bytes are cut."""
    frames, lengths = [], []
    for pieces in (_pieces(data), iter((data[1:],))):
        reader = HttpReader(_LIMIT)
        events = [event for piece in pieces for event in reader.feed(piece)]
        lengths.append(len(events))
        frames.append([event for event in events if isinstance(event, Frame | Oversized)])
        for event in events:
            if isinstance(event, Frame):
                assert len(event.data) <= _LIMIT
            if isinstance(event, Head):
                _ask_head(event)
    fewer = min(map(len, frames))  # a reader of pieces may find a fault later
    assert frames[0][:fewer] == frames[1][:fewer]


def _ask_head(head: Head) -> None:
    refusal(head, "cliservice")
    do_as(head)
    scheme = authorization_of(head)
    if scheme is not None:
        basic_credentials(scheme[1])
        spnego_token(scheme[1])


def reply(data: bytes) -> None:
    """Any reply of a cluster is read or refused."""
    rows_in(data[:512])
    with suppress(SaslFailed):
        read_sasl_reply(data)
    with suppress(WireError):
        replies.read_started(data)
    try:
        name = decode_head(data)[0]
        assert len(replies.with_head(data, name, 7)) == len(data)
        result = replies.read_result(data, name)
    except WireError:
        return
    for read in _OF_A_REPLY:
        with suppress(WireError):
            read(result)


_OF_A_REPLY: tuple[Callable[[Struct], object], ...] = (
    replies.result_failure,
    replies.read_operation_status,
    replies.started_operation,
    replies.opened_session,
    replies.info_text,
    partial(replies.with_handle, handle=Handle(bytes(16), bytes(16))),
    results.header,
    results.with_empty_column,
    partial(results.rows_in, types=(STRING, I32), protocol=9),
    partial(results.rows_in, types=(STRING, I32), protocol=4),
)


def token(data: bytes) -> None:
    """No token is accepted without its private key; every failure is a rejection."""
    try:
        user = claimed_name(claims_of(_JWT, data.decode("latin-1"), _KEYS), _JWT.user_claim)
    except BadCredentials:
        return
    raise AssertionError(f"a forged token of {user} is accepted")


def keys(data: bytes) -> None:
    """Keys are read or refused."""
    with suppress(ValueError):
        read_keys(data.decode("latin-1"))


def cookie(data: bytes) -> None:
    """A cookie is accepted only for the user to whom it was issued."""
    assert COOKIES.read(data.decode("latin-1"), NOW) in (None, ANN)


def patterns(data: bytes) -> None:
    """Patterns for tables or columns match any name fast, or are refused."""
    schema, tables, columns, name = (*data.split(b"\n", 3), b"", b"", b"", b"")[:4]
    arguments = Struct({3: (STRING, schema), 4: (STRING, tables), 5: (STRING, columns)})
    found = metadata_request("GetColumns", arguments)
    if found is not None:
        for matches in (found.databases, found.tables, found.columns):
            matches(name.decode("latin-1"))
            matches("a" * 256)


def statement(data: bytes) -> None:
    """The analysis of any text ends with a result, without an error, and soon."""
    sql = data.decode("utf-8", "replace")
    parse(sql, True)
    StatementText.of(sql).shown()
    answer = analyze(sql, Namespace("d", {"x": "1", "hivevar:y": "${x}"}), TestCatalog())
    assert not (isinstance(answer, Unknown) and answer.why == FAILED)


def _pieces(data: bytes) -> Iterator[bytes]:
    """The bytes after the first in pieces. The first byte is the position of eight single-byte
    pieces."""
    at, body = (data[0] if data else 0), data[1:]
    cuts = sorted({0, *(min(each, len(body)) for each in range(at, at + 9)), len(body)})
    return (body[start:end] for start, end in pairwise(cuts))


_ALL = (
    *(thrift, message_end, sasl, unframed, security_layer, peer, http, reply),
    *(token, keys, cookie, patterns, statement, view_request, view_reply),
)
TARGETS: dict[str, Callable[[bytes], None]] = {each.__name__: each for each in _ALL}
