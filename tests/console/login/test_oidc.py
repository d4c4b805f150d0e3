"""The log-in at an OpenID Connect issuer, with an issuer of the test's own behind it."""

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from joserfc.jwk import ECKey

from conf.errors import BadSettings
from conf.roles import Role
from console.login import oidc_login
from proxy.auth.tokens import issuer_client
from tests.console.browser import HOST, Browser
from tests.console.fake_sources import settings_of
from tests.console.oidc_browser import ISSUER, browser_of, log_in, role_in, sent_back, values_of
from tests.openid_issuer import CLIENT, SECRET, Issuer
from tests.secret_files import private


def test_a_user_logs_in_and_is_led_to_the_page_that_it_wanted(
    issuer: Issuer, tmp_path: Path
) -> None:
    issuer.groups = ["staff", "other"]
    browser = browser_of(issuer, tmp_path, console__oidc__name="Acme & Co")
    first = browser.get("/refusals?days=1")
    page = browser.get(first.headers["location"]).text
    assert "Log in with Acme &amp; Co" in page
    assert "password" not in page
    answer = log_in(browser, "/login/oidc?to=/refusals%3Fdays%3D1")
    assert answer.status == 200
    assert '<meta http-equiv="refresh" content="0; url=/refusals?days=1">' in answer.text
    assert browser.get("/refusals?days=1").status == 200
    assert role_in(browser) == ("ann", Role.VIEWER)


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        ([], Role.ANALYST),
        (["Staff"], Role.ANALYST),
        (["staff"], Role.VIEWER),
        (["ops"], Role.OPERATOR),
        (["staff", "root"], Role.ADMINISTRATOR),
    ],
)
def test_groups_give_roles(issuer: Issuer, tmp_path: Path, groups: list[str], role: Role) -> None:
    issuer.groups = groups
    browser = browser_of(issuer, tmp_path)
    log_in(browser)
    assert role_in(browser) == ("ann", role)


def test_names_in_the_settings_give_roles_too(issuer: Issuer, tmp_path: Path) -> None:
    issuer.groups = ["staff"]
    browser = browser_of(issuer, tmp_path, console__operators="ann")
    log_in(browser)
    assert role_in(browser) == ("ann", Role.OPERATOR)


def test_name_and_groups_come_from_the_claims_of_the_settings(
    issuer: Issuer, tmp_path: Path
) -> None:
    issuer.claims = {"login": "Zoe@acme.example", "realm_access": {"roles": ["root"]}}
    claims = {
        f"{ISSUER}user__claim": "login",
        f"{ISSUER}groups__claim": "realm_access.roles",
    }
    browser = browser_of(issuer, tmp_path, **claims)
    log_in(browser)
    assert role_in(browser) == ("Zoe", Role.ADMINISTRATOR)


@pytest.mark.parametrize("verified", [None, False, "true"])
def test_an_address_that_the_issuer_has_not_verified_is_no_name(
    issuer: Issuer, tmp_path: Path, verified: object
) -> None:
    issuer.claims = {"email": "root@acme.example", "email_verified": verified}
    browser = browser_of(issuer, tmp_path, **{f"{ISSUER}user__claim": "email"})
    assert "has not verified" in log_in(browser).text
    issuer.claims["email_verified"] = True
    log_in(browser)
    assert role_in(browser) == ("root", Role.ANALYST)


@pytest.mark.parametrize("state", ["another", "", None])
def test_an_answer_without_the_state_is_refused(
    issuer: Issuer, tmp_path: Path, state: str | None
) -> None:
    issuer.answers = {"state": state}
    browser = browser_of(issuer, tmp_path)
    answer = log_in(browser)
    assert answer.status == 401
    assert "began in another browser" in answer.text
    assert issuer.bodies == []  # the code was not redeemed


def test_an_answer_is_for_the_browser_that_began(issuer: Issuer, tmp_path: Path) -> None:
    browser = browser_of(issuer, tmp_path)
    path = sent_back(browser.get("/login/oidc").headers["location"])
    assert Browser(browser.app).get(path).status == 401
    forged = Browser(browser.app, {"causeway-console-oidc": "e30.00"})
    assert forged.get(path).status == 401
    assert browser.get(path).status == 200
    assert Browser(browser.app, {}).get(path).status == 401


def test_an_answer_counts_once(issuer: Issuer, tmp_path: Path) -> None:
    browser = browser_of(issuer, tmp_path)
    location = browser.get("/login/oidc").headers["location"]
    kept, path = dict(browser.cookies), sent_back(location)
    assert browser.get(path).status == 200
    assert browser.cookies["causeway-console-oidc"] == ""
    again = Browser(browser.app, kept).get(path)
    assert again.status == 401
    assert "did not confirm the log-in: invalid_grant: no code" in again.text


def test_a_log_in_takes_ten_minutes_at_most(
    issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = browser_of(issuer, tmp_path)
    path = sent_back(browser.get("/login/oidc").headers["location"])
    monkeypatch.setattr(oidc_login, "MAX_AGE", -1.0)
    assert "more than ten minutes ago" in browser.get(path).text


def test_an_answer_of_another_issuer_is_refused(issuer: Issuer, tmp_path: Path) -> None:
    issuer.answers = {"iss": "https://evil.example"}
    assert "is not one of" in log_in(browser_of(issuer, tmp_path)).text
    issuer.answers = {}
    issuer.configuration = {"authorization_response_iss_parameter_supported": True}
    assert "is not one of" in log_in(browser_of(issuer, tmp_path)).text
    issuer.answers = {"iss": issuer.url}
    assert log_in(browser_of(issuer, tmp_path)).status == 200


def test_the_issuer_says_why_it_refuses(issuer: Issuer, tmp_path: Path) -> None:
    issuer.answers = {"code": None, "error": "access_denied", "error_description": "<b>\x1bno"}
    text = log_in(browser_of(issuer, tmp_path)).text
    assert "refused the log-in: access_denied: &lt;b&gt;\\x1bno." in text


def test_a_wrong_secret_is_said(issuer: Issuer, tmp_path: Path) -> None:
    browser = browser_of(issuer, tmp_path)
    private(tmp_path / "secret", "wrong")
    assert "did not confirm the log-in: invalid_client" in log_in(browser).text


@pytest.mark.parametrize("way", ["client_secret_post", "public"])
def test_clients_prove_themselves_as_the_issuer_wants(
    issuer: Issuer, tmp_path: Path, way: str
) -> None:
    more = {}
    if way == "public":
        more = {"console__oidc__client__id": way, "console__oidc__client__secret__file": ""}
    else:
        issuer.configuration = {"token_endpoint_auth_methods_supported": [way]}
    browser = browser_of(issuer, tmp_path, **more)
    assert log_in(browser).status == 200
    assert role_in(browser) == ("ann", Role.ANALYST)


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ({"issuer": "https://evil.example"}, "that of the issuer"),
        ({"token_endpoint": "http://evil.example/token"}, "token_endpoint"),
        ({"jwks_uri": "file:///etc/passwd"}, "jwks_uri"),
        ({"authorization_endpoint": None}, "authorization_endpoint"),
    ],
)
def test_a_configuration_that_is_not_good_is_refused_and_read_again(
    issuer: Issuer,
    tmp_path: Path,
    configuration: dict[str, Any],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    issuer.configuration = configuration
    browser = browser_of(issuer, tmp_path)
    answer = browser.get("/login/oidc")
    assert (answer.status, "does not answer" in answer.text) == (401, True)
    assert words in answer.text
    for _ in range(5):
        browser.get("/login/oidc")
    assert issuer.requests == ["configuration"]  # not for each browser
    issuer.configuration = {}
    later = time.monotonic() + 11
    monkeypatch.setattr(issuer_client.time, "monotonic", lambda: later)
    assert log_in(browser).status == 200


def test_an_issuer_that_is_down_is_named(tmp_path: Path) -> None:
    browser = browser_of(Issuer("http://127.0.0.1:1"), tmp_path)
    answer = browser.get("/login/oidc")
    assert answer.status == 401
    assert "127.0.0.1 does not answer: http://127.0.0.1:1" in answer.text
    assert browser.get("/login").status == 200


def test_keys_may_change(issuer: Issuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = browser_of(issuer, tmp_path)
    assert log_in(browser).status == 200
    issuer.key, issuer.header = ECKey.generate_key("P-256", {"kid": "two"}), {"kid": "two"}
    assert "key that is not known" in log_in(browser).text  # keys were read just now
    later = time.monotonic() + 11
    monkeypatch.setattr(issuer_client.time, "monotonic", lambda: later)
    assert log_in(browser).status == 200


def test_a_log_out_offers_that_of_the_issuer(issuer: Issuer, tmp_path: Path) -> None:
    browser = browser_of(issuer, tmp_path)
    log_in(browser)
    session = browser.app.state.access.session(browser.cookie_header())
    copied = dict(browser.cookies)
    browser.csrf = session.csrf
    location = browser.post("/logout").headers["location"]
    assert 'href="/login/oidc/end"' in browser.get(location).text
    assert Browser(browser.app, copied).get("/where").status == 303
    url = urlsplit(browser.get("/login/oidc/end").headers["location"])
    assert f"{url.scheme}://{url.netloc}{url.path}" == f"{issuer.url}/end"
    assert dict(parse_qsl(url.query)) == {
        "client_id": CLIENT,
        "post_logout_redirect_uri": f"http://{HOST}/login",
    }


EVENTS = {"http://schemas.openid.net/event/backchannel-logout": {}}


def test_the_issuer_ends_sessions_itself(issuer: Issuer, tmp_path: Path) -> None:
    first = browser_of(issuer, tmp_path)
    second, other = Browser(first.app), Browser(first.app)
    for browser, user, sid in ((first, "ann", "s1"), (second, "ann", "s2"), (other, "zoe", "s3")):
        issuer.user, issuer.claims = user, {"sid": sid}
        log_in(browser)
    issuer.user, issuer.claims = "ann", {}

    def ended(**claims: Any) -> tuple[int, list[int]]:
        token = issuer.token(**({"events": EVENTS, "jti": "1"} | claims))
        browser = Browser(first.app)
        status = browser.post("/login/oidc/backchannel", {"logout_token": token}).status
        return status, [each.get("/where").status for each in (first, second, other)]

    assert ended(nonce="n") == (400, [200, 200, 200])
    assert ended(events={}) == (400, [200, 200, 200])
    assert ended(events=None) == (400, [200, 200, 200])
    assert ended(sub=None) == (400, [200, 200, 200])
    assert ended(aud="another") == (400, [200, 200, 200])
    assert ended(iat=_past(60)) == (200, [200, 200, 200])  # they began later
    assert ended(sid="s1") == (200, [303, 200, 200])
    assert ended() == (200, [303, 303, 200])
    assert first.post("/login/oidc/backchannel", {"logout_token": "x.y.z"}).status == 400


def _past(seconds: float) -> int:
    return int(time.time() - seconds)


def test_an_administrator_ends_the_session_of_a_user(issuer: Issuer, tmp_path: Path) -> None:
    ann, ada = browser_of(issuer, tmp_path), None
    log_in(ann)
    issuer.user, issuer.groups = "ada", ["root"]
    ada = Browser(ann.app)
    log_in(ada)
    ada.csrf = ann.app.state.access.session(ada.cookie_header()).csrf
    [name] = [each.name for each in ann.app.state.access.sessions() if each.user == "ann"]
    assert ada.post(f"/sessions/{name}/end").status == 303
    assert ann.get("/where").status == 303


def test_log_ins_are_in_the_audit_log_without_secrets(
    issuer: Issuer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "audit.log"
    browser = browser_of(issuer, tmp_path, proxy__audit__file=str(file))
    with caplog.at_level("DEBUG"):
        log_in(browser)
        issuer.claims = {"nonce": "another"}
        log_in(browser)
    browser.app.state.audit.close()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(x["event"], x["by"], x["accepted"]) for x in lines] == [
        ("login", "ann", True),
        ("login", "", False),
    ]
    written = file.read_text() + caplog.text
    for sent in issuer.bodies:
        assert sent["code"] not in written
        assert sent["code_verifier"] not in written
    assert SECRET not in written


def test_with_an_issuer_no_password_and_no_open_console(issuer: Issuer, tmp_path: Path) -> None:
    """With authentication NONE, which takes any password."""
    browser = browser_of(issuer, tmp_path)
    assert browser.get("/where").status == 303
    answer = browser.log_in("ada", "anything")
    assert (answer.status, "by password is disabled" in answer.text) == (403, True)
    assert browser.get("/where").status == 303


def test_cookies_are_secure_behind_a_gateway_with_tls(issuer: Issuer, tmp_path: Path) -> None:
    browser = browser_of(issuer, tmp_path, console__url="https://console.example/")
    answer = browser.get("/login/oidc")
    asked = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
    assert asked["redirect_uri"] == "https://console.example/login/oidc/callback"
    assert "; Secure" in answer.headers["set-cookie"]
    assert "SameSite=Lax" in answer.headers["set-cookie"]
    assert "HttpOnly" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({f"{ISSUER}issuer": ""}, "it needs proxy.admin.oidc.issuer"),
        ({f"{ISSUER}issuer": "http://issuer.example"}, "not https://"),
        ({f"{ISSUER}issuer": "https://issuer.example?a=b"}, "has no query"),
        ({f"{ISSUER}audience": f"a,{CLIENT}"}, "would be a token"),
        ({"console__host": "0.0.0.0"}, "console.url: missing"),
    ],
)
def test_settings_that_are_not_safe_are_refused(
    tmp_path: Path, values: dict[str, str], words: str
) -> None:
    with pytest.raises(BadSettings, match=words):
        settings_of(**values_of(Issuer("https://issuer.example"), tmp_path, **values))
