"""The OpenID Connect issuer of operators, and the roles of its groups."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from conf.kinds import FILE, LIST, TEXT, SettingKind, comma_separated
from conf.settings.rows import RESTART, Setting, made_of, setting


def https_url(text: str) -> str:
    """Checks a URL, which may use http only on this machine. Raises ValueError."""
    url = urlsplit(text)
    secure = url.scheme == "https" or (url.scheme == "http" and is_local(url.hostname or ""))
    if not (secure and url.hostname) or url.username is not None or "#" in text:
        raise ValueError(f"not https://..: {text!r}")
    return text


def _issuer(text: str) -> str:
    if "?" in https_url(text):
        raise ValueError(f"an issuer has no query: {text!r}")
    return text


def is_local(host: str) -> bool:
    """Whether only this machine can reach a listener of that host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


HTTPS_URL = SettingKind("https URL", https_url, empty="")
_GROUPS: SettingKind[frozenset[str]] = SettingKind(
    "list", lambda text: frozenset(comma_separated(text)), LIST.schema, frozenset()
)

# fmt: off
ISSUER = Setting("proxy.admin.oidc.issuer", SettingKind("https URL", _issuer, empty=""), "",
    RESTART,
    "The [OpenID Connect issuer](../guide/security.md#operators-of-an-openid-connect-issuer) of"
    " operators, as its configuration names it: `https://host/path`.")

AUDIENCE = Setting("proxy.admin.oidc.audience", LIST, "", RESTART,
    "The ports for operators accept the issuer's tokens (JWT) whose `aud` contains one of these"
    " texts. The console's own client must not be one of them.", shown="no tokens are accepted")


@dataclass(frozen=True, slots=True)
class OperatorIssuer:
    """`url` empty: there is no issuer. `audience` empty: the ports accept none of its tokens."""

    url: str = made_of(ISSUER, factory=str)
    audience: tuple[str, ...] = made_of(AUDIENCE, factory=tuple)
    user_claim: str = setting("proxy.admin.oidc.user.claim", TEXT, "sub", RESTART,
        "The claim that holds the user's name. A name that users may change themselves, or give"
        " twice, must not be used.")
    groups_claim: str = setting("proxy.admin.oidc.groups.claim", TEXT, "groups", RESTART,
        "The claim that holds the user's groups or roles, a text or a list of texts;"
        " `realm_access.roles` is the claim `roles` in `realm_access`.")
    viewers: frozenset[str] = setting("proxy.admin.oidc.viewers", _GROUPS, "", RESTART,
        "Viewers: members of these groups see everything, at the ports for operators and in the"
        " console.",
        shown="nobody")
    operators: frozenset[str] = setting("proxy.admin.oidc.operators", _GROUPS, "", RESTART,
        "Operators: members of these groups may do what operators may.", shown="nobody")
    administrators: frozenset[str] = setting("proxy.admin.oidc.administrators", _GROUPS, "",
        RESTART, "Administrators: members of these groups may do everything.", shown="nobody")
    ca: Path | None = setting("proxy.admin.oidc.ca.file", FILE, "", RESTART,
        "Certificate authorities (PEM) for the issuer's URLs.", shown="the system's")
