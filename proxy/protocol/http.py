"""HTTP of HiveServer2's clients: a POST has one Thrift message, and so has its reply.

A request's head and its body are two events, so that the server can refuse a client before it
keeps the body. Heads, headers, bodies and the number of pipelined requests are limited.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote

import httptools

from proxy.protocol.framing import HEAD_KEPT, MAX_FRAME, MAX_SKIPPED, Frame, Oversized

MAX_HEAD = 32 << 10  # bytes
MAX_HEADERS = 100
MAX_PIPELINED = 16  # heads in one piece of the stream
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_SLICE = 8 << 10  # bytes that are parsed between two checks of MAX_HEAD


@dataclass(frozen=True, slots=True)
class Head:
    """A request's head. `length` is the length of its body in bytes; None if that is chunked."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)  # credentials are among them
    keep_alive: bool = True
    length: int | None = None

    @property
    def expects(self) -> bool:
        """Whether the client waits for `100 Continue` before it sends the body."""
        return self.headers.get("expect", "").lower() == "100-continue"


@dataclass(frozen=True, slots=True)
class Malformed:
    """Bytes that are no request. No later bytes are read."""

    status: HTTPStatus


HttpEvent = Head | Frame | Oversized | Malformed


class _Refused(Exception):
    """A request that is too large or not supported. The parser's callbacks raise it."""

    def __init__(self, status: HTTPStatus) -> None:
        self.status = status


class HttpReader:
    """Parses one connection's requests: for each a Head, and then a Frame, or Oversized if the body
    has more than `limit` bytes.

    Bytes after Malformed, or after a request that closes the connection, are ignored.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._parser = httptools.HttpRequestParser(self)
        self._events: list[HttpEvent] = []
        self._over = False
        self._new_message()
        self._in_head = False

    @property
    def in_head(self) -> bool:
        """Whether the head of a request is incomplete."""
        return self._in_head

    def feed(self, data: bytes) -> list[HttpEvent]:
        """The events in the next piece of the stream."""
        self._heads = 0
        for at in range(0, len(data), _SLICE):
            if not self._over:
                self._feed_slice(data[at : at + _SLICE])
        events, self._events = self._events, []
        return events

    def _feed_slice(self, piece: bytes) -> None:
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserError as error:
            cause = error.__context__
            status = cause.status if isinstance(cause, _Refused) else HTTPStatus.BAD_REQUEST
            if not self._over:
                self._end(Malformed(status))
        if self._in_head:
            self._head_size += len(piece)
            if self._head_size + _SLICE > MAX_HEAD:  # the next slice may exceed it
                self._end(Malformed(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))

    @property
    def held(self) -> int:
        """Bytes of an unfinished body."""
        return len(self._body)

    def _end(self, event: HttpEvent) -> None:
        self._over = True
        self._in_head = False
        self._body.clear()
        self._events.append(event)

    def _new_message(self) -> None:
        self._in_head = True
        self._head_size = 0
        self._url = b""
        self._headers: dict[str, str] = {}
        self._count = 0
        self._body = bytearray()
        self._length = 0

    # Called by the parser

    def on_message_begin(self) -> None:
        self._new_message()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count += 1
        if self._count > MAX_HEADERS:
            raise _Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if not self._in_head:
            return  # a trailer after a chunked body; ignored
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key == "cookie" and key in self._headers:
            text = f"{self._headers[key]}; {text}"
        elif key in self._headers and key in ("authorization", "host"):
            raise _Refused(HTTPStatus.BAD_REQUEST)
        self._headers[key] = text

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._heads += 1
        if self._parser.should_upgrade():  # the parser would not parse its body
            raise _Refused(HTTPStatus.NOT_IMPLEMENTED)
        if self._heads > MAX_PIPELINED:
            raise _Refused(HTTPStatus.TOO_MANY_REQUESTS)
        header = self._headers.get("content-length")
        length = int(header) if header is not None else None
        if length is not None and length > MAX_SKIPPED:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if length is None and "transfer-encoding" not in self._headers:
            length = 0
        method = self._parser.get_method().decode("latin-1")
        target = self._url.decode("latin-1")
        keep_alive = self._parser.should_keep_alive()
        self._events.append(Head(method, target, self._headers, keep_alive, length))

    def on_body(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > MAX_SKIPPED:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if self._length <= self._limit:
            self._body += piece
        else:
            self._body += piece[: max(0, HEAD_KEPT - len(self._body))]
            del self._body[HEAD_KEPT:]

    def on_message_complete(self) -> None:
        body, length = self._body, self._length
        self._body = bytearray()
        fits = length <= self._limit
        self._events.append(Frame(body) if fits else Oversized(bytes(body), length))
        if not self._parser.should_keep_alive():
            self._over = True


def refusal(head: Head, path: str) -> HTTPStatus | None:
    """The status for a request that is no call of HiveServer2 at `path`; None if it is a call.

    This is checked before authentication.
    """
    if unquote(head.target.partition("?")[0]).strip("/") != path:
        return HTTPStatus.NOT_FOUND
    if head.method != "POST":
        return HTTPStatus.METHOD_NOT_ALLOWED
    if head.length == 0:
        return HTTPStatus.BAD_REQUEST
    return None


def do_as(head: Head) -> str | None:
    """The user in `?doAs=`. As in Hadoop, the case of the parameter's name does not matter, and the
    first of several values is used."""
    for name, value in parse_qsl(head.target.partition("?")[2]):
        if name.lower() == "doas":
            return value
    return None


def authorization_of(head: Head) -> tuple[str, str] | None:
    """The scheme in lower case and the credentials in the Authorization header."""
    header = head.headers.get("authorization")
    if not header:
        return None
    scheme, _, credentials = header.strip().partition(" ")
    return scheme.lower(), credentials.strip()


def basic_credentials(text: str) -> tuple[str, str] | None:
    """The user and the password in Basic credentials; None if they are malformed."""
    try:
        user, colon, password = b64decode(text, validate=True).decode().partition(":")
    except (NotBase64, ValueError):
        return None
    return (user, password) if user and colon else None


def spnego_token(text: str) -> bytes | None:
    """The token in Negotiate credentials; None if malformed. hive-jdbc adds a colon before it."""
    try:
        return b64decode(text.removeprefix(":").strip(), validate=True) or None
    except (NotBase64, ValueError):
        return None


def negotiate_header(token: bytes) -> str:
    """The value of WWW-Authenticate with the server's token."""
    return f"Negotiate {b64encode(token).decode()}"


def reply_head(length: int, keep_alive: bool, *headers: tuple[str, str]) -> bytes:
    """The head of a reply with a Thrift message of this length."""
    return _head(HTTPStatus.OK, "application/x-thrift", length, keep_alive, headers)


def error_reply(
    status: HTTPStatus, keep_alive: bool, *headers: tuple[str, str], bodiless: bool = False
) -> bytes:
    """A whole reply with one line of text; `bodiless`, for HEAD, leaves out the text."""
    text = f"{status.phrase}\n".encode()
    head = _head(status, "text/plain", len(text), keep_alive, headers)
    return head if bodiless else head + text


def _head(
    status: HTTPStatus,
    kind: str,
    length: int,
    keep_alive: bool,
    headers: tuple[tuple[str, str], ...],
) -> bytes:
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {length}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    if not keep_alive:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
