"""Tokens of an OpenID Connect issuer that log nobody in."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey

from conf.roles import Role
from tests.console.oidc_browser import browser_of, log_in, role_in
from tests.openid_issuer import CLIENT, Issuer, shared_key


def _past(seconds: float) -> int:
    return int(time.time() - seconds)


@dataclass(frozen=True, slots=True)
class Bad:
    """A change of an issuer's tokens, and what the user reads of it."""

    claims: dict[str, Any]
    words: str
    header: dict[str, Any] | None = None
    key: Any = None


BAD = {
    "nonce": Bad({"nonce": "another"}, "nonce"),
    "no nonce": Bad({"nonce": None}, "nonce"),
    "audience": Bad({"aud": "another"}, "InvalidAudienceError"),
    "no audience": Bad({"aud": None}, "MissingRequiredClaimError"),
    "for several, of another": Bad({"aud": [CLIENT, "other"], "azp": "other"}, "azp"),
    "for several, of none": Bad({"aud": [CLIENT, "other"]}, "azp"),
    "issuer": Bad({"iss": "https://evil.example"}, "InvalidIssuerError"),
    "expired": Bad({"exp": _past(31)}, "ExpiredSignatureError"),
    "no end": Bad({"exp": None}, "MissingRequiredClaimError"),
    "not yet": Bad({"nbf": _past(-86_400)}, "ImmatureSignatureError"),
    "from the future": Bad({"iat": _past(-86_400)}, "ImmatureSignatureError"),
    "no time": Bad({"iat": None}, "iat"),
    "no subject": Bad({"sub": None}, "sub"),
    "name with a line break": Bad({"sub": "ann\nroot"}, "not a valid user name"),
    "no algorithm": Bad({}, "algorithm that is not allowed", {"alg": "none"}),
    "shared secret": Bad({}, "algorithm that is not allowed", {"alg": "HS256"}, shared_key()),
    "another key": Bad({}, "signature is wrong", None, ECKey.generate_key("P-256")),
    "unknown key": Bad({}, "key that is not known", {"kid": "two"}),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_token_that_is_not_good_logs_nobody_in(issuer: Issuer, tmp_path: Path, bad: Bad) -> None:
    browser = browser_of(issuer, tmp_path)
    issuer.claims, issuer.header = bad.claims, bad.header or {}
    issuer.published, issuer.key = issuer.key, bad.key or issuer.key
    answer = log_in(browser)
    assert answer.status == 401
    assert bad.words in answer.text
    assert "is not accepted" in answer.text
    assert browser.get("/refusals").status == 303
    issuer.claims, issuer.header, issuer.key = {}, {}, issuer.published
    assert log_in(browser).status == 200


def test_clocks_may_differ_by_half_a_minute(issuer: Issuer, tmp_path: Path) -> None:
    issuer.claims = {"exp": _past(20), "iat": _past(-20), "nbf": _past(-20)}
    browser = browser_of(issuer, tmp_path)
    assert log_in(browser).status == 200
    assert role_in(browser) == ("ann", Role.ANALYST)
