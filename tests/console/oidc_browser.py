"""Browsers of a console whose users log in at an issuer of the test's own."""

from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from conf.roles import Role
from console.app import make_app
from tests.console.browser import HOST, Answer, Browser
from tests.console.fake_sources import fake_sources, settings_of
from tests.openid_issuer import CLIENT, SECRET, Issuer
from tests.secret_files import private

ISSUER = "proxy__admin__oidc__"


def values_of(issuer: Issuer, folder: Path, **more: str) -> dict[str, str]:
    named = {
        f"{ISSUER}issuer": issuer.url,
        f"{ISSUER}viewers": "staff,ops",
        f"{ISSUER}operators": "ops",
        f"{ISSUER}administrators": "root",
        "console__oidc__client__id": CLIENT,
        "console__oidc__client__secret__file": str(private(folder / "secret", SECRET + "\n")),
    }
    return named | more


def browser_of(issuer: Issuer, folder: Path, **more: str) -> Browser:
    settings = settings_of(**values_of(issuer, folder, **more))
    return Browser(make_app(settings, fake_sources()))


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


def sent_back(location: str) -> str:
    """The path to which the issuer sends a browser that comes to `location`."""
    try:
        build_opener(_Stay).open(location)
    except HTTPError as error:
        with error:
            url = urlsplit(error.headers["location"])
    assert url.netloc == HOST
    return f"{url.path}?{url.query}"


def log_in(browser: Browser, path: str = "/login/oidc") -> Answer:
    """The answer to the browser when it comes back from the issuer."""
    return browser.get(sent_back(browser.get(path).headers["location"]))


def role_in(browser: Browser) -> tuple[str, Role]:
    found = browser.app.state.access.session(browser.cookie_header())
    return found.user, found.role
