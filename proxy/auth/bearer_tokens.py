"""What a bearer's token (JWT) has to be, given the keys of who issues them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jwt

from conf.settings.authentication import Jwt
from proxy.auth.errors import Wrong
from proxy.auth.user_names import said_name, short_name

LONGEST = 16 << 10  # characters of a token
_MOST_KEYS = 100
_SKEW = 30.0  # seconds that clocks may differ
_SHORTEST_RSA = 2048
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}


@dataclass(frozen=True, slots=True)
class Key:
    """One public key; what the issuer left out is None."""

    kid: str | None
    kind: str
    algorithm: str | None
    curve: str | None
    key: Any = field(repr=False)

    def fits(self, algorithm: str) -> bool:
        """Whether that is how the key signs: a token must not choose for itself."""
        if _KINDS.get(algorithm[:2]) != self.kind or self.algorithm not in (None, algorithm):
            return False
        return self.curve == _CURVES.get(algorithm, self.curve)


def read_keys(text: str) -> tuple[Key, ...]:
    """The keys of a JWKS that can verify signatures. Raises ValueError."""
    try:
        told = json.loads(text)
        listed = told["keys"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError("not a JWKS") from None
    if not isinstance(listed, list) or len(listed) > _MOST_KEYS:
        raise ValueError("not a JWKS of at most 100 keys")
    return tuple(key for each in listed if (key := _key(each)) is not None)


def _key(told: Any) -> Key | None:
    """None for what is not ours to use: shared secrets, keys for encryption, private ones."""
    if not isinstance(told, dict) or told.get("use", "sig") != "sig" or "d" in told:
        return None
    kind = str(told.get("kty"))
    if kind not in _KINDS.values() or "verify" not in told.get("key_ops", ["verify"]):
        return None
    any_of = {"RSA": "RS256", "EC": _ec(told), "OKP": "EdDSA"}[kind]
    try:
        key = jwt.PyJWK.from_dict(told, algorithm=any_of).key
    except Exception:  # the library lets through what it meets in a key that is none
        return None
    if kind == "RSA" and key.key_size < _SHORTEST_RSA:
        return None
    return Key(told.get("kid"), kind, told.get("alg"), told.get("crv"), key)


def _ec(told: Mapping[str, Any]) -> str:
    return {curve: name for name, curve in _CURVES.items()}.get(str(told.get("crv")), "ES256")


@dataclass(frozen=True, slots=True)
class Head:
    """What a token says of how it is signed."""

    algorithm: str
    kid: str | None


def head_of(settings: Jwt, token: str) -> Head:
    """Raises Wrong."""
    if len(token) > LONGEST or not token.isascii():
        raise Wrong("not a token")
    try:
        told = jwt.get_unverified_header(token)
    except Exception:
        raise Wrong("not a token") from None
    algorithm, kid = told.get("alg"), told.get("kid")
    if algorithm not in settings.algorithms:
        raise Wrong("signed in a way that is not allowed")
    if "crit" in told or not (kid is None or isinstance(kid, str)):
        raise Wrong("a header that is not understood")
    return Head(algorithm, kid)


def fitting(keys: Sequence[Key], head: Head) -> list[Key]:
    return [each for each in keys if head.kid in (None, each.kid) and each.fits(head.algorithm)]


def user_of(settings: Jwt, token: str, keys: Sequence[Key]) -> str:
    """Whose token it is, in the claim that names users. Raises Wrong.

    `keys` are the fitting ones.
    """
    head = head_of(settings, token)
    why = "signed with a key that is not known"
    for each in fitting(keys, head):
        try:
            claims = jwt.decode(
                token,
                each.key,
                algorithms=[head.algorithm],
                issuer=settings.issuer or None,
                audience=settings.audience or None,
                leeway=_SKEW,
                options={
                    "require": ["exp", *(["aud"] if settings.audience else [])],
                    "verify_aud": bool(settings.audience),
                },
            )
        except jwt.InvalidSignatureError:
            why = "the signature is wrong"
            continue
        except Exception as error:  # claims of shapes that the library did not expect, too
            raise Wrong(f"the token is not good: {type(error).__name__}") from None
        return _name(claims.get(settings.user_claim))
    raise Wrong(why)


def _name(claim: object) -> str:
    if not isinstance(claim, str):
        raise Wrong("the token names nobody")
    return short_name(said_name(claim))
