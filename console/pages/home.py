"""The path `/`, which redirects to the first screen that the user may see."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from conf.roles import Role
from console.navigation import NAVIGATION
from console.roles import needs


@needs(Role.ANALYST)
async def show(request: Request) -> Response:
    roles, role = request.app.state.roles, request.state.session.role
    paths = (path for _, path in NAVIGATION if roles.get(path, Role.VIEWER) <= role)
    return RedirectResponse(next(paths, "/where"), 303)


ROUTES = [Route("/", show)]
