"""Links of the documentation lead to files and headings that exist."""

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links, name


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = []
    for link in links(page.read_text()):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            missing.append(link)
    assert missing == []


def test_the_index_has_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {
        (index.parent / each.partition("#")[0]).resolve() for each in links(index.read_text())
    }
    pages = {each for each in PAGES if each.is_relative_to(ROOT / "docs")}
    assert [name(each) for each in sorted(pages - linked - {index})] == []


def test_the_changelog_has_its_form() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    releases = [line for line in lines if line.startswith("## ")]
    assert releases[0] == "## [Unreleased]"
    kinds = {line.removeprefix("### ") for line in lines if line.startswith("### ")}
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
