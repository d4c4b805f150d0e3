"""A browser without a screen: requests to the console's application, with cookies, by hand."""

import asyncio
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette

HOST = "127.0.0.1:10002"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(slots=True)
class Browser:
    """Keeps the cookies of the console; `csrf` is sent with forms."""

    app: Starlette
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""

    def get(self, path: str, **headers: str) -> Answer:
        return asyncio.run(self.request("GET", path, b"", headers))

    def post(self, path: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
        body = urlencode({"csrf": self.csrf} | (form or {})).encode()
        headers = {"content-type": "application/x-www-form-urlencoded"} | headers
        return asyncio.run(self.request("POST", path, body, headers))

    def log_in(self, user: str, password: str) -> Answer:
        answer = self.post("/login", {"user": user, "password": password})
        session = self.app.state.access.session(self.cookie_header())
        self.csrf = session.csrf if session else ""
        return answer

    async def request(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        path, _, query = path.partition("?")
        sent = {"host": HOST, "cookie": self.cookie_header()} | headers
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [
                (name.replace("_", "-").encode(), value.encode()) for name, value in sent.items()
            ],
            "client": ("127.0.0.1", 40000),
            "server": ("127.0.0.1", 10002),
        }
        received: list[dict[str, Any]] = []
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> dict[str, Any]:
            for message in messages:
                return message
            await asyncio.Event().wait()  # it stays connected: files are not sent to one that left
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            received.append(dict(message))

        await self.app(scope, receive, send)
        start = received[0]
        answered = [(name.decode(), value.decode()) for name, value in start["headers"]]
        for name, value in answered:
            if name == "set-cookie":
                for cookie in SimpleCookie(value).values():
                    self.cookies[cookie.key] = cookie.value
        content = b"".join(each.get("body", b"") for each in received[1:])
        return Answer(start["status"], dict(answered), content)

    def cookie_header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())


def opened(app: Starlette) -> Browser:
    """A browser of a console without log-in, with the token of its forms."""
    return Browser(app, csrf=app.state.access.session(None).csrf)
