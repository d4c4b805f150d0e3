"""An OpenID Connect issuer: its configuration, and the user and role in its tokens' claims."""

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
    """An issuer's configuration. All but the last two fields are URLs; `end_session` is empty if
    the issuer has no log-out. `sends_issuer`: its answers to browsers have its name (RFC 9207)."""

    issuer: str
    authorization: str
    token: str
    keys: str
    end_session: str
    token_methods: tuple[str, ...]
    sends_issuer: bool


def configuration_url(issuer: str) -> str:
    """The URL of an issuer's configuration (OpenID Connect Discovery, 4.1)."""
    return issuer.rstrip("/") + _WELL_KNOWN


def read_provider(text: str | bytes, issuer: str) -> Provider:
    """The configuration of this issuer. Raises ValueError, whose message is for operators."""
    try:
        fields = json.loads(text)
    except RecursionError:
        fields = None
    if not isinstance(fields, dict):
        raise ValueError("its configuration is not a JSON object")
    if fields.get("issuer") != issuer:
        raise ValueError(f"its configuration is that of the issuer {fields.get('issuer')!r}")
    methods = fields.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    return Provider(
        issuer,
        _url(fields, "authorization_endpoint"),
        _url(fields, "token_endpoint"),
        _url(fields, "jwks_uri"),
        _url(fields, "end_session_endpoint") if fields.get("end_session_endpoint") else "",
        tuple(map(str, methods)) if isinstance(methods, list) else (),
        fields.get("authorization_response_iss_parameter_supported") is True,
    )


def _url(fields: Mapping[str, Any], name: str) -> str:
    text = fields.get(name)
    try:
        return https_url(text if isinstance(text, str) else "")
    except ValueError as error:
        raise ValueError(f"{name} of its configuration is {error}") from None


def name_of(claims: Mapping[str, Any], issuer: OperatorIssuer) -> str:
    """The user's name in the claims of a verified token. Raises BadCredentials."""
    if issuer.user_claim == _EMAIL and claims.get("email_verified") is not True:
        raise BadCredentials("the issuer has not verified the e-mail address")
    return claimed_name(claims, issuer.user_claim)


def role_of_claims(claims: Mapping[str, Any], issuer: OperatorIssuer) -> Role:
    """The highest role that the user's groups give; ANALYST if they give none."""
    groups = _groups(claims, issuer.groups_claim)
    by_role = {
        Role.ADMINISTRATOR: issuer.administrators,
        Role.OPERATOR: issuer.operators,
        Role.VIEWER: issuer.viewers,
    }
    return next((role for role, named in by_role.items() if named & groups), Role.ANALYST)


def _groups(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """The texts in the claim `name`, or in the nested claim at the dotted path `name`; empty for a
    claim of another type."""
    value: Any = claims.get(name)
    if value is None:
        value = claims
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    groups = [value] if isinstance(value, str) else value
    if not isinstance(groups, list) or len(groups) > _MAX_GROUPS:
        return frozenset()
    return frozenset(each for each in groups if isinstance(each, str))
