"""Logging in and out, and the list of those who are logged in."""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from conf.roles import Role
from console.login.access import set_cookie
from console.login.audit import address_of
from console.login.gate import LOG_IN
from console.rendering import page
from console.roles import needs, role_of
from proxy.errors import AuthRejected


async def show_login(request: Request) -> Response:
    """The form; someone who is logged in goes on."""
    if request.state.session is not None:
        return RedirectResponse(own_path(request.query_params.get("to")), 303)
    return page(request, "login.html", to=own_path(request.query_params.get("to")), failed=False)


async def log_in(request: Request) -> Response:
    """Checks the name and password with the proxy's own authenticator."""
    state, form = request.app.state, request.state.form
    typed, to = form.get("user", ""), own_path(form.get("to"))
    address = address_of(request)
    try:
        user = await state.authenticator.password(typed, form.get("password", ""), address)
    except AuthRejected:
        state.audit.login(typed, address, accepted=False)
        return page(request, "login.html", 401, to=to, failed=True)
    state.audit.login(user, address, accepted=True)
    cookie = state.access.log_in(user, role_of(user, state.settings.console), address)
    return RedirectResponse(to, 303, {"Set-Cookie": set_cookie(cookie, state.secure)})


@needs(Role.ANALYST)
async def log_out(request: Request) -> Response:
    """Ends the session of this browser."""
    state = request.app.state
    state.access.end(request.state.session.name)
    return RedirectResponse(LOG_IN, 303, {"Set-Cookie": set_cookie("", state.secure)})


@needs(Role.ADMINISTRATOR)
async def show_sessions(request: Request) -> Response:
    return page(request, "sessions.html", sessions=request.app.state.access.sessions())


@needs(Role.ADMINISTRATOR)
async def end_session(request: Request) -> Response:
    """Ends a session of any user."""
    state, name = request.app.state, request.path_params["name"]
    ended = state.access.end(name)
    if ended is not None:
        state.audit.action(request, "end-console-session", f"{name} of {ended.user}")
    return RedirectResponse("/sessions", 303)


def own_path(text: str | None) -> str:
    """A path of the console, `/` for anything else: a link to the log-in leads nowhere else."""
    parts = urlsplit(text or "/")
    own = not parts.scheme and not parts.netloc and parts.path.startswith("/")
    return (text or "/") if own and not (text or "/").startswith(("//", "/\\")) else "/"


ROUTES = [
    Route("/logout", log_out, methods=["POST"]),
    Route("/sessions", show_sessions),
    Route("/sessions/{name}/end", end_session, methods=["POST"]),
]
OPEN_ROUTES = [Route(LOG_IN, show_login), Route(LOG_IN, log_in, methods=["POST"])]
