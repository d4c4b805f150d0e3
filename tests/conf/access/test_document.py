"""The file of access rules, and the errors of an invalid one."""

import json
from pathlib import Path
from typing import Any

import pytest

from conf.access.document import read_rules, rules_of
from conf.access.rules import EVERY_RIGHT, Effect, Right
from conf.kinds import BadValue

RULE: dict[str, Any] = {"name": "a", "effect": "deny", "users": ["*"], "databases": ["HR"]}
TOML = """
[groups]
hr = ["ann", "bob"]

[roles]
auditor = { users = ["cid"], groups = ["hr"] }

[[rules]]
name = "pay"
effect = "deny"
users = ["*"]
unless = { groups = ["hr"] }
tables = ["hr.pay"]
columns = ["Salary"]
because = "Ask HR."

[[rules]]
name = "read only"
effect = "deny"
roles = ["auditor"]
databases = ["*"]
rights = ["insert", "drop"]
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "access.toml"
    path.write_text(TOML)
    rules = read_rules(str(path))
    pay, reading = rules.rules
    assert (pay.effect, pay.columns, pay.rights) == (Effect.DENY, ("salary",), {Right.SELECT})
    assert pay.because == "Ask HR."
    assert pay.unless.groups == {"hr"}
    assert reading.rights == {Right.INSERT, Right.DROP}
    assert rules.roles["auditor"].groups == {"hr"}
    assert rules.groups == {"hr": {"ann", "bob"}}


def test_json_has_the_same_keys(tmp_path: Path) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps({"rules": [RULE]}))
    (rule,) = read_rules(str(path)).rules
    assert rule.objects.databases == ("hr",)
    assert rule.rights == EVERY_RIGHT


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("x.yaml", "", "neither .toml nor .json"),
        ("x.toml", "a = ", "x.toml: "),
        ("x.json", "{", "x.json: "),
        ("x.json", "[]", "the document is not a table"),
        ("gone.json", None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, text: str | None, error: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadValue, match=error):
        read_rules(str(path))


MASK = {"effect": "mask", "databases": [], "tables": ["a.b"], "columns": ["x"]}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": ""}, "it has no name"),
        ({"effect": "refuse"}, "effect is not one of allow, deny, mask, filter"),
        ({"users": []}, "it names no users, groups or roles"),
        ({"users": "*"}, "users is not a list of texts"),
        ({"databases": []}, "it names none of databases"),
        ({"databases": ["a.b"]}, "'a.b' is not a database"),
        ({"tables": ["pay"]}, "'pay' is not database.table"),
        ({"colums": ["x"]}, "it has 'colums', which is not one of"),
        ({"rights": ["read"]}, "the right 'read' is not one of select"),
        ({"rights": []}, "rights is empty"),
        ({"columns": ["x"]}, "columns of tables can be denied"),
        ({"tables": ["a.b"], "columns": ["x"], "rights": ["drop"]}, "the right select alone"),
        ({"tables": ["a.b"], "columns": ["x"], "effect": "filter"}, "a filter has no columns"),
        ({"effect": "filter"}, "a filter has an expression"),
        ({"effect": "filter", "expression": " "}, "a filter has an expression"),
        ({"effect": "filter", "expression": "{col} = 1"}, "{col} is for masks"),
        ({"effect": "mask", "tables": ["a.b"], "mask": "null"}, "a mask names columns"),
        (MASK, "a mask has either mask or expression"),
        (MASK | {"mask": "null", "expression": "1"}, "a mask has either mask or expression"),
        (MASK | {"mask": "blur"}, "mask is not one of null, redact, hash"),
        (MASK | {"expression": ""}, "expression is not a text"),
        ({"mask": "null"}, "mask is for masks and filters"),
        ({"paths": ["/a"]}, "paths can be allowed only"),
        ({"effect": "allow", "paths": ["/a/*"]}, "a path is a folder without"),
        ({"databases": [], "clusters": ["c"], "rights": ["drop"]}, "rights are for databases"),
        ({"databases": [], "clusters": ["c"], "effect": "mask"}, "only tables are masked"),
        ({"code": ["jar"]}, "the code 'jar' is not one of"),
        ({"roles": ["boss"]}, "there is no role 'boss'"),
        ({"unless": {"people": []}}, "unless has 'people'"),
        ({"because": 1}, "because is not a text"),
    ],
)
def test_the_error_names_the_fault_of_a_rule(change: dict[str, Any], error: str) -> None:
    with pytest.raises(BadValue, match=error):
        rules_of({"rules": [RULE | change]})


def test_every_fault_of_a_document_is_reported_at_once() -> None:
    with pytest.raises(BadValue) as raised:
        rules_of({"groups": {"g": "x"}, "rules": [{}, RULE, RULE]})
    assert len(raised.value.reasons) == 3
    with pytest.raises(BadValue, match="has 'rule', which is not one of groups, roles, rules"):
        rules_of({"rule": []})
