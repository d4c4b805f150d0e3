"""HTTP requests that a web page may have made a browser send are refused."""

from http import HTTPStatus

import pytest

from proxy.protocol.http import Head
from proxy.protocol.request_guard import RequestGuard, guard_of, host_name


def head(host: str | None, method: str = "POST", **headers: str) -> Head:
    named = {key.replace("_", "-").lower(): value for key, value in headers.items()}
    return Head(method, "/", named if host is None else {"host": host, **named})


LOCAL = guard_of((), False, "127.0.0.1", "Gateway7")
NAMED = guard_of({"sql.example.com", "*.lab.example.com"}, False, "0.0.0.0", "gateway7")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:10001",
        "gateway7",
        "127.0.0.1:10001",
        "[::1]:1",
        "10.1.2.3",
        "localhost.",
        None,
    ],
)
def test_a_loopback_listener_accepts_its_names_and_addresses(host: str | None) -> None:
    assert LOCAL.refusal(head(host)) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "a@localhost"]
)
def test_another_name_is_refused(host: str) -> None:
    for guard in (LOCAL, NAMED):
        assert guard.refusal(head(host)) is HTTPStatus.MISDIRECTED_REQUEST


def test_configured_names() -> None:
    for host in ("sql.example.com", "a.lab.example.com:443", "b.a.lab.example.com", "localhost"):
        assert NAMED.refusal(head(host)) is None
    for host in ("lab.example.com", "xlab.example.com", "example.com"):
        assert NAMED.refusal(head(host)) is HTTPStatus.MISDIRECTED_REQUEST


def test_another_listener_accepts_any_name_unless_names_are_configured() -> None:
    assert guard_of((), False, "0.0.0.0", "g").refusal(head("x.example")) is None
    assert guard_of({"*"}, False, "127.0.0.1", "g").refusal(head("x.example")) is None


def test_unsafe_requests_need_the_xsrf_header() -> None:
    guard = RequestGuard(xsrf=True)
    assert guard.refusal(head("h")) is HTTPStatus.BAD_REQUEST
    assert guard.refusal(head("h", X_XSRF_HEADER="")) is None
    assert guard.refusal(head("h", "GET")) is None
    assert RequestGuard().refusal(head("h")) is None


def test_host_names() -> None:
    assert host_name("A.b:1") == "a.b"
    assert host_name("[::1]:80") == "::1"
