"""Policies of Apache Ranger as rules: what is not understood denies."""

import json
from pathlib import Path
from typing import Any

import pytest

from conf.access.document import read_document, read_rules, rules_of
from conf.access.rules import AccessRules, Effect, Right
from conf.kinds import BadValue


def item(*kinds: str, **people: Any) -> dict[str, Any]:
    return {"accesses": [{"type": kind, "isAllowed": True} for kind in kinds], **people}


def policy(resources: dict[str, list[str]], **more: Any) -> dict[str, Any]:
    found = {key: {"values": values, "isExcludes": False} for key, values in resources.items()}
    return {"name": "p", "isEnabled": True, "policyType": 0, "resources": found, **more}


def table(database: str = "hr", name: str = "*", column: str = "*") -> dict[str, list[str]]:
    return {"database": [database], "table": [name], "column": [column]}


def read(*policies: dict[str, Any], **more: Any) -> AccessRules:
    groups = {"hr": ["ann"]}
    return rules_of({"groups": groups, "ranger": {"policies": list(policies), **more}})


ANN = {"users": ["ann"]}
SELECT = item("select", **ANN)
SINGLE = {"validitySchedules": [{"startTime": "2020/01/01 00:00:00"}]}


def test_denials_come_first_and_the_rest_is_denied() -> None:
    rules = read(
        policy(table(), policyItems=[SELECT]),
        policy(table("hr", "Pay"), denyPolicyItems=[item("select", "update", users=["bob"])]),
    ).rules
    assert [rule.effect.value for rule in rules] == ["deny", "allow", "deny"]
    assert rules[0].objects.tables == ("hr.pay",)
    assert rules[0].rights == {Right.SELECT, Right.INSERT, Right.UPDATE, Right.DELETE}
    assert rules[1].objects.tables == ("hr.*",)
    assert rules[1].objects.databases == ()
    assert rules[2].who.users == {"*"}
    assert rules[2].objects.databases == ("*",)


def test_exceptions_of_a_denial_have_all_of_its_rights() -> None:
    denied = {"denyPolicyItems": [item("select", groups=["public"])]}
    (rule, _) = read(policy(table(), denyExceptions=[SELECT], **denied)).rules
    assert (rule.who.users, rule.unless.users) == ({"*"}, {"ann"})
    (rule, _) = read(policy(table(), denyExceptions=[item("drop", **ANN)], **denied)).rules
    assert rule.unless.is_nobody


def test_columns_masks_and_filters() -> None:
    denied, masked, filtered, _ = read(
        policy(table(column="Salary"), denyPolicyItems=[SELECT]),
        policy(table(column="x"), policyType=1, dataMaskPolicyItems=[SELECT]),
        policy({"database": ["hr"], "table": ["t"]}, policyType=2, rowFilterPolicyItems=[SELECT]),
    ).rules
    assert (denied.effect, denied.columns) == (Effect.DENY, ("salary",))
    assert (masked.effect, masked.columns) == (Effect.MASK, ("x",))
    assert (filtered.effect, filtered.columns) == (Effect.FILTER, ())
    assert filtered.objects.tables == ("hr.t",)
    assert (masked.expression, filtered.expression) == ("", "")  # they deny


def masking(kind: str, **more: Any) -> dict[str, Any]:
    return item("select", dataMaskInfo={"dataMaskType": kind} | more)


def test_masks_of_a_policy() -> None:
    items = [
        masking("MASK_NONE") | ANN,
        masking("MASK_HASH") | {"groups": ["hr"]},
        masking("CUSTOM", valueExpr="concat('x', {col})") | {"groups": ["public"]},
    ]
    found = read(policy(table(column="Ssn"), policyType=1, dataMaskPolicyItems=items)).rules
    assert [rule.effect for rule in found] == [Effect.MASK, Effect.MASK, Effect.DENY]
    assert found[0].expression == "sha2(CAST({col} AS STRING), 256)"
    assert found[1].expression == "concat('x', {col})"
    assert [rule.unless.users for rule in found[:2]] == [{"ann"}, {"ann"}]
    assert found[0].columns == ("ssn",)


def test_filters_of_a_policy() -> None:
    items = [
        item("select", rowFilterInfo={"filterExpr": ""}, **ANN),
        item("select", rowFilterInfo={"filterExpr": "region = 'EU'"}, groups=["public"]),
    ]
    resource = {"database": ["hr"], "table": ["t"]}
    (rule, _) = read(policy(resource, policyType=2, rowFilterPolicyItems=items)).rules
    assert (rule.effect, rule.expression) == (Effect.FILTER, "region = 'EU'")
    assert rule.unless.users == {"ann"}


@pytest.mark.parametrize(
    "found",
    [
        masking("MASK_LATER") | ANN,
        masking("CUSTOM") | ANN,
        masking("CUSTOM", valueExpr="f({col}, ${{USER.name}})") | ANN,
        masking("MASK_HASH") | {"groups": ["unknown"]},
        masking("MASK_HASH") | {"users": ["{OWNER}"]},
        masking("MASK_HASH") | ANN | {"conditions": [{}]},
    ],
)
def test_a_mask_that_is_not_understood_denies(found: dict[str, Any]) -> None:
    rules = read(policy(table(column="x"), policyType=1, dataMaskPolicyItems=[found]))
    assert (rules.rules[0].effect, rules.rules[0].expression) == (Effect.MASK, "")
    assert rules.ignored


@pytest.mark.parametrize(
    "found",
    [
        policy(table(column="id"), policyItems=[SELECT]),
        policy({"database": ["hr"]}, policyItems=[SELECT]),
        policy({"database": ["hr"], "table": ["t"]}, policyItems=[SELECT]),
        policy({"url": ["s3a://x"]}, policyItems=[SELECT]),
        policy({"database": ["hr"], "udf": ["*"]}, policyItems=[SELECT]),
        policy(table(), policyItems=[SELECT | {"conditions": [{"type": "ip"}]}]),
        policy(table(), policyItems=[SELECT], allowExceptions=[item("select", groups=["x"])]),
        policy(table(), policyItems=[SELECT], **SINGLE),
        policy(table(), policyItems=[SELECT], policyPriority=1),
        policy(table("h?"), policyItems=[SELECT]),
        policy(table("{USER}"), policyItems=[SELECT]),
        policy(table() | {"row": ["x"]}, policyItems=[SELECT]),
    ],
)
def test_an_item_that_is_not_understood_gives_no_right(found: dict[str, Any]) -> None:
    rules = read(found)
    assert not any(rule.effect.gives for rule in rules.rules)
    assert rules.ignored


@pytest.mark.parametrize(
    ("found", "everything"),
    [
        (policy(table(), denyPolicyItems=[item("fly", **ANN)]), False),
        (policy(table(), denyPolicyItems=[item("select", groups=["unknown"])]), False),
        (policy(table(), denyPolicyItems=[item("select", users=["{OWNER}"])]), False),
        (policy(table(), denyPolicyItems=[SELECT | {"conditions": [{}]}]), False),
        (policy(table(), denyPolicyItems=[SELECT], **SINGLE), False),
        (policy(table(), isDenyAllElse=True), False),
        (policy(table(), policyType=7), False),
        (policy(table("h?"), denyPolicyItems=[SELECT]), True),
        (policy(table() | {"row": ["x"]}, denyPolicyItems=[SELECT]), True),
        (policy({}, denyPolicyItems=[SELECT]), True),
    ],
)
def test_a_denial_that_is_not_understood_denies_everyone(
    found: dict[str, Any], everything: bool
) -> None:
    rules = read(found)
    first = rules.rules[0]
    assert len(rules.rules) == 2
    assert (first.effect, first.who.users) == (Effect.DENY, {"*"})
    assert first.objects.databases == (("*",) if everything else ())
    assert rules.ignored


def test_exclusions_are_not_understood() -> None:
    found = policy(table(), policyItems=[SELECT])
    found["resources"]["table"]["isExcludes"] = True
    assert not any(rule.effect.gives for rule in read(found).rules)


def test_a_policy_that_is_off_does_nothing() -> None:
    assert len(read(policy(table(), policyItems=[SELECT]) | {"isEnabled": False}).rules) == 1


def test_people_are_users_groups_and_the_public() -> None:
    rules = read(
        policy(table(), policyItems=[item("all", groups=["hr"]), item("drop", groups=["public"])])
    )
    assert [rule.effect.value for rule in rules.of("ann")] == ["allow", "allow", "deny"]
    assert [rule.effect.value for rule in rules.of("bob")] == ["allow", "deny"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "it has no list of policies"),
        ({"policies": [], "tagPolicies": {"policies": [{}]}}, "tagPolicies is not understood"),
        ({"policies": [], "securityZones": {"a": {}}}, "securityZones is not understood"),
        ({"policies": [1]}, "policy 1 is not an object"),
        ({"policies": [{"serviceType": "hbase"}]}, "not of a Hive service"),
    ],
)
def test_another_document_is_an_error(document: Any, said: str) -> None:
    with pytest.raises(BadValue, match=said):
        rules_of({"ranger": document})


def test_the_file_is_read_with_the_rules_that_name_it(tmp_path: Path) -> None:
    policies, rules = tmp_path / "hive.json", tmp_path / "access.toml"
    policies.write_text(json.dumps({"policies": [policy(table(), policyItems=[SELECT])]}))
    rules.write_text(f"ranger = '{policies}'\n")
    assert len(read_rules(str(rules)).rules) == 2
    copy = tmp_path / "copy.json"
    copy.write_text(json.dumps(read_document(str(rules))))
    policies.unlink()
    assert len(read_rules(str(copy)).rules) == 2
    with pytest.raises(BadValue, match="No such file"):
        read_rules(str(rules))
