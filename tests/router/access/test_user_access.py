"""The first rule that concerns a user and an object decides."""

import pytest

from conf.access.document import rules_of
from conf.access.rules import Right
from conf.names import TableRef
from router.access.user_access import Access
from tests.router.access.rules import access_of, allow, deny, rules_for_all

PAY, PLAN = TableRef("hr", "pay"), TableRef("hr", "plan")


def test_a_user_to_whom_nothing_is_denied_has_no_access_object() -> None:
    assert Access(rules_of({})).of("ann") is None
    assert Access(rules_for_all(allow(databases=["*"]))).of("ann") is None
    assert Access(rules_for_all(deny(databases=["hr"], users=["bob"]))).of("ann") is None


def test_the_first_rule_decides() -> None:
    access = access_of(allow(tables=["hr.plan"]), deny(databases=["hr"]))
    assert access.table(PLAN, Right.DROP).rule is None
    denial = access.table(PAY, Right.SELECT).rule
    assert denial is not None
    assert denial.name == "r1"
    assert access.table(TableRef("sales", "t"), Right.SELECT).rule is None


def test_a_rule_is_about_its_rights() -> None:
    access = access_of(deny(databases=["hr"], rights=["drop"]))
    assert access.table(PAY, Right.SELECT).rule is None
    assert access.table(PAY, Right.DROP).rule is not None


def test_patterns_are_of_whole_names() -> None:
    access = access_of(deny(tables=["h*.pay", "x.a.*"[2:]]))
    assert access.table(PAY, Right.SELECT).rule is not None
    assert access.table(TableRef("hr", "pay2"), Right.SELECT).rule is None
    assert access.table(TableRef("a", "b"), Right.SELECT).rule is not None
    assert access.table(TableRef("hxr", "pay"), Right.SELECT).rule is not None
    assert access.table(TableRef("xhr", "pay"), Right.SELECT).rule is None


def test_rules_about_columns_apply_to_their_columns() -> None:
    access = access_of(deny(tables=["hr.pay"], columns=["salary"]))
    reading = access.table(PAY, Right.SELECT)
    assert reading.rule is None
    assert [rule.columns for rule in reading.parts] == [("salary",)]
    assert access.table(PAY, Right.INSERT).parts == []


def test_the_first_filter_and_the_first_mask_of_a_column_count() -> None:
    filters = [{"effect": "filter", "expression": each} for each in ("a = 1", "b = 1")]
    masks = [
        {"effect": "mask", "columns": ["x", "y"], "mask": "null"},
        {"effect": "mask", "columns": ["y", "z"], "mask": "hash"},
    ]
    access = access_of(*({"tables": ["hr.*"]} | each for each in (*filters, *masks)))
    reading = access.table(PAY, Right.SELECT)
    assert reading.rule is None
    assert reading.rows is not None
    assert reading.rows.expression == "a = 1"
    assert {key: rule.name for key, rule in reading.columns.items()} == {
        "x": "r2", "y": "r2", "z": "r3"
    }  # fmt: skip
    assert access.sees_table(PAY)


def test_filters_of_a_database_deny_nothing_of_it() -> None:
    part = {"effect": "filter", "expression": "a = 1", "databases": ["hr"]}
    access = access_of(part)
    assert access.database("hr", Right.SELECT) is None
    assert access.sees_database("hr")
    before = access_of(allow(tables=["hr.pay"]), part)
    assert before.table(PAY, Right.SELECT).parts == []
    after = access_of(part, deny(databases=["hr"]))
    assert after.table(PAY, Right.SELECT).rule is not None


def test_lists_show_what_the_user_may_use() -> None:
    access = access_of(
        allow(tables=["open.plan"]), deny(databases=["open", "hr", "gone"], rights=["select"]),
        deny(databases=["gone"]), deny(tables=["rest.secret"]), deny(databases=["open"]),
    )  # fmt: skip
    seen = [db for db in ("open", "hr", "gone", "rest", "other") if access.sees_database(db)]
    assert seen == ["open", "hr", "rest", "other"]
    assert access.sees_table(PAY)
    assert access.sees_table(TableRef("open", "plan"))
    assert not access.sees_table(TableRef("open", "other"))
    assert not access.sees_table(TableRef("rest", "secret"))


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("hdfs://nn/open", True),
        ("hdfs://nn/open/a/b", True),
        ("hdfs://nn/opened", False),
        ("hdfs://nn/open/../hr", False),
        ("hdfs://nn/{open,hr}", False),
        ("hdfs://nn/open/*", False),
        ("hdfs://nn/open/%2e%2e/hr", False),
        ("/open", False),
    ],
)
def test_paths_have_to_be_allowed(path: str, allowed: bool) -> None:
    access = access_of(allow(paths=["hdfs://nn/open/"]), deny(databases=["hr"]))
    assert (access.path(path) is None) is allowed
    assert access_of(deny(databases=["hr"])).path(path) is not None
    assert access_of(allow(paths=["*"]), deny(databases=["hr"])).path(path) is None


def test_code_has_to_be_allowed() -> None:
    access = access_of(deny(databases=["hr"]))
    assert access.code("transform") is not None
    assert access.function("reflect") is not None
    assert access.function("count") is None
    freed = access_of(allow(code=["*"], functions=["reflect"]), deny(databases=["hr"]))
    assert freed.code("transform") is None
    assert freed.function("reflect") is None


def test_functions_settings_and_clusters_can_be_denied() -> None:
    access = access_of(deny(functions=["hr.f*", "md5"], settings=["spark.a*"], clusters=["C1"]))
    assert access.function("md5") is not None
    assert access.function("hr.fx") is not None
    assert access.function("g") is None
    assert access.setting("set:hiveconf:SPARK.A.b") is not None
    assert access.setting("`spark.a`") is not None
    assert access.setting("spark.b") is None
    assert access.cluster("C1") is not None
    assert access.cluster("C2") is None


def test_with_rangers_policies_everything_not_allowed_is_denied() -> None:
    resources = {"database": ["hr"], "table": ["*"], "column": ["*"]}
    item = {"users": ["ann"], "accesses": [{"type": "select"}]}
    policy = {
        "resources": {key: {"values": values} for key, values in resources.items()},
        "policyItems": [item],
    }
    rules = Access(rules_of({"ranger": {"policies": [policy]}}))
    ann, bob = rules.of("ann"), rules.of("bob")
    assert ann is not None
    assert bob is not None
    assert ann.table(PAY, Right.SELECT).rule is None
    assert ann.table(PAY, Right.DROP).rule is not None
    assert ann.database("hr", Right.DROP) is not None
    assert ann.table(TableRef("sales", "t"), Right.SELECT).rule is not None
    assert bob.table(PAY, Right.SELECT).rule is not None
    assert [ann.sees_database(each) for each in ("hr", "sales")] == [True, False]
    assert not bob.sees_database("hr")
