"""docs/reference/errors.md has every code that a user may see, and no code means two things."""

import importlib
import os
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import router.errors
from conf.errors import CausewayError

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "errors.md"
ROOMS = {
    "1": "Routing",
    "2": "Proxy",
    "3": "Metastore and guard",
    "4": "Statements",
    "5": "Settings and commands",
    "6": "Copies",
    "7": "Feeds and processes",
    "8": "Incremental pull",
}
# Ids of requirements, which mean nothing to a user.
_IDS = re.compile(r" \((?:(?:DC|FA|HU)-[A-Z]+\d*|D\d+|, )+\)")
HEAD = """\
# Errors

Every error of Causeway starts with its code in brackets. Codes and SQLSTATEs are stable. Clients
get them as ordinary errors of a statement, and the session goes on; errors of a cluster are passed
on as the Thrift Server says them.

<!-- Written by `make golden` from the errors.py of each package. -->
"""


@dataclass(frozen=True, order=True)
class Documented:
    code: str
    sqlstate: str
    when: str
    hint: str

    def row(self) -> str:
        cells = (self.code, self.sqlstate, self.when, self.hint)
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _classes(cls: type[CausewayError]) -> Iterator[type[CausewayError]]:
    for each in cls.__subclasses__():
        yield each
        yield from _classes(each)


def _all() -> list[Documented]:
    for package in (
        "conf",
        "database",
        "dialect",
        "router",
        "metastore",
        "proxy",
        "pipeline",
        "console",
        "advice",
        "cli",
    ):
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if module.name.endswith(".errors"):
                importlib.import_module(module.name)
    result = [
        Documented(each.code, each.sqlstate, _first_sentence(each.__doc__ or ""), each.hint)
        for each in set(_classes(CausewayError))
        if "code" in vars(each) and not each.__module__.startswith("tests")
    ]
    names = {id(value): name for name, value in vars(router.errors).items()}
    for refusal in (*router.errors.REFUSALS, *router.errors.GUARD_REFUSALS):
        when = names[id(refusal)].replace("_", " ").capitalize() + "."
        result.append(Documented(refusal.code, refusal.sqlstate, when, refusal.hint))
    return sorted(result)


def _first_sentence(docstring: str) -> str:
    text = _IDS.sub("", " ".join(docstring.split("\n\n")[0].split()))
    return re.split(r"(?<=\.)\s", text)[0]


def _page(result: list[Documented]) -> str:
    parts = [HEAD]
    for digit, title in ROOMS.items():
        rows = [each.row() for each in result if each.code.startswith(f"CW{digit}")]
        if rows:
            parts.append(f"## {title} (CW{digit}xx)\n")
            parts.append("| code | SQLSTATE | when | what to do |\n|---|---|---|---|")
            parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def test_codes_are_unique_and_of_their_form() -> None:
    result = _all()
    assert len(result) > 20  # the scan found the packages
    assert {
        code: times for code, times in Counter(each.code for each in result).items() if times > 1
    } == {}
    assert [each for each in result if not re.fullmatch(r"CW[1-8]\d\d", each.code)] == []
    assert [each for each in result if not re.fullmatch(r"[0-9A-Z]{5}", each.sqlstate)] == []
    assert [each for each in result if not each.when] == []


def test_every_code_is_documented() -> None:
    page = _page(_all())
    if os.environ.get("CAUSEWAY_GOLDEN") == "write":
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "say `make golden` and look at the difference"
