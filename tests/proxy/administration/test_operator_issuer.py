"""The port for operators accepts tokens of an OpenID Connect issuer."""

import http.client
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey

from conf.roles import Role
from conf.topology import Endpoint
from proxy.operations.audit.audit_events import ApiCaller
from tests.openid_issuer import CLIENT, Issuer, running_issuer, shared_key
from tests.proxy.administration.operator_port import serving, values_of

AUDIENCE = "causeway-operators"


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    monkeypatch.setenv("no_proxy", "*")
    with running_issuer() as issuer:
        yield issuer


def settings(folder: Path, url: str, **more: str) -> dict[str, str]:
    named = {
        "issuer": url,
        "audience": f"other,{AUDIENCE}",
        "viewers": "staff",
        "operators": "ops",
        "administrators": "root",
    }
    return values_of(folder) | {
        f"proxy.admin.oidc.{name}": value for name, value in (named | more).items()
    }


def ask(where: Endpoint, token: str, method: str = "GET", path: str = "/v1/cache") -> Any:
    connection = http.client.HTTPConnection(where.host, where.port, timeout=30)
    try:
        connection.request(method, path, headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("groups", "role", "answers"),
    [
        (["other"], Role.ANALYST, (403, 403, 403)),
        (["staff"], Role.VIEWER, (200, 403, 403)),
        (["ops"], Role.OPERATOR, (200, 200, 403)),
        (["root"], Role.ADMINISTRATOR, (200, 200, 200)),
    ],
)
def test_groups_give_roles(
    issuer: Issuer, tmp_path: Path, groups: list[str], role: Role, answers: tuple[int, ...]
) -> None:
    issuer.groups = groups
    token = issuer.token(AUDIENCE)
    with serving(settings(tmp_path, issuer.url)) as (where, observed):
        asked = (("GET", "/v1/cache"), ("POST", "/v1/statements/1/kill"), ("POST", "/v1/reload"))
        assert tuple(ask(where, token, *each)[0] for each in asked) == answers
        assert observed[0][2] == ApiCaller("127.0.0.1", "ann", role)
    assert issuer.requests == ["configuration", "keys"]  # for three requests


BAD: dict[str, dict[str, Any]] = {
    "the console's": {"aud": CLIENT},
    "for nobody": {"aud": None},
    "another issuer's": {"iss": "https://evil.example"},
    "expired": {"exp": int(time.time()) - 31},
    "without an end": {"exp": None},
    "without a name": {"sub": None},
}


@pytest.mark.parametrize("claims", BAD.values(), ids=BAD.keys())
def test_an_invalid_token_of_the_issuer_is_refused(
    issuer: Issuer, tmp_path: Path, claims: dict[str, Any]
) -> None:
    issuer.groups, issuer.claims = ["root"], claims
    with serving(settings(tmp_path, issuer.url)) as (where, observed):
        status, answer = ask(where, issuer.token(AUDIENCE))
        assert (status, answer["error"]) == (401, "The token is missing or wrong.")
        assert observed[0][2:] == (ApiCaller("127.0.0.1"), True)
        issuer.claims = {}
        assert ask(where, issuer.token(AUDIENCE))[0] == 200


def test_a_signature_that_is_not_the_issuers_is_refused(issuer: Issuer, tmp_path: Path) -> None:
    issuer.groups, issuer.published = ["root"], issuer.key
    with serving(settings(tmp_path, issuer.url)) as (where, _):
        for key, header in (
            (ECKey.generate_key("P-256"), {}),
            (shared_key(), {"alg": "HS256"}),
            (None, {"alg": "none"}),
        ):
            issuer.key, issuer.header = key, header
            assert ask(where, issuer.token(AUDIENCE))[0] == 401, header


def test_without_an_audience_tokens_of_the_issuer_are_refused(
    issuer: Issuer, tmp_path: Path
) -> None:
    issuer.groups = ["root"]
    with serving(settings(tmp_path, issuer.url, audience="")) as (where, _):
        assert ask(where, issuer.token(AUDIENCE))[0] == 401
        assert ask(where, "a")[0] == 200  # of the file
    assert issuer.requests == []


def test_tokens_of_files_are_accepted_while_the_issuer_is_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, issuer: Issuer
) -> None:
    token = issuer.token(AUDIENCE)
    with (
        caplog.at_level(logging.ERROR),
        serving(settings(tmp_path, "http://127.0.0.1:1")) as (
            where,
            _,
        ),
    ):
        assert ask(where, token)[0] == 401
        assert ask(where, "a")[0] == 200
    assert "http://127.0.0.1:1" in caplog.text
    assert token not in caplog.text
