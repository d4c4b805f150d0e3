"""Whom a session is for: its client, or somebody that the client asks to act as.

Said in OpenSession's configuration, or by HTTP's doAs. Clusters never hear what the client said
of it: they are told whom we found.
"""

from collections.abc import Mapping

from conf.settings.names import canonical_name
from proxy.auth.errors import BadCredentials
from proxy.auth.user_names import login_name, short_name
from proxy.errors import NotYourself

PROXY_USER = "hive.server2.proxy.user"


def without(configuration: Mapping[str, str]) -> dict[str, str]:
    """What clusters may be told of a client's configuration."""
    return {key: value for key, value in configuration.items() if canonical_name(key) != PROXY_USER}


def wanted(user: str, configuration: Mapping[str, str], do_as: str | None) -> str:
    """Who `user` wants to be, whether that is allowed or not. Raises NotYourself when that is
    nobody, or more than one."""
    asked = {value for key, value in configuration.items() if canonical_name(key) == PROXY_USER}
    asked |= {do_as} if do_as is not None else set()
    asked -= {user}
    if not asked:
        return user
    try:
        names = {short_name(login_name(each)) for each in asked}
    except BadCredentials as error:
        raise NotYourself(f"{user} may not act as that: {error}.") from None
    if len(names) > 1:
        raise NotYourself(f"{user} may not act as several at once.")
    return names.pop()


def stay_yourself(key: str, value: str, user: str) -> None:
    """Of a running session's setting. Raises NotYourself."""
    if canonical_name(key) == PROXY_USER and value.strip() != user:
        raise NotYourself(f"{user} may not act as {value!r}.")
