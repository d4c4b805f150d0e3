"""Formats the results of checks as a table, as JSON and as an exit status."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from cli.server.admin import columns
from conf.errors import Problem

_MASK = "***"
_IN_URL = re.compile(r"(://[^\s/@:'\"]*:)[^\s@'\"]+(?=@)")


class Level(Enum):
    """The severity of a finding. An error makes the exit status 1."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What a check found. `remedy` is the text that a setting should have, if known."""

    level: Level
    text: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.text}; write: {self.remedy}" if self.remedy else self.text


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check. `name` is a setting, or a service with its address. `seconds` is the
    check's duration, None if it took no time worth printing."""

    name: str
    finding: CheckFinding
    seconds: float | None = None


def ok(text: str) -> CheckFinding:
    return CheckFinding(Level.OK, text)


def warning(text: str) -> CheckFinding:
    return CheckFinding(Level.WARNING, text)


def error(text: str) -> CheckFinding:
    return CheckFinding(Level.ERROR, text)


def of_problem(problem: Problem, level: Level) -> Result:
    """The result for a problem with a setting."""
    return Result(problem.name, CheckFinding(level, problem.reason, problem.remedy))


def without_secrets(result: Result, secrets: Iterable[str]) -> Result:
    """Masks passwords in the result's text, because messages of libraries may contain them."""
    text = _IN_URL.sub(rf"\1{_MASK}", result.finding.text)
    for each in secrets:
        text = text.replace(each, _MASK)
    return replace(result, finding=replace(result.finding, text=text))


def table(results: Sequence[Result]) -> list[str]:
    """The lines of a table: a header, a row for each result, and a line of counts."""
    rows = [("STATUS", "SECONDS", "CHECK", "FINDING")]
    for each in results:
        seconds = "-" if each.seconds is None else f"{each.seconds:.1f}"
        rows.append((each.finding.level.value, seconds, each.name, str(each.finding)))
    counts = _counts(results)
    counted = ", ".join(f"{each.value}: {counts[each]}" for each in reversed(Level))
    return [*columns(rows), counted]


def document(results: Sequence[Result]) -> dict[str, Any]:
    """The results as a JSON object."""
    counts = _counts(results)
    checks = [
        {
            "status": each.finding.level.value,
            "check": each.name,
            "finding": each.finding.text,
            "remedy": each.finding.remedy,
            "seconds": None if each.seconds is None else round(each.seconds, 3),
        }
        for each in results
    ]
    return {"checks": checks, **{each.value: counts[each] for each in Level}}


def exit_status(results: Sequence[Result]) -> int:
    """1 if a check ended with an error, else 0."""
    return int(_counts(results)[Level.ERROR] > 0)


def _counts(results: Sequence[Result]) -> Counter[Level]:
    return Counter(each.finding.level for each in results)
