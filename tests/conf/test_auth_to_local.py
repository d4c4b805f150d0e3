"""Names of principals, by the rules that Hadoop documents and tests."""

import pytest

from conf.auth_to_local import AuthToLocal, NoLocalName, parse_rules

# Of Hadoop's documentation of secure mode, and two realms of our own.
DOCUMENTED = r"""
RULE:[2:$1/$2@$0]([ndj]n/.*@REALM\.TLD)s/.*/hdfs/
RULE:[2:$1/$2@$0]([rn]m/.*@REALM\.TLD)s/.*/yarn/
RULE:[2:$1/$2@$0](jhs/.*@REALM\.TLD)s/.*/mapred/
RULE:[1:$1@$0](.*@OTHER\.ORG)s/@.*/_other/
DEFAULT
"""


@pytest.mark.parametrize(
    ("principal", "name"),
    [
        ("nn/host1@REALM.TLD", "hdfs"),
        ("dn/host2@REALM.TLD", "hdfs"),
        ("rm/host@REALM.TLD", "yarn"),
        ("jhs/host@REALM.TLD", "mapred"),
        ("ann@OTHER.ORG", "ann_other"),
        ("ann@REALM.TLD", "ann"),
        ("spark/host@REALM.TLD", "spark"),
    ],
)
def test_the_documented_rules(principal: str, name: str) -> None:
    assert parse_rules(DOCUMENTED).name(principal, "REALM.TLD") == name


@pytest.mark.parametrize(
    ("rules", "principal", "name"),
    [
        ("RULE:[1:$1]", "omalley@ELSEWHERE", "omalley"),
        ("RULE:[2:$1;$2](^.*;admin$)s/;admin$//", "joe/admin@R", "joe"),
        ("RULE:[2:$2](root)", "joe/root@R", "root"),
        ("RULE:[1:$1@$0](.*@R)s/@.*//", "joe@R", "joe"),
        ("RULE:[1:$1]s/o/0/", "foo@R", "f0o"),
        ("RULE:[1:$1]s/o/0/g", "foo@R", "f00"),
        ("RULE:[1:$1]/L", "JOE@R", "joe"),
        ("RULE:[1:$1@$0](.*@R)s/@.*///L", "Joe@R", "joe"),
        ("RULE:[1:$1]s/(.)(.)/$2$1/", "ab@R", "ba"),
        ("RULE:[1:$1]s/a/\\$1/", "a@R", "$1"),
        ("RULE:[2:$1](x) DEFAULT", "joe/x@R", "joe"),
        ("DEFAULT", "hdfs/host.example.com@R", "hdfs"),
        ("DEFAULT/L", "HDFS@R", "hdfs"),
    ],
)
def test_parts_of_a_rule(rules: str, principal: str, name: str) -> None:
    assert parse_rules(rules).name(principal, "R") == name


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        ("DEFAULT", "ann@S"),
        ("DEFAULT", "ann@r"),
        ("DEFAULT", "ann"),
        ("DEFAULT", "a/b/c@R"),
        ("DEFAULT", "@R"),
        ("DEFAULT", "ann@S@R"),
        ("DEFAULT", "ann\\@S@R"),
        ("RULE:[1:$1](a.*)", "bob@R"),
        ("RULE:[1:$1](a)", "ab@R"),  # the expression has to match all of it
        ("RULE:[2:$1]", "ann@R"),
        ("RULE:[1:$1@$0]", "ann@R"),  # no name
        ("RULE:[2:$1/$2]", "ann/x@R"),
        ("RULE:[1:$1]s/.*//", "ann@R"),
    ],
)
def test_no_name_where_no_rule_makes_one(rules: str, principal: str) -> None:
    with pytest.raises(NoLocalName):
        parse_rules(rules).name(principal, "R")


def test_the_first_rule_that_applies_counts() -> None:
    rules = parse_rules("RULE:[1:$1](a.*)s/.*/first/ RULE:[1:$1](ann)s/.*/second/ DEFAULT")
    assert [rules.name(each, "R") for each in ("ann@R", "bob@R")] == ["first", "bob"]


def test_without_rules_the_default_counts() -> None:
    assert AuthToLocal().name("ann/host@R", "R") == "ann"


@pytest.mark.parametrize(
    "text",
    [
        "RULE",
        "RULE:[1:$1",
        "RULE:[0:$1]",
        "RULE:[3:$1]",
        "RULE:[1:$2]",
        "RULE:[1:$1](*)",
        "RULE:[1:$1]s/(/x/",
        "RULE:[1:$1]s/a/$1/",
        "RULE:[1:$1]s/a/b",
        "DEFAULT nonsense",
        "DEFAULTRULE:[1:$1]",
    ],
)
def test_wrong_rules_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_rules(text)


def test_a_principal_that_is_too_long_is_not_cut_to_one_of_our_realm() -> None:
    name = "a" * 1_022
    assert AuthToLocal().name(f"{name}@R", "R") == name
    with pytest.raises(NoLocalName):
        AuthToLocal().name(f"{name}@REALM.OF.OTHERS", "R")
