"""Files, settings and environment variables that the documentation names exist."""

import re
from pathlib import Path

import pytest

from conf.settings.catalog import NAMES
from tests.docs.pages import PAGES, ROOT, name, spans

ROOMS = "bench|cli|conf|dialect|docs|guard|metastore|pipeline|proxy|router|tests"
# Settings whose names begin like ours and that belong to Hive, Hudi, or a family of names.
_OTHERS = re.compile(
    r"hive\.(exec|async|hmshandler|cbo|optimize|server2\.(async|long|proxy\.user))|hive\.metastore\.(?!uris)"
)
_SETTING = re.compile(r"\"?((?:proxy|snapshot|router|view|log|hive)(?:\.\w+)+)\"?")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_exist(page: Path) -> None:
    named = [
        each
        for each in spans(page.read_text())
        if re.fullmatch(rf"(?:{ROOMS})/[\w./-]*", each) and not each.startswith("guard/target")
    ]
    assert [each for each in named if not (ROOT / each).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_modules_exist(page: Path) -> None:
    missing = []
    for each in spans(page.read_text()):
        if re.fullmatch(r"(?:cli|conf|dialect|metastore|pipeline|proxy|router)(?:\.\w+)+", each):
            parts = each.split(".")
            paths = [ROOT.joinpath(*parts[:end]) for end in (len(parts), len(parts) - 1)]
            known = each in NAMES or any(name.startswith(f"{each}.") for name in NAMES)
            if not known and not any(p.is_dir() or p.with_suffix(".py").exists() for p in paths):
                missing.append(each)
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_settings_exist(page: Path) -> None:
    found = (_SETTING.fullmatch(each) for each in spans(page.read_text()))
    named = {match[1] for match in found if match and not _OTHERS.match(match[1])}
    prefixes = {
        ".".join(each.split(".")[:end]) for each in NAMES for end in range(1, each.count(".") + 1)
    }
    unknown = named - set(NAMES) - prefixes
    assert [each for each in sorted(unknown) if not _is_module(each)] == []


def _is_module(dotted: str) -> bool:
    path = ROOT.joinpath(*dotted.split("."))
    parent = path.parent
    return path.is_dir() or any(each.with_suffix(".py").exists() for each in (path, parent))


def test_environment_variables_are_read_somewhere() -> None:
    named = {
        variable
        for page in PAGES
        for variable in re.findall(r"\bCAUSEWAY_[A-Z_]*[A-Z]\b", page.read_text())
    }
    files = [*ROOT.glob("*"), *ROOT.glob(".ci/*"), *ROOT.glob("guard/src/**/*.java")]
    for room in ROOMS.split("|"):
        files += ROOT.glob(f"{room}/**/*.py")
    text = "\n".join(each.read_text() for each in files if each.is_file() and each not in PAGES)
    assert [each for each in sorted(named) if each not in text] == []


def test_pages_say_rules_in_words() -> None:
    """Ids of requirements are in the specification; readers need not know them."""
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]
    pages.remove(ROOT / "docs" / "reference" / "specification.md")
    ids = re.compile(r"\b(?:(?:DC|FA|HU)-[A-Z]+\d*|D\d{1,2})\b")
    assert [(name(page), found) for page in pages if (found := ids.findall(page.read_text()))] == []
