"""The roles of the console's users, by the lists of names in the settings."""

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
    """The highest role whose list has the user; ANALYST if none has."""
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
    """A decorator that makes a handler refuse users below `role`. `make_app` refuses pages whose
    handler lacks it, so that no page is open by mistake."""

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
    """The role that `needs` gave to a handler; None without it."""
    return getattr(handler, "role", None)
