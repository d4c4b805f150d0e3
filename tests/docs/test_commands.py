"""docs/reference/cli.md has every command, and commands in the documentation are valid."""

import argparse
import os
import re
import shlex
from pathlib import Path

import pytest

from cli.completion.command_tree import command_tree
from cli.completion.man_page import man_page
from cli.main import SUBCOMMANDS, build_parser
from tests.docs.commands import COMMON, commands
from tests.docs.pages import PAGES, ROOT, code_lines, name

PAGE = ROOT / "docs" / "reference" / "cli.md"
MAN_PAGE = PAGE.with_name("causeway.1")
MARK = "<!-- Written by `make golden` from the parsers. -->"


def test_the_page_has_every_command() -> None:
    head = PAGE.read_text().partition(MARK)[0]
    sections = "\n".join(each.section() for each in commands())
    page = f"{head}{MARK}\n\n{sections.strip()}\n"
    if os.environ.get("CAUSEWAY_GOLDEN") == "write":
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "run `make golden` and read the difference"


def test_the_man_page_of_the_wheel_has_every_command() -> None:
    parser = build_parser(SUBCOMMANDS)
    text = man_page(command_tree(parser), parser.description or "")
    if os.environ.get("CAUSEWAY_GOLDEN") == "write":
        MAN_PAGE.write_text(text)
    assert MAN_PAGE.read_text() == text, "run `make golden` and read the difference"


def test_every_option_has_a_help_text() -> None:
    assert [
        (each.name, names) for each in commands() for names, text in each.options if not text
    ] == []


def test_common_options_are_described_at_the_head_of_the_page() -> None:
    head = PAGE.read_text().partition(MARK)[0]
    assert [each for each in COMMON if f"| `{each}` |" not in head] == []


def _command_lines(page: Path) -> list[str]:
    lines = []
    for line in code_lines(page.read_text()):
        line = re.sub(r"^(?:\$ |kubectl .* -- (?=causeway ))", "", line)
        for part in re.split(r"\s(?:#|;|&&|\|(?=\s)).*", line, maxsplit=1)[:1]:
            if part.startswith("causeway ") and not re.search(r"\[|\(|<|\.\.(?:\s|$)", part):
                lines.append(part)
    return lines


COMMAND_LINES = [(name(page), line) for page in PAGES for line in _command_lines(page)]


def test_the_documentation_has_commands() -> None:
    assert len(COMMAND_LINES) > 25


@pytest.mark.parametrize(("page", "line"), COMMAND_LINES)
def test_commands_are_valid(page: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = shlex.split(line)[1:]
    try:
        args = build_parser(SUBCOMMANDS).parse_args(arguments)
    except SystemExit:
        # Pages may leave out --conf where they have named it before.
        error = capsys.readouterr().err
        assert "one of the arguments --endpoints --conf is required" in error, f"{page}: {error}"
    else:
        assert isinstance(args, argparse.Namespace)


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.M))
    named = {
        target
        for page in PAGES
        for target in re.findall(
            r"(?:`|^    |^)make ([a-z][a-z-]*)(?=[`\\s]*(?:`|\\n|#))", page.read_text(), re.M
        )
    }
    assert named - targets == set()
    assert "check" in named


def test_modules_that_pages_run_exist() -> None:
    named = {
        module
        for page in PAGES
        for module in re.findall(r"python -m ((?:bench|tests)[\w.]*)", page.read_text())
    }
    paths = {each: ROOT / each.replace(".", "/") for each in named}
    assert [
        each
        for each, path in paths.items()
        if not path.with_suffix(".py").exists() and not (path / "__main__.py").exists()
    ] == []


@pytest.mark.parametrize(
    ("page", "line"),
    [
        (name(page), line)
        for page in PAGES
        for line in code_lines(page.read_text())
        if re.match(r"from (?:cli|conf|dialect|metastore|pipeline|proxy|router)[.\w]* import", line)
    ],
)
def test_imports_of_examples_work(page: str, line: str) -> None:
    exec(line, {})
