"""The console's ASGI application: its pages, the log-in and the pages for errors."""

import pkgutil
import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from getpass import getuser
from importlib import import_module
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from conf.settings.security.authentication import Auth
from conf.settings.settings import Settings
from console import pages
from console.errors import NoConsole, NotAllowed, Refused, SourceDown
from console.login import login
from console.login.audit import ConsoleAudit
from console.login.gate import Gate
from console.login.oidc import OidcPages
from console.login.oidc_login import OidcLogin
from console.login.sessions import LoginSessions
from console.rendering import STATIC, page, roles_by_path
from console.sources import Sources
from proxy.auth.build_authenticator import build_authenticator
from proxy.operations.audit.audit_store import AuditLog
from proxy.protocol.request_guard import guard_of, is_loopback

_UNCHECKED = frozenset((Auth.NONE, Auth.NOSASL))
_GUIDES = {
    "history.store": "It names the database of ended statements: docs/guide/operate.md, History.",
    "lifecycle.port": "It names the server of feeds and processes: docs/guide/lifecycle.md.",
    "proxy.admin.port": "The console calls proxies there: docs/guide/console.md.",
}
"""What the settings are for that a page may lack."""
_BY_PASSWORD = frozenset((Auth.LDAP, Auth.FILE, Auth.CUSTOM))


def make_app(settings: Settings, sources: Sources) -> Starlette:
    """The application. Raises BadSetting, and NoConsole if the settings check no log-in."""
    operating, host = settings.operating, settings.console.listen.host
    access = LoginSessions(_open_user(settings))
    authenticator = build_authenticator(settings.identity)
    guard = guard_of(settings.transports.allowed_hosts, False, host, platform.node())
    routes = [*login.ROUTES, *_page_routes()]
    audit = ConsoleAudit(
        None
        if operating.audit_file is None
        else AuditLog(operating.audit_file, operating.audit_size)
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await sources.close()
        audit.close()

    oidc = OidcLogin(settings) if settings.console.oidc.client else None
    open_routes = [*login.OPEN_ROUTES, *(OidcPages(oidc).routes() if oidc is not None else ())]
    app = Starlette(
        routes=[*open_routes, *routes, Mount("/static", StaticFiles(directory=STATIC))],
        middleware=[Middleware(Gate, access=access, accepts=guard.accepts, failed=_failed)],
        exception_handlers={
            SourceDown: _source_down,
            Refused: _refused,
            NotAllowed: _not_allowed,
            404: _not_found,
        },
        lifespan=lifespan,
    )
    app.state.settings = settings
    app.state.sources = sources
    app.state.live = {}  # console.pages.live: pictures shared by viewers
    app.state.access = access
    app.state.authenticator = authenticator
    app.state.audit = audit
    app.state.oidc = oidc
    app.state.takes_passwords = bool(settings.identity.methods & _BY_PASSWORD)
    over_tls = settings.transports.tls is not None
    app.state.secure = over_tls or settings.console.url.startswith("https:")
    app.state.roles = roles_by_path(routes)
    return app


def _open_user(settings: Settings) -> str | None:
    """The user of all requests if no log-in is needed, which is so on loopback with authentication
    NONE; None if a log-in is needed. Raises NoConsole."""
    methods, listen = settings.identity.methods, settings.console.listen
    if methods & _BY_PASSWORD or settings.console.oidc.client:
        return None
    if not methods <= _UNCHECKED:
        raise NoConsole(
            "hive.server2.authentication has no way to check a password, and"
            " console.oidc.client.id is not set."
        )
    if not is_loopback(listen.host):
        raise NoConsole(
            f"console.host is {listen.host}, which other machines can reach, and"
            " hive.server2.authentication = NONE checks no log-in."
        )
    return getuser()


def _page_routes() -> list[Route]:
    """The `ROUTES` of all modules in console/pages."""
    names = sorted(each.name for each in pkgutil.iter_modules(pages.__path__))
    modules = [import_module(f"console.pages.{name}") for name in names]
    return [route for module in modules for route in getattr(module, "ROUTES", ())]


# Pages for errors


async def _source_down(request: Request, error: Any) -> Response:
    setting = getattr(error, "setting", "")
    return page(
        request,
        "unavailable.html",
        503,
        source=error.source,
        reason=error.reason,
        setting=setting,
        guide=_GUIDES.get(setting, ""),
    )


async def _refused(request: Request, error: Exception) -> Response:
    return _message(request, 409, "Refused", str(error))


async def _not_allowed(request: Request, error: Exception) -> Response:
    text = f"This needs the role {error}. Ask an administrator to add you to console.{error}s."
    return _message(request, 403, "Not allowed", text)


async def _not_found(request: Request, error: Exception) -> Response:
    return _message(request, 404, "Not found", getattr(error, "detail", "There is no such page."))


async def _failed(request: Request, incident: str) -> Response:
    return _message(request, 500, "Internal error", incident)


def _message(request: Request, status: int, title: str, text: str) -> Response:
    return page(request, "message.html", status, title=title, text=text)
