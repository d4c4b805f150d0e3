"""JWTs: signature, algorithm, issuer, audience and expiry are checked against the settings."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from conf.settings.security.authentication import Jwt
from proxy.auth.tokens.bearer_tokens import claimed_name, claims_of, read_keys, read_token_header
from saslauth.errors import BadCredentials

RSA = rsa.generate_private_key(65537, 2048)
OTHER = rsa.generate_private_key(65537, 2048)
SHORT = rsa.generate_private_key(65537, 1024)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def jwk(key: Any, **more: Any) -> dict[str, Any]:
    kinds = {rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm}
    kinds |= {ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm}
    maker = next((m for kind, m in kinds.items() if isinstance(key, kind)), None)
    algorithm = maker or jwt.algorithms.OKPAlgorithm
    public: dict[str, Any] = json.loads(algorithm.to_jwk(key.public_key()))
    public.pop("key_ops", None)
    return public | more


def jwks(*keys: dict[str, Any]) -> str:
    return json.dumps({"keys": keys})


KEYS = read_keys(
    jwks(jwk(RSA, kid="r", use="sig", alg="RS256"), jwk(EC, kid="e"), jwk(ED, kid="d"))
)
SETTINGS = Jwt("x", issuer="https://issuer", audience=("causeway",))


def user_of(settings: Jwt, token: str, keys: Sequence[Any]) -> str:
    return claimed_name(claims_of(settings, token, keys), settings.user_claim)


def claims(**more: Any) -> dict[str, Any]:
    good = {"sub": "ann", "iss": "https://issuer", "aud": "causeway", "exp": time.time() + 86_400}
    return {key: value for key, value in (good | more).items() if value is not None}


def token(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "r", **more: Any) -> str:
    return jwt.encode(claims(**more), key, algorithm, {"kid": kid} if kid else None)


@pytest.mark.parametrize(
    "good",
    [
        token(),
        token(kid=None),
        token(EC, "ES256", "e"),
        token(ED, "EdDSA", "d"),
        token(aud=["other", "causeway"]),
        token(sub="ann@example.com"),
    ],
)
def test_good_tokens_name_their_user(good: str) -> None:
    assert user_of(SETTINGS, good, KEYS) == "ann"


def test_clock_skew_is_tolerated() -> None:
    for good in (token(exp=time.time() - 5), token(nbf=time.time() + 5)):
        assert user_of(SETTINGS, good, KEYS) == "ann"


@pytest.mark.parametrize(
    "bad",
    [
        token(exp=time.time() - 60),
        token(exp=None),
        token(exp="soon"),
        token(exp=1e400),
        token(nbf=time.time() + 43_200),
        token(iat=time.time() + 43_200),
        token(iss="https://other"),
        token(iss=None),
        token(aud="other"),
        token(aud=None),
        token(aud=5),
        token(sub=None),
        token(sub=" ann"),
        token(sub=""),
        token(OTHER),
        token(kid="unknown"),
        token(kid="e"),
        token(RSA, "PS256"),  # the key says RS256
        token(RSA, "RS384"),
        token(EC, "ES256", "r"),
        token() + "x",
        token()[:-8],
        "",
        "a.b.c",
        "é.b.c",
        "x" * 20_000,
        jwt.encode(claims(), None, "none"),
        jwt.encode(claims(), RSA, "RS256", {"kid": "r", "crit": ["x"], "x": 1}),
    ],
)
def test_bad_tokens_are_rejected(bad: str) -> None:
    with pytest.raises(BadCredentials):
        user_of(SETTINGS, bad, KEYS)


def test_a_public_key_is_not_used_as_a_shared_secret() -> None:
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def part(value: object) -> bytes:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    body = part({"alg": "HS256", "kid": "r"}) + b"." + part(claims())
    signature = base64.urlsafe_b64encode(hmac.digest(pem, body, hashlib.sha256)).rstrip(b"=")
    with pytest.raises(BadCredentials, match="not allowed"):
        user_of(SETTINGS, (body + b"." + signature).decode(), KEYS)


def test_another_user_claim_and_no_audience() -> None:
    jwt = Jwt("x", user_claim="email")
    assert user_of(jwt, token(email="bob@x", aud="any", iss="any"), KEYS) == "bob"
    with pytest.raises(BadCredentials):
        user_of(jwt, token(), KEYS)


def test_unusable_keys_are_ignored() -> None:
    private = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA))
    secret = {"kty": "oct", "k": "c2VjcmV0"}
    text = jwks(
        *(jwk(RSA, use="enc"), jwk(SHORT), private, secret, {}, {"kty": "RSA"}, {"kty": []}),
        jwk(RSA, key_ops=["encrypt"]),
        jwk(EC, crv="P-384"),
    )
    assert read_keys(text) == ()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keys": 1}', "[" * 100_000, jwks(*[{}] * 101)])
def test_a_malformed_jwks_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="JWKS"):
        read_keys(text)


def test_tokens_and_keys_are_not_in_repr_or_errors() -> None:
    with pytest.raises(BadCredentials) as error:
        user_of(SETTINGS, token(OTHER), KEYS)
    assert token(OTHER).split(".")[2] not in str(error.value)
    assert "RSAPublicKey" not in repr(KEYS)


@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_no_valid_token(text: str) -> None:
    with pytest.raises(BadCredentials):
        user_of(SETTINGS, text, KEYS)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_any_header_is_rejected_or_read(value: Any) -> None:
    for name in ("alg", "kid", "typ", "crit"):
        head = json.dumps({"alg": "RS256", "kid": "r"} | {name: value}).encode()
        text = base64.urlsafe_b64encode(head).rstrip(b"=").decode() + ".e30.AAAA"
        with pytest.raises(BadCredentials):
            user_of(SETTINGS, text, KEYS)
    assert read_token_header(SETTINGS, token()).kid == "r"
