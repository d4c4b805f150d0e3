"""The pages to log in and out, and the list of sessions."""

from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from conf.roles import Role
from console.login.audit import address_of
from console.login.gate import LOG_IN
from console.login.sessions import set_cookie
from console.rendering import page
from console.roles import needs, role_of
from proxy.errors import AuthRejected

_WRONG = "The name or the password is wrong, or there were too many attempts."


async def show_login(request: Request) -> Response:
    """Shows the form; redirects a user who is logged in."""
    to = own_path(request.query_params.get("to"))
    if request.state.session is not None:
        return RedirectResponse(to, 303)
    return form(request, to=to, left="left" in request.query_params)


async def log_in(request: Request) -> Response:
    """Checks the name and password with the proxy's authenticator, and starts a session."""
    state, fields = request.app.state, request.state.form
    typed, to = fields.get("user", ""), own_path(fields.get("to"))
    address = address_of(request)
    if not state.takes_passwords:
        return form(request, 403, to=to, failed="Log-in by password is disabled.")
    try:
        user = await state.authenticator.password(typed, fields.get("password", ""), address)
    except AuthRejected:
        state.audit.login(typed, address, accepted=False)
        return form(request, 401, to=to, failed=_WRONG)
    made = session_cookie(request, user, Role.ANALYST)
    return RedirectResponse(to, 303, {"Set-Cookie": made})


def form(request: Request, status: int = 200, **context: Any) -> Response:
    """The page with all ways to log in. `left` in the context says that a user has just logged out;
    `failed` is the reason why a log-in failed."""
    state = request.app.state
    issuer = state.oidc.name if state.oidc is not None else ""
    ways = {"takes_passwords": state.takes_passwords, "issuer": issuer}
    return page(request, "login.html", status, **({"left": False, "failed": ""} | ways | context))


def session_cookie(
    request: Request, user: str, role: Role, subject: str = "", sid: str = ""
) -> str:
    """Starts the session of an authenticated user, and returns the value of Set-Cookie. The
    settings' lists of names may give a higher role than `role`."""
    state, address = request.app.state, address_of(request)
    state.audit.login(user, address, accepted=True)
    highest = max(role, role_of(user, state.settings.console))
    return set_cookie(state.access.log_in(user, highest, address, subject, sid), state.secure)


@needs(Role.ANALYST)
async def log_out(request: Request) -> Response:
    """Ends the session of this browser."""
    state = request.app.state
    state.access.end(request.state.session.name)
    return RedirectResponse(f"{LOG_IN}?left", 303, {"Set-Cookie": set_cookie("", state.secure)})


@needs(Role.ADMINISTRATOR)
async def show_sessions(request: Request) -> Response:
    return page(request, "sessions.html", sessions=request.app.state.access.sessions())


@needs(Role.ADMINISTRATOR)
async def end_session(request: Request) -> Response:
    """Ends any user's session."""
    state, name = request.app.state, request.path_params["name"]
    ended = state.access.end(name)
    if ended is not None:
        state.audit.action(request, "end-console-session", f"{name} of {ended.user}")
    return RedirectResponse("/sessions", 303)


def own_path(text: str | None) -> str:
    """The path if it is one of the console, else `/`, so that a link to the log-in cannot redirect
    to another site."""
    parts = urlsplit(text or "/")
    own = not parts.scheme and not parts.netloc and parts.path.startswith("/")
    return (text or "/") if own and not (text or "/").startswith(("//", "/\\")) else "/"


ROUTES = [
    Route("/logout", log_out, methods=["POST"]),
    Route("/sessions", show_sessions),
    Route("/sessions/{name}/end", end_session, methods=["POST"]),
]
OPEN_ROUTES = [Route(LOG_IN, show_login), Route(LOG_IN, log_in, methods=["POST"])]
