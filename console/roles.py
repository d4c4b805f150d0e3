"""What a user may do in the console, by the lists of names in the settings."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from conf.roles import Role
from conf.settings.console import ConsoleSettings
from console.errors import NotAllowed

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
_EVERY_USER = "*"


def role_of(user: str, settings: ConsoleSettings) -> Role:
    """The highest role of the lists that have the user."""
    lists = {
        Role.ADMINISTRATOR: settings.administrators,
        Role.OPERATOR: settings.operators,
        Role.VIEWER: settings.viewers,
    }
    for role, names in lists.items():
        if user in names or _EVERY_USER in names:
            return role
    return Role.ANALYST


def needs(role: Role) -> Callable[[Handler], Handler]:
    """Makes a handler refuse users below `role`. Each handler of a page has one: `make_app` refuses
    a page without it, so that no page is open by mistake."""

    def guard(handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            if request.state.session.role < role:
                raise NotAllowed(role.title)
            return await handler(request)

        guarded.role = role  # type: ignore[attr-defined]
        guarded.__name__ = handler.__name__
        return guarded

    return guard


def needed_role(handler: object) -> Role | None:
    """The role that `needs` gave to a handler."""
    return getattr(handler, "role", None)
