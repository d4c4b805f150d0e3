"""The names that docs/internals/life-of-a-request.md links exist in the linked files."""

import ast
import re
from pathlib import Path

import pytest

from proxy.protocol.replies import Status
from proxy.protocol.types import OperationState
from proxy.statement.machine import events as ev
from tests.docs.pages import ROOT
from tests.proxy.statement.playbook import TABLE, WRITE, Token, routed, statement

PAGE = ROOT / "docs" / "internals" / "life-of-a-request.md"
LINKS = re.findall(r"\[`([\w.]+)`\]\(([^)]+)\)", PAGE.read_text())


def _python_names(path: Path) -> set[str]:
    """Classes and functions of a module, and `Class.method`."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if hasattr(each, "name"))
            names |= {f"{node.name}.{each.name}" for each in methods}
    return names


@pytest.mark.parametrize(("name", "link"), LINKS)
def test_linked_names_exist(name: str, link: str) -> None:
    path = (PAGE.parent / link).resolve()
    if path.suffix == ".java":
        assert re.search(rf"\b(?:class|enum|interface|record) {name}\b", path.read_text())
    else:
        assert name in (path.name, path.stem) or name in _python_names(path)


def test_the_page_has_four_walks() -> None:
    walks = re.findall(r"^## (.*)$", PAGE.read_text(), re.M)
    assert walks == ["A statement", "A metastore request", "A replication", "A Hudi pull"]
    assert len(LINKS) > 60


def test_the_page_has_the_events_of_an_insert() -> None:
    machine = statement().machine
    lines = []
    for event in (
        ev.Started(),
        ev.CommandRead(None),
        ev.Analysed(WRITE),
        routed(WRITE, in_turn=frozenset({TABLE})),
        ev.TurnCame(waited=False),
        ev.Entered(checked=True),
        ev.WriteMarked((TABLE,), Token("w")),
        ev.Accepted(),
        ev.ExecutionEnded(Status(OperationState.FINISHED)),
    ):
        commands = ", ".join(type(each).__name__ for each in machine.receive(event))
        lines.append(f"{type(event).__name__:15}-> {machine.step.name:10}{commands}\n")
    assert "".join(lines) in PAGE.read_text()
