"""The checks of every request before its page, and the security headers of every response.

A request must name this console in its Host header (against DNS rebinding). A POST must come from
one of the console's pages, by `Origin` and by the session's token (against CSRF). All pages but the
log-in need a session. The body is read here, up to a limit: `request.state.form` has its fields.
"""

import logging
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from console.login.sessions import LoginSessions
from proxy.record.incidents import internal_error

_log = logging.getLogger(__name__)
MAX_BODY = 1 << 20  # bytes
MAX_FIELDS = 200
LOG_IN = "/login"  # this path, and paths below it, need no session
_STATIC = "/static/"
_TOKEN_FIELD, _TOKEN_HEADER = "csrf", "x-csrf-token"
_POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self';"
    " frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with stricter ones, browsers send POST without Origin
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FOREVER = "public, max-age=31536000, immutable"  # the address has a hash of the content


class Gate:
    """The ASGI middleware with the checks. `accepts` returns whether a Host header is this
    console's; `failed` renders the page for an internal error."""

    def __init__(
        self,
        app: ASGIApp,
        access: LoginSessions,
        accepts: Callable[[str | None], bool],
        failed: Callable[[Request, str], Awaitable[Response]],
    ) -> None:
        self._app = app
        self._access = access
        self._accepts = accepts
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        began = False

        async def send_with_headers(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                static = path.startswith(_STATIC) and b"v=" in scope["query_string"]
                headers["Cache-Control"] = _FOREVER if static else "no-store"
            await send(message)

        body = b"" if scope["method"] in ("GET", "HEAD") else await _body(receive)
        refusal = self._refusal(scope, path, body)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        try:
            await self._app(scope, receive, send_with_headers)
        except Exception:
            incident = internal_error(_log, f"answering {scope['method']} {path}")
            if began:
                raise
            response = await self._failed(Request(scope), str(incident))
            await response(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope, path: str, body: bytes | None) -> Response | None:
        """The response to a refused request; None for a passing one, after its state is set."""
        headers = Headers(scope=scope)
        if not self._accepts(headers.get("host")):
            return PlainTextResponse("The request is for another host.", 421)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("GET and POST are served.", 405)
        if body is None:
            return PlainTextResponse("The request is too large.", 413)
        session = self._access.session(headers.get("cookie"))
        form = _fields(body)
        state = scope.setdefault("state", {})
        state.update(session=session, form=form)
        if path.startswith(_STATIC):
            return None
        if scope["method"] == "POST":
            if not _is_of(headers.get("origin"), headers.get("host")):
                return PlainTextResponse("The request comes from another site.", 403)
            token = headers.get(_TOKEN_HEADER) or form.get(_TOKEN_FIELD)
            if session is not None and token != session.csrf:
                return PlainTextResponse("The page is too old: reload it and try again.", 403)
        if session is None and path != LOG_IN and not path.startswith(f"{LOG_IN}/"):
            return _to_log_in(scope)
        return None


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too large or the client has disconnected."""
    pieces, length = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
        length += len(pieces[-1])
        if length > MAX_BODY:
            return None
        if not message.get("more_body"):
            return b"".join(pieces)


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form; empty if the body is not a form."""
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        return {}


def _is_of(origin: str | None, host: str | None) -> bool:
    """Whether a page of the console sent the form. Browsers always send `Origin` with POST; other
    clients may omit it."""
    return origin is None or urlsplit(origin).netloc == host


def _to_log_in(scope: Scope) -> Response:
    """Redirects to the log-in page, which leads back after the log-in."""
    request = Request(scope)
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": LOG_IN})
    if request.method != "GET":
        return RedirectResponse(LOG_IN, 303)
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"{LOG_IN}?to={quote(wanted, safe='')}", 303)
