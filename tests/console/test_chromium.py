"""The screens of tables, feeds, lineage and Hudi tables in Chromium, with facts of the test's own.

No page writes to the browser's console, asks another server, or has what axe-core finds.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests.console.fake_places import placed
from tests.console.fake_sources import open_app
from tests.console.filled_sources import PATHS, filled
from tests.console.oidc_browser import browser_of as oidc_browser
from tests.openid_issuer import running_issuer, serving

pytestmark = pytest.mark.slow
CHROMIUM = Path("/usr/bin/chromium")
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
PATIENCE = 120_000  # milliseconds; all is there at once


# Types into the document as soon as the console has replaced it.
_TYPE_AT_ONCE = """() => new MutationObserver((_, observer) => {
  observer.disconnect();
  const text = document.getElementById("xml");
  text.value = "<feed";
  text.dispatchEvent(new Event("input", { bubbles: true }));
}).observe(document.getElementById("document"), { childList: true })"""


@dataclass(slots=True)
class Window:
    """A page of Chromium with the console's facts, which a test may change."""

    page: Any
    url: str
    sources: Any
    lines: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)

    def violations(self) -> list[Any]:
        """What axe-core finds, with the elements."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("async () => (await axe.run()).violations")
        return [(each["id"], each["nodes"][0]["html"][:200]) for each in found]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture
def window(chromium: Any, tmp_path: Path) -> Iterator[Window]:
    sources = filled(tmp_path)
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(open_app(sources), log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        opened, asked = Window(page, url, sources), list[str]()
        page.on("console", lambda line: opened.lines.append(f"{line.type}: {line.text}"))
        page.on("pageerror", lambda error: opened.lines.append(f"pageerror: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        yield opened
        page.close()
        assert [each for each in asked if not each.startswith(f"{url}/")] == []
        assert opened.lines == []
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def test_every_screen_is_clean_in_light_and_dark(window: Window) -> None:
    for path in PATHS:
        window.open(path)
        assert window.page.locator("h1").count() == 1, path
        for scheme in ("light", "dark"):
            window.page.emulate_media(color_scheme=scheme)
            assert window.violations() == [], (path, scheme)


def test_a_stale_copy_becomes_fresh(window: Window) -> None:
    window.open("/freshness")
    row = window.page.locator("#tables tr", has_text="s.items")
    assert row.locator(".state").all_inner_texts() == ["primary", "stale"]
    window.sources.metastore.put("s.items", placed(True))
    window.page.reload()
    assert row.locator(".state").all_inner_texts() == ["primary", "fresh"]


def test_a_failed_instance_is_rerun_by_its_button(window: Window) -> None:
    page = window.page
    window.open("/feeds")
    page.locator("svg.grid .i-failed").click()
    row = page.locator("#list tbody tr")
    assert row.count() == 1
    assert "no space left" in row.inner_text()
    row.get_by_role("button", name="rerun").click()
    page.get_by_text("rerun: 1 changed").wait_for()
    assert "waiting" in row.inner_text()
    assert window.sources.lifecycle.changes[0][:3] == ("feed", "clicks", "rerun")


def test_a_form_is_checked_while_one_types(window: Window) -> None:
    page = window.page
    window.open("/new?kind=feed")
    page.get_by_text("Valid", exact=True).wait_for()
    page.get_by_label("Every").fill("hourly")
    page.get_by_text("Not valid").wait_for()
    page.get_by_label("Every").fill("days(3)")
    page.get_by_text("Valid", exact=True).wait_for()
    document = page.get_by_label("Document")
    assert "<frequency>days(3)</frequency>" in document.input_value()
    document.fill("<feed")
    page.get_by_text("Not valid").wait_for()


def test_a_document_is_checked_from_the_moment_in_which_it_appears(window: Window) -> None:
    page = window.page
    window.open("/new?kind=feed")
    page.evaluate(_TYPE_AT_ONCE)
    page.get_by_label("Every").fill("days(3)")
    page.get_by_text("Not valid").wait_for(timeout=20_000)


def test_times_are_in_the_zone_of_the_viewer(window: Window) -> None:
    window.open("/freshness")
    shown = window.page.locator("time").first
    assert shown.get_attribute("datetime") is not None
    assert "UTC" not in shown.inner_text()


def test_a_browser_logs_in_at_an_issuer_of_another_site(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cookies that a browser keeps from requests of other sites are part of it."""
    monkeypatch.setenv("no_proxy", "*")
    with socket.create_server(("127.0.0.1", 0)) as listening, running_issuer("localhost") as issuer:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = oidc_browser(issuer, tmp_path, console__url=url, console__oidc__name="Acme").app
        with serving(app, listening), closing(chromium.new_page()) as page:
            page.set_default_timeout(PATIENCE)
            opened = Window(page, url, None)
            page.on("console", lambda line: opened.lines.append(line.text))
            issuer.asks = True
            opened.open("/where?sql=s.t")
            assert opened.violations() == []
            page.get_by_role("link", name="Log in with Acme").click()
            page.get_by_role("link", name="It is me").click()
            page.wait_for_url(f"{url}/where?sql=s.t")
            page.get_by_text("ann \u00b7 analyst").wait_for()
            page.get_by_role("button", name="Log out").click()
            page.get_by_role("link", name="Log out of Acme, too").click()
            page.get_by_role("link", name="Back").click()
            page.get_by_role("link", name="Log in with Acme").wait_for()
            opened.open("/where")
            assert page.url.startswith(f"{url}/login")
            issuer.answers = {"code": None, "error": "access_denied"}
            page.get_by_role("link", name="Log in with Acme").click()
            page.get_by_role("link", name="It is me").click()
            page.get_by_text("Acme refused the log-in: access_denied.").wait_for()
            assert opened.violations() == []
            assert [each for each in opened.lines if "status of 4" not in each] == []
