"""Substitution: known, unknown, nested and circular."""

import pytest

from dialect.errors import NotUnderstood
from dialect.parsing.variables import Pruning, check_language, pruning, substitute

VARIABLES = {
    "x": "1",
    "y": "2",
    "spark.z": "3",
    "a": "${b}",
    "b": "4",
    "loop": "${loop}l",
    "twice": "$${half}",
    "half": "{x}",
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("no dollar", "no dollar"),
        ("'${x}'", "'1'"),
        ("${hivevar:x} ${hiveconf:x} ${spark:x}", "1 1 1"),
        ("${y} ${hivevar:y}", "2 2"),
        ("${spark.z}", "3"),
        ("${a}", "4"),
        ("$x {x} ${}", "$x {x} ${}"),
        ("${x ${x} ${x:${", "${x 1 ${x:${"),
        ("${other:x} ${other:nothing}", "${other:x} ${other:nothing}"),
        ("[${nothing}] [${hivevar:nothing}] ${a}${hiveconf:nothing}", "[] [] 4"),
        ("$${nothing}{other:x}", "${other:x}"),
        ("${" * 5000, "${" * 5000),  # at once: none is looked at to its end more than once
    ],
)
def test_variables_are_substituted(text: str, result: str) -> None:
    assert substitute(text, VARIABLES) == result


@pytest.mark.parametrize(
    "text",
    [
        "${spark.nothing}",
        "${hiveconf:a.b}",
        "$${nothing}{x}",
        "${env:HOME}",
        "${system:user.dir}",
        "${loop}",
        "${twice}",
        "${env:x}",
    ],
)
def test_texts_with_unknown_or_circular_variables_are_refused(text: str) -> None:
    with pytest.raises(NotUnderstood):
        substitute(text, VARIABLES)


def test_a_variable_of_unknown_value_makes_the_statement_unknown() -> None:
    with pytest.raises(NotUnderstood):
        substitute("${nothing} ${c}", VARIABLES, {"c"})


def test_the_size_of_a_substituted_text_is_bounded() -> None:
    with pytest.raises(NotUnderstood):
        substitute("${x}" * 1_000_000, {"x": "x" * 1_000_000})


def test_settings_that_change_the_language() -> None:
    settings = {"spark.sql.ansi.doubleQuotedIdentifiers": "TRUE"}
    check_language("SELECT 'x'", settings)
    check_language('SELECT "x"', {"spark.sql.ansi.doubleQuotedIdentifiers": "false"})
    with pytest.raises(NotUnderstood):
        check_language('SELECT "x"', settings)
    for ansi in ("true", "false"):
        check_language('SELECT "x"', {**settings, "spark.sql.ansi.enabled": ansi})


def test_a_default_sql_path_gives_names_another_meaning() -> None:
    key = "spark.sql.defaultPath"
    check_language("SELECT 1", {key: " "})
    with pytest.raises(NotUnderstood, match=key):
        check_language("SELECT 1", {key: "spark_catalog.other"})


def test_substitution_may_be_off() -> None:
    for value in ("false", " False "):
        settings = {"spark.sql.variable.substitute": value, "x": "1"}
        assert substitute("${x}", settings) == "${x}"


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({}, Pruning.INFERRED),
        ({"hive.cbo.enable": "true", "spark.sql.optimizer.excludedRules": ""}, Pruning.INFERRED),
        ({"hive.cbo.enable": "false"}, Pruning.PUSHED),
        ({"spark.sql.constraintPropagation.enabled": " FALSE"}, Pruning.NONE),
        ({"hive.optimize.ppd": "false", "hive.cbo.enable": "false"}, Pruning.NONE),
        ({"spark.sql.optimizer.excludedRules": "a.Rule"}, Pruning.NONE),
        ({"spark.sql.caseSensitive": "true"}, Pruning.NONE),
    ],
)
def test_settings_that_switch_pruning_off(settings: dict[str, str], left: Pruning) -> None:
    assert pruning(settings) is left
