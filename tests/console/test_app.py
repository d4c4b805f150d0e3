"""The console as a browser meets it: log-in, roles, forms of other sites, sources that are down."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from conf.topology import Endpoint
from console import rendering
from console.app import make_app
from console.errors import NoConsole
from console.login.gate import MAX_BODY
from console.rendering import roles_by_path
from console.sources.lifecycle_client import LifecycleClient
from tests.console.browser import Browser
from tests.console.fake_sources import (
    PASSWORD,
    app_with_passwords,
    explained,
    fake_sources,
    open_app,
    settings_of,
    statement,
)

MOST = 250_000  # bytes of a page with all that it loads


def test_without_a_log_in_nothing_is_readable(tmp_path: Path) -> None:
    app = app_with_passwords(tmp_path)
    paths = [route.path for route in app.routes if isinstance(route, Route)]
    assert len(paths) > 5
    for path in paths:
        answer = Browser(app).get(path)
        if path == "/login":
            assert answer.status == 200
        else:
            assert answer.status == 303, path
            assert answer.headers["location"].startswith("/login?to="), path
            assert answer.body == b""
        assert Browser(app).post(path).status in (303, 401), path


def test_the_log_in_leads_to_the_page_that_was_asked_for(tmp_path: Path) -> None:
    browser = Browser(app_with_passwords(tmp_path))
    assert browser.get("/refusals?days=1").headers["location"] == "/login?to=%2Frefusals%3Fdays%3D1"
    form = {"user": "vic", "password": PASSWORD, "to": "/refusals?days=1"}
    answer = browser.post("/login", form)
    assert (answer.status, answer.headers["location"]) == (303, "/refusals?days=1")
    assert browser.get("/refusals").status == 200


@pytest.mark.parametrize(
    "to", ["https://evil.example/", "//evil.example", "/\\evil", "javascript:x"]
)
def test_the_log_in_leads_to_no_other_site(tmp_path: Path, to: str) -> None:
    browser = Browser(app_with_passwords(tmp_path))
    answer = browser.post("/login", {"user": "vic", "password": PASSWORD, "to": to})
    assert answer.headers["location"] == "/"


def test_a_wrong_password_logs_nobody_in(tmp_path: Path) -> None:
    browser = Browser(app_with_passwords(tmp_path))
    answer = browser.log_in("vic", "wrong")
    assert answer.status == 401
    assert browser.cookies == {}


def test_a_log_out_ends_the_session(tmp_path: Path) -> None:
    app = app_with_passwords(tmp_path)
    browser = Browser(app)
    browser.log_in("vic", PASSWORD)
    copied = Browser(app, dict(browser.cookies))
    assert browser.post("/logout").headers["location"] == "/login?left"
    assert "You are logged out" in browser.get("/login?left").text
    assert copied.get("/refusals").status == 303


def test_an_administrator_ends_the_session_of_another_user(tmp_path: Path) -> None:
    app = app_with_passwords(tmp_path)
    vic, ada = Browser(app), Browser(app)
    vic.log_in("vic", PASSWORD)
    ada.log_in("ada", PASSWORD)
    session = next(x for x in app.state.access.sessions() if x.user == "vic")
    assert vic.post(f"/sessions/{session.name}/end").status == 403
    assert ada.post(f"/sessions/{session.name}/end").status == 303
    assert vic.get("/refusals").status == 303


def test_a_form_without_the_token_of_the_session_is_refused(tmp_path: Path) -> None:
    browser = Browser(app_with_passwords(tmp_path))
    browser.log_in("olga", PASSWORD)
    form = {"table": "s.t", "source": "east", "target": "west"}
    assert browser.post("/copies", form | {"csrf": "guess"}).status == 403
    assert browser.post("/copies", form, **{"origin": "https://evil.example"}).status == 403
    assert browser.post("/copies", form).status == 200


def test_a_request_for_another_host_is_refused() -> None:
    assert Browser(open_app()).get("/refusals", host="evil.example").status == 421


def test_a_body_that_is_too_large_is_refused() -> None:
    assert Browser(open_app()).post("/copies", {"x": "y" * MAX_BODY}).status == 413


def test_other_methods_are_refused() -> None:
    import asyncio

    browser = Browser(open_app())
    answer = asyncio.run(browser.request("DELETE", "/refusals", b"", {}))
    assert answer.status == 405


@pytest.mark.parametrize(("user", "copies"), [("vic", 403), ("olga", 200), ("ada", 200)])
def test_the_role_decides_who_copies(tmp_path: Path, user: str, copies: int) -> None:
    browser = Browser(app_with_passwords(tmp_path))
    browser.log_in(user, PASSWORD)
    form = {"table": "s.t", "source": "east", "target": "west"}
    assert browser.post("/copies", form).status == copies


def test_a_user_without_a_role_sees_no_statements_of_others(tmp_path: Path) -> None:
    browser = Browser(app_with_passwords(tmp_path))
    browser.log_in("ann", PASSWORD)
    answer = browser.get("/refusals")
    assert answer.status == 403
    assert "console.viewers" in answer.text
    assert 'href="/refusals"' not in answer.text


def test_actions_and_log_ins_are_in_the_audit_log(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    app = app_with_passwords(tmp_path, proxy__audit__file=str(file))
    browser = Browser(app)
    browser.log_in("olga", "wrong")
    browser.log_in("olga", PASSWORD)
    browser.post("/copies", {"table": "s.t", "source": "east", "target": "west"})
    app.state.audit.close()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(x["event"], x["by"], x["accepted"]) for x in lines] == [
        ("login", "olga", False),
        ("login", "olga", True),
        ("administration", "olga", True),
    ]
    assert lines[2]["argument"] == "ALTER TABLE s.t COPY east TO west"


def test_every_answer_has_the_headers_of_safety() -> None:
    app = open_app()
    for path in ("/refusals", "/nothing", "/static/console.css", "/statements/none"):
        headers = Browser(app).get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        # With no-referrer a browser sends `Origin: null` with the console's own forms.
        assert headers["referrer-policy"] == "same-origin"


def test_pages_are_not_cached_and_files_with_a_hash_are() -> None:
    browser = Browser(open_app())
    assert browser.get("/refusals").headers["cache-control"] == "no-store"
    assert "immutable" in browser.get(rendering.static("console.css")).headers["cache-control"]


@pytest.mark.parametrize("path", ["/map", "/live", "/refusals", "/statements/a", "/where"])
def test_a_page_with_all_that_it_loads_is_small(path: str) -> None:
    sources: Any = fake_sources()
    one = statement("a")
    sources.history.statements = [one] + [statement(f"b{n}") for n in range(300)]
    sources.proxies.explained = {one["text"]: explained()}
    browser = Browser(open_app(sources))
    answer = browser.get(path)
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', answer.text))
    assert answer.status == 200
    assert len(files) >= 4
    loaded = [browser.get(each.replace("&amp;", "&")) for each in files]
    assert {each.status for each in loaded} == {200}
    assert min(len(each.body) for each in loaded) > 200
    assert len(answer.body) + sum(len(each.body) for each in loaded) < MOST


def test_a_page_without_a_role_stops_the_start() -> None:
    async def handler(request: object) -> None: ...

    with pytest.raises(TypeError, match="/open has no @needs"):
        roles_by_path([Route("/open", handler)])


def test_a_source_that_is_not_set_up_is_no_failure() -> None:
    """The page says which setting names it, and offers no second try."""
    settings = settings_of()
    fakes = fake_sources()
    sources = dataclasses.replace(fakes, lifecycle=LifecycleClient(settings))
    answer = Browser(make_app(settings, sources)).get("/feeds")
    assert answer.status == 503
    assert "Not set up: the lifecycle" in answer.text
    assert "<code>lifecycle.port</code>" in answer.text
    assert "docs/guide/lifecycle.md" in answer.text
    assert "Try again" not in answer.text


def test_an_error_that_no_page_expects_shows_its_incident_and_no_traceback() -> None:
    sources = fake_sources()
    sources.history.statements = [{}]  # type: ignore[attr-defined]
    answer = Browser(open_app(sources)).get("/refusals")
    assert answer.status == 500
    assert "incident" in answer.text
    assert "Traceback" not in answer.text
    assert "content-security-policy" in answer.headers


def test_authentication_none_is_for_loopback_alone() -> None:
    with pytest.raises(NoConsole, match=r"console\.host"):
        make_app(settings_of(console__host="0.0.0.0"), fake_sources())
    assert settings_of(console__host="::1").console.listen == Endpoint("::1", 10002)
    make_app(settings_of(console__host="::1"), fake_sources())


def test_a_console_needs_a_way_to_check_passwords(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text('{"keys": []}')
    values = {
        "hive__server2__authentication": "JWT",
        "hive__server2__authentication__jwt__jwks__url": str(keys),
    }
    with pytest.raises(NoConsole, match="password"):
        make_app(settings_of(**values), fake_sources())
