"""HTTP requests in any pieces: whole, byte by byte, too large, malformed."""

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.protocol import http
from proxy.protocol.framing import Frame, Oversized
from proxy.protocol.http import MAX_HEAD, Head, HttpEvent, HttpReader, Malformed
from tests.proxy.web import basic, post

BODY = b"\x80\x01\x00\x01" + b"x" * 9000
CHUNKED = (
    b"POST /cliservice?a=b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;ext=1\r\nabc\r\n4\r\ndefg\r\n0\r\nTrailer: t\r\nAuthorization: no\r\n\r\n"
)


def feed(reader: HttpReader, data: bytes, *cuts: int) -> list[HttpEvent]:
    events: list[HttpEvent] = []
    for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
        events += reader.feed(data[start:end])
    return events


def head(length: int | None, target: str = "/cliservice", **headers: str) -> Head:
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    return Head("POST", target, names, True, length)


EXPECTED = [
    head(len(BODY), host="localhost", content_length=str(len(BODY)), authorization="Basic eA=="),
    Frame(BODY),
    head(None, "/cliservice?a=b", transfer_encoding="chunked"),
    Frame(b"abcdefg"),
    head(3, host="localhost", content_length="3"),
    Frame(b"end"),
]
STREAM = post(BODY, Authorization="Basic eA==") + CHUNKED + post(b"end")


@given(st.lists(st.integers(0, len(STREAM)), max_size=30).map(sorted))
def test_requests_are_read_in_any_pieces(cuts: list[int]) -> None:
    assert [same(event) for event in feed(HttpReader(), STREAM, *cuts)] == EXPECTED


def same(event: HttpEvent) -> HttpEvent:
    if not isinstance(event, Head):
        return event
    return Head(event.method, event.target, lower(event.headers), event.keep_alive, event.length)


def lower(headers: object) -> dict[str, str]:
    assert isinstance(headers, dict)
    return {key.replace("_", "-"): value for key, value in headers.items()}


def test_requests_are_read_byte_by_byte() -> None:
    events = feed(HttpReader(), STREAM, *range(1, len(STREAM)))
    assert [type(event) for event in events] == [Head, Frame] * 3


@pytest.mark.parametrize("size", [1, 1000, 100_000])
def test_a_body_above_the_limit_is_skipped(size: int) -> None:
    data = post(BODY) + post(b"end")
    events = feed(HttpReader(limit=5000), data, *range(size, len(data), size))
    assert [each for each in events if not isinstance(each, Head)] == [
        Oversized(BODY[:4096], len(BODY)),
        Frame(b"end"),
    ]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", HTTPStatus.BAD_REQUEST),  # TLS to a plain port
        (b"\x01\x00\x00\x00\x05PLAIN", HTTPStatus.BAD_REQUEST),  # SASL
        (post(b"x", Content_Length="1\r\nContent-Length: 2"), HTTPStatus.BAD_REQUEST),
        (post(b"x", Transfer_Encoding="chunked"), HTTPStatus.BAD_REQUEST),
        (post(b"x", Content_Length="-1"), HTTPStatus.BAD_REQUEST),
        (post(b"x", Content_Length=str(1 << 70)), HTTPStatus.BAD_REQUEST),
        (post(b"x", A="b\r\nAuthorization: a\r\nAuthorization: b"), HTTPStatus.BAD_REQUEST),
        (post(b"x", Connection="Upgrade", Upgrade="h2c"), HTTPStatus.NOT_IMPLEMENTED),
        (b"CONNECT h:1 HTTP/1.1\r\n\r\n", HTTPStatus.NOT_IMPLEMENTED),
        (b"POST /x HTTP/1.1\r\nA: b", None),
        (b"POST /" + b"x" * MAX_HEAD, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
        (b"POST / HTTP/1.1\r\nA: " + b"x" * MAX_HEAD, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
        (post(b"x", Content_Length=str(2 << 30)), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (post(b"x") * 17, HTTPStatus.TOO_MANY_REQUESTS),
    ],
)
def test_nothing_is_read_after_a_malformed_request(data: bytes, status: HTTPStatus | None) -> None:
    reader = HttpReader()
    events = reader.feed(data)
    if status is None:
        assert (events, reader.in_head) == ([], True)
        return
    assert events[-1] == Malformed(status)
    assert reader.feed(post(b"more")) == []


def test_nothing_is_read_after_a_closing_request() -> None:
    reader = HttpReader()
    events = reader.feed(post(b"a", Connection="close") + post(b"b"))
    assert [type(event) for event in events] == [Head, Frame]
    assert isinstance(events[0], Head)
    assert not events[0].keep_alive


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_give_events(data: bytes, begun: bool) -> None:
    reader = HttpReader()
    for event in reader.feed((post(b"abc") if begun else b"") + data):
        assert isinstance(event, Head | Frame | Oversized | Malformed)


@pytest.mark.parametrize(
    ("target", "method", "status"),
    [
        ("/cliservice", "POST", None),
        ("/cliservice/", "POST", None),
        ("/cliservice?doAs=x", "POST", None),
        ("/%63liservice", "POST", None),
        ("/cliservice2", "POST", HTTPStatus.NOT_FOUND),
        ("/", "GET", HTTPStatus.NOT_FOUND),
        ("/cliservice", "GET", HTTPStatus.METHOD_NOT_ALLOWED),
    ],
)
def test_only_posts_to_the_path_are_accepted(
    target: str, method: str, status: HTTPStatus | None
) -> None:
    assert http.refusal(Head(method, target, {}, True, 5), "cliservice") is status


@pytest.mark.parametrize(
    ("target", "user"),
    [
        ("/c", None),
        ("/c?doAs=zed", "zed"),
        ("/c?a=b&DOAS=z%40d&doAs=no", "z@d"),
        ("/c?doAs=", None),
    ],
)
def test_do_as_parameter(target: str, user: str | None) -> None:
    assert http.do_as(Head("POST", target, {})) == user


def test_credentials() -> None:
    assert http.authorization_of(Head("POST", "/", {"authorization": "BASIC  abc "})) == (
        "basic",
        "abc",
    )
    assert http.authorization_of(Head("POST", "/", {})) is None
    assert http.basic_credentials(basic("ann", "p:w").split()[1]) == ("ann", "p:w")
    assert http.basic_credentials(basic("ännä", "пароль").split()[1]) == ("ännä", "пароль")
    for text in ("", "!", "YW5u", "OnB3", "/////w=="):  # nothing, no base64, no colon, no name
        assert http.basic_credentials(text) is None
    assert http.spnego_token("YWJj") == http.spnego_token(": YWJj") == b"abc"
    assert http.spnego_token("") is http.spnego_token("*") is None
    assert http.negotiate_header(b"abc") == "Negotiate YWJj"


def test_credentials_are_not_in_the_repr() -> None:
    assert "secret" not in repr(Head("POST", "/", {"authorization": "secret"}))
