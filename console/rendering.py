"""Renders the templates in `templates/` with the context that all of them share."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from conf.roles import Role
from console import shown
from console.navigation import NAVIGATION
from console.roles import needed_role

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"


def page(request: Request, template: str, status: int = 200, **context: Any) -> Response:
    """The response of a rendered template. Its variables are those of `context` and `session`,
    `navigation`, `path`, `role` (for `role >= Role.OPERATOR`), `csrf` for forms, and `open`, which
    says that no log-in is needed."""
    session = request.state.session
    role = Role.ANALYST if session is None else session.role
    shared = {
        "session": session,
        "role": role,
        "csrf": "" if session is None else session.csrf,
        "navigation": [] if session is None else _navigation(request, role),
        "path": request.url.path,
        "open": request.app.state.access.is_open,
    }
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(shared | context), status)


def render(template: str, **context: Any) -> str:
    """The text of a template that is a part of a page."""
    return _ENVIRONMENT.get_template(template).render(context)


def static(name: str) -> str:
    """The URL of a file in `static/`. It changes with the file's content."""
    if name not in _ADDRESSES:
        digest = sha256((STATIC / name).read_bytes()).hexdigest()[:12]
        _ADDRESSES[name] = f"/static/{name}?v={digest}"
    return _ADDRESSES[name]


def _navigation(request: Request, role: Role) -> list[tuple[str, str]]:
    """The screens that the role may see."""
    roles = request.app.state.roles
    return [(title, path) for title, path in NAVIGATION if roles.get(path, Role.VIEWER) <= role]


def roles_by_path(routes: Iterable[Any]) -> dict[str, Role]:
    """The role that each page needs, by path. Raises TypeError for a handler without a role."""
    found = {}
    for route in routes:
        role = needed_role(route.endpoint)
        if role is None:
            raise TypeError(f"the handler of {route.path} has no @needs")
        if "GET" in (route.methods or ()):
            found[route.path] = role
    return found


_ADDRESSES: dict[str, str] = {}
_ENVIRONMENT = Environment(
    loader=FileSystemLoader(FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.globals.update(static=static, Role=Role)
_ENVIRONMENT.filters.update(
    time=shown.time, seconds=shown.seconds, bytes=shown.size, number=shown.number
)
