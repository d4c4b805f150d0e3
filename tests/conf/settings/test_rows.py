"""A row gives a dataclass field its value, default, error and place in the documentation."""

from dataclasses import dataclass, fields

import pytest

from conf.errors import BadSettings, Problem
from conf.kinds import COUNT, LIST, TEXT
from conf.settings.rows import (
    LIVE,
    RESTART,
    Setting,
    SettingsReader,
    all_rows,
    group,
    made_of,
    optional_group,
    rows_of,
    setting,
)

SWITCH = Setting("x.switch", TEXT, "", RESTART, "Switches the inner group on.")
LOW, HIGH = (Setting(f"x.{each}", COUNT, "7", LIVE, "A bound.") for each in ("low", "high"))


@dataclass(frozen=True)
class Inner:
    word: str = setting("x.word", TEXT, "", RESTART, "A word.", needed="the group needs it")
    password: str = setting("x.password", TEXT, "", RESTART, "A secret.", secret=True)


@dataclass(frozen=True)
class Outer:
    limit: int = setting("x.limit", COUNT, "5", LIVE, "A limit.")
    names: tuple[str, ...] = setting("x.names", LIST, "", LIVE, "Names.", shown="all")
    span: tuple[int, int] = made_of(LOW, HIGH, factory=lambda: (7, 7))
    inner: Inner | None = optional_group(Inner, SWITCH)
    other: Inner = group(Inner)


def test_defaults_come_from_the_rows() -> None:
    assert Outer() == Outer(5, (), (7, 7), None, Inner())
    assert LOW.default_value == 7


def test_a_group_reads_fields_of_one_setting_and_takes_the_others() -> None:
    reader = SettingsReader({"x.limit": " 9 ", "x.names": "a, b"})
    outer = reader.group(Outer, span=(1, 2), inner=None)
    assert (outer.limit, outer.names, outer.span, outer.inner) == (9, ("a", "b"), (1, 2), None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x.limit": "-1"}, "file: x.limit: not a number: '-1'."),
        ({"x.limit": "many"}, "file: x.limit: not a number: 'many'."),
    ],
)
def test_a_wrong_value_names_file_setting_and_reason(values: dict[str, str], message: str) -> None:
    reader = SettingsReader(values)
    assert reader.group(Outer).limit == 5
    assert str(BadSettings("file", reader.problems)).startswith(f"[CW502] {message} ")


def test_a_needed_setting_may_not_be_missing_or_empty() -> None:
    for values in ({}, {"x.word": "  "}):
        reader = SettingsReader(values)
        reader.group(Inner)
        assert [str(each) for each in reader.problems] == ["x.word: missing; the group needs it"]


def test_every_problem_is_collected_once_with_what_to_write() -> None:
    reader = SettingsReader({"x.limit": "many", "x.low": "-1"})
    for _ in range(2):
        reader.group(Outer, span=(reader.read(LOW), reader.read(HIGH)), other=Inner("w"))
    assert reader.problems == [
        Problem("x.low", "not a number: '-1'", "number (default: 7). A bound."),
        Problem("x.limit", "not a number: 'many'", "number (default: 5). A limit."),
    ]


def test_a_setting_that_is_wrong_gets_no_report_of_its_default() -> None:
    reader = SettingsReader({"x.low": "-1"})
    reader.read(LOW)
    reader.report(LOW, "above x.high")
    reader.report(HIGH, "below x.low")
    assert [str(each) for each in reader.problems] == [
        "x.low: not a number: '-1'",
        "x.high: below x.low",
    ]


def test_a_secret_is_not_in_the_repr() -> None:
    assert "hunter2" not in repr(Inner("w", "hunter2"))


def test_all_rows_follow_the_dataclasses() -> None:
    own = ["x.limit", "x.names", "x.low", "x.high", "x.switch"]
    assert [row.name for row in all_rows(Outer, nested=False)] == own
    inner = ["x.word", "x.password"]
    assert [row.name for row in all_rows(Outer)] == [*own, *inner, *inner]


def test_the_documented_default() -> None:
    rows = {row.name: row.shown_default for each in fields(Outer) for row in rows_of(each)}
    assert rows["x.limit"] == "`5`"
    assert rows["x.names"] == "all"
    assert rows["x.switch"] == "none"
