"""An OpenID Connect issuer: what it says of itself, and what the claims of its tokens mean here."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conf.roles import Role
from conf.settings.security.operator_issuer import OperatorIssuer, https_url
from proxy.auth.tokens.bearer_tokens import claimed_name
from saslauth.errors import BadCredentials

_WELL_KNOWN = "/.well-known/openid-configuration"
_MAX_GROUPS = 10_000
_EMAIL = "email"


@dataclass(frozen=True, slots=True)
class Provider:
    """An issuer's configuration. `end_session` is empty where it has no log-out; `sends_issuer`:
    its answers to browsers have its name (RFC 9207)."""

    issuer: str
    authorization: str
    token: str
    keys: str
    end_session: str
    token_methods: tuple[str, ...]
    sends_issuer: bool


def configuration_url(issuer: str) -> str:
    """Where an issuer's configuration is (OpenID Connect Discovery, 4.1)."""
    return issuer.rstrip("/") + _WELL_KNOWN


def read_provider(text: str | bytes, issuer: str) -> Provider:
    """The configuration of this issuer. Raises ValueError, whose message is for operators."""
    try:
        found = json.loads(text)
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("its configuration is not a JSON object")
    if found.get("issuer") != issuer:
        raise ValueError(f"its configuration is that of the issuer {found.get('issuer')!r}")
    methods = found.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    return Provider(
        issuer,
        _url(found, "authorization_endpoint"),
        _url(found, "token_endpoint"),
        _url(found, "jwks_uri"),
        _url(found, "end_session_endpoint") if found.get("end_session_endpoint") else "",
        tuple(map(str, methods)) if isinstance(methods, list) else (),
        found.get("authorization_response_iss_parameter_supported") is True,
    )


def _url(found: Mapping[str, Any], name: str) -> str:
    text = found.get(name)
    try:
        return https_url(text if isinstance(text, str) else "")
    except ValueError as error:
        raise ValueError(f"{name} of its configuration is {error}") from None


def name_of(claims: Mapping[str, Any], issuer: OperatorIssuer) -> str:
    """The user's name. Raises BadCredentials."""
    if issuer.user_claim == _EMAIL and claims.get("email_verified") is not True:
        raise BadCredentials("the issuer has not verified the e-mail address")
    return claimed_name(claims, issuer.user_claim)


def role_of_claims(claims: Mapping[str, Any], issuer: OperatorIssuer) -> Role:
    """The highest role of the user's groups; that of an analyst without one."""
    groups = _groups(claims, issuer.groups_claim)
    by_role = {
        Role.ADMINISTRATOR: issuer.administrators,
        Role.OPERATOR: issuer.operators,
        Role.VIEWER: issuer.viewers,
    }
    return next((role for role, named in by_role.items() if named & groups), Role.ANALYST)


def _groups(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """The texts in a claim, or in a claim of a claim; none where it is something else."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    listed = [found] if isinstance(found, str) else found
    if not isinstance(listed, list) or len(listed) > _MAX_GROUPS:
        return frozenset()
    return frozenset(each for each in listed if isinstance(each, str))
