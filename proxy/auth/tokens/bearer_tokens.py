"""Bearer tokens (JWT): the keys that may verify a token, its claims, and the user in them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jwt

from conf.settings.security.authentication import Jwt
from proxy.auth.user_names import login_name, short_name
from saslauth.errors import BadCredentials

MAX_TOKEN = 16 << 10  # characters
_MAX_KEYS = 100
CLOCK_SKEW = 30.0  # seconds
_MIN_RSA = 2048  # bits
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}


@dataclass(frozen=True, slots=True)
class Key:
    """A public key of a JWKS; a field that the JWKS does not have is None."""

    kid: str | None
    kind: str
    algorithm: str | None
    curve: str | None
    key: Any = field(repr=False)

    def fits(self, algorithm: str) -> bool:
        """Whether the key verifies signatures of this algorithm.

        The key decides this: a token must not choose its own algorithm.
        """
        if _KINDS.get(algorithm[:2]) != self.kind or self.algorithm not in (None, algorithm):
            return False
        return self.curve == _CURVES.get(algorithm, self.curve)


def read_keys(text: str) -> tuple[Key, ...]:
    """The keys of a JWKS that can verify signatures. Raises ValueError."""
    try:
        entries = json.loads(text)["keys"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError("not a JWKS") from None
    if not isinstance(entries, list) or len(entries) > _MAX_KEYS:
        raise ValueError("not a JWKS of at most 100 keys")
    return tuple(key for each in entries if (key := _key(each)) is not None)


def _key(entry: Any) -> Key | None:
    """The key of a JWKS entry; None for a shared secret, a private key, or one for encryption."""
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or "d" in entry:
        return None
    kind = str(entry.get("kty"))
    if kind not in _KINDS.values() or "verify" not in entry.get("key_ops", ["verify"]):
        return None
    any_algorithm = {"RSA": "RS256", "EC": _ec_algorithm(entry), "OKP": "EdDSA"}[kind]
    try:
        key = jwt.PyJWK.from_dict(entry, algorithm=any_algorithm).key
    except Exception:  # the library raises errors of many types for malformed keys
        return None
    if kind == "RSA" and key.key_size < _MIN_RSA:
        return None
    return Key(entry.get("kid"), kind, entry.get("alg"), entry.get("crv"), key)


def _ec_algorithm(entry: Mapping[str, Any]) -> str:
    return {curve: name for name, curve in _CURVES.items()}.get(str(entry.get("crv")), "ES256")


@dataclass(frozen=True, slots=True)
class TokenHeader:
    """The algorithm of a token's signature, and the id of its key."""

    algorithm: str
    kid: str | None


def read_token_header(settings: Jwt, token: str) -> TokenHeader:
    """The header of a token that is not verified yet. Raises BadCredentials."""
    if len(token) > MAX_TOKEN or not token.isascii():
        raise BadCredentials("not a token")
    try:
        header = jwt.get_unverified_header(token)
    except Exception:
        raise BadCredentials("not a token") from None
    algorithm, kid = header.get("alg"), header.get("kid")
    if algorithm not in settings.algorithms:
        raise BadCredentials("signed with an algorithm that is not allowed")
    if "crit" in header or not (kid is None or isinstance(kid, str)):
        raise BadCredentials("the token's header is not understood")
    return TokenHeader(algorithm, kid)


def usable_keys(keys: Sequence[Key], header: TokenHeader) -> list[Key]:
    """The keys that may have signed a token with this header."""
    return [each for each in keys if header.kid in (None, each.kid) and each.fits(header.algorithm)]


def claims_of(settings: Jwt, token: str, keys: Sequence[Key]) -> Mapping[str, Any]:
    """The claims of a verified token. Raises BadCredentials."""
    header = read_token_header(settings, token)
    reason = "signed with a key that is not known"
    for each in usable_keys(keys, header):
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                each.key,
                algorithms=[header.algorithm],
                issuer=settings.issuer or None,
                audience=settings.audience or None,
                leeway=CLOCK_SKEW,
                options={
                    "require": ["exp", *(["aud"] if settings.audience else [])],
                    "verify_aud": bool(settings.audience),
                },
            )
        except jwt.InvalidSignatureError:
            reason = "the signature is wrong"
            continue
        except Exception as error:  # malformed claims raise errors of many types
            raise BadCredentials(f"the token is invalid: {type(error).__name__}") from None
        return claims
    raise BadCredentials(reason)


def claimed_name(claims: Mapping[str, Any], claim: str) -> str:
    """The user's name in a claim. Raises BadCredentials."""
    name = claims.get(claim)
    if not isinstance(name, str):
        raise BadCredentials(f"the token has no user name in {claim}")
    return short_name(login_name(name))
