"""The user that a client wants to act as: in OpenSession's configuration, or in HTTP's doAs.

The setting is never sent to clusters: their sessions are opened as the user found here.
"""

from collections.abc import Mapping

from conf.settings.names import canonical_name
from proxy.auth.user_names import login_name, short_name
from proxy.errors import ImpersonationDenied
from saslauth.errors import BadCredentials

PROXY_USER = "hive.server2.proxy.user"


def without_proxy_user(configuration: Mapping[str, str]) -> dict[str, str]:
    """The configuration without the setting PROXY_USER in any spelling."""
    return {key: value for key, value in configuration.items() if canonical_name(key) != PROXY_USER}


def requested_user(user: str, configuration: Mapping[str, str], do_as: str | None) -> str:
    """The user that `user` wants to act as, or `user` itself. Does not check the permission.

    Raises ImpersonationDenied for an invalid name, and for more than one name.
    """
    requested = {value for key, value in configuration.items() if canonical_name(key) == PROXY_USER}
    requested |= {do_as} if do_as is not None else set()
    requested -= {user}
    if not requested:
        return user
    try:
        names = {short_name(login_name(each)) for each in requested}
    except BadCredentials as error:
        raise ImpersonationDenied(f"{user} may not act as that: {error}.") from None
    if len(names) > 1:
        raise ImpersonationDenied(f"{user} may not act as several users at once.")
    return names.pop()


def check_proxy_user(key: str, value: str, user: str) -> None:
    """Raises ImpersonationDenied if this setting would change the user of an open session."""
    if canonical_name(key) == PROXY_USER and value.strip() != user:
        raise ImpersonationDenied(f"{user} may not act as {value!r}.")
