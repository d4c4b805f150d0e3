"""The pages of a log-in at an OpenID Connect issuer."""

import logging
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from conf.logs.log_fields import extra
from console.login import login
from console.login.audit import address_of
from console.login.gate import LOG_IN
from console.login.oidc_login import (
    CALLBACK,
    END,
    MAX_AGE,
    REVOKED,
    START,
    Issued,
    LoginAttempt,
    LoginFailed,
    OidcLogin,
    attempt_of,
)
from console.login.signed import Signer, cookie
from console.rendering import page
from proxy.auth.thread_pool import DaemonThreads

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_COOKIE = "causeway-console-oidc"
_THREADS = 4  # for calls of the issuer; more calls wait


class OidcPages:
    """Runs the calls of `OidcLogin`, which block, in threads."""

    def __init__(self, oidc: OidcLogin) -> None:
        self._oidc = oidc
        self._signer = Signer()
        self._threads = DaemonThreads(_THREADS, "oidc")

    def routes(self) -> list[Route]:
        """The routes, which need no session."""
        return [
            Route(START, self.start),
            Route(CALLBACK, self.back),
            Route(END, self.end),
            Route(REVOKED, self.revoke, methods=["POST"]),
        ]

    async def start(self, request: Request) -> Response:
        """Redirects the browser to the issuer's log-in page."""
        to = login.own_path(request.query_params.get("to"))
        try:
            location, attempt = await self._run(lambda: self._oidc.begin(to))
        except LoginFailed as error:
            return self._failed(request, error, to)
        return RedirectResponse(location, 303, {"Set-Cookie": self._kept(request, attempt)})

    async def back(self, request: Request) -> Response:
        """Starts a session for the issuer's answer."""
        answer = dict(request.query_params)
        attempt = attempt_of(self._signer.read(request.headers.get("cookie"), _COOKIE))
        try:
            found = await self._run(lambda: self._oidc.finish(answer, attempt))
        except LoginFailed as error:
            failed = self._failed(request, error, attempt.to if attempt else "/")
            failed.headers.append("Set-Cookie", self._kept(request, None))
            return failed
        # Browsers do not send a SameSite=Strict cookie while they follow the issuer's redirect. So
        # the response is a page that loads the next one, not a redirect.
        to = login.own_path(attempt.to if attempt else "/")
        response = page(request, "logged_in.html", to=to)
        response.headers.append("Set-Cookie", self._cookie(request, found))
        response.headers.append("Set-Cookie", self._kept(request, None))
        return response

    async def end(self, request: Request) -> Response:
        """Redirects the browser to the issuer's log-out page."""
        try:
            url = await self._run(self._oidc.end_url)
        except LoginFailed as error:
            return self._failed(request, error, "/")
        return RedirectResponse(url or LOG_IN, 303)

    async def revoke(self, request: Request) -> Response:
        """Ends the sessions that the issuer names in a log-out token (back-channel log-out)."""
        state, token = request.app.state, request.state.form.get("logout_token", "")
        try:
            subject, sid, until = await self._run(lambda: self._oidc.ended(token))
        except LoginFailed as error:
            _log.warning("no session is ended: %s", error, extra=extra(address=address_of(request)))
            return JSONResponse({"error": "invalid_request"}, 400)
        for session in state.access.end_issued(subject, sid, until):
            state.audit.ended_by_issuer(request, self._oidc.name, session)
        return Response(status_code=200)

    def _cookie(self, request: Request, found: Issued) -> str:
        return login.session_cookie(request, found.user, found.role, found.subject, found.sid)

    async def _run(self, call: Callable[[], _T]) -> _T:
        return await self._threads.run(call)

    def _kept(self, request: Request, attempt: LoginAttempt | None) -> str:
        """The Set-Cookie value that keeps an attempt; None deletes it. SameSite is Lax, because
        Strict cookies are not sent on the way back from the issuer."""
        value = "" if attempt is None else self._signer.sign(attempt.text())
        secure = request.app.state.secure
        return cookie(_COOKIE, value, int(MAX_AGE), START, "Lax", secure)

    def _failed(self, request: Request, error: LoginFailed, to: str) -> Response:
        address = address_of(request)
        _log.warning("a log-in failed: %s", error, extra=extra(address=address))
        request.app.state.audit.login("", address, accepted=False)
        return login.form(request, 401, to=to, failed=str(error))
