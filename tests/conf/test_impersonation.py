"""Hadoop's rules of impersonation."""

from collections.abc import Mapping, Set

import pytest

from conf.impersonation import may_impersonate
from conf.settings.security.authentication import Identity, ProxyRule

ALL = frozenset("*")
HOSTS: Mapping[str, Set[str]] = {"gateway": {"10.0.0.1", "fe80::1"}}
GROUPS: Mapping[str, Set[str]] = {"zed": {"analysts", "staff"}}


def allowed(rule: ProxyRule | None, peer: str = "10.0.0.1", other: str = "zed") -> bool:
    rules = {} if rule is None else {"hue": rule}

    def addresses(host: str) -> Set[str]:
        return HOSTS.get(host, set())

    def groups(user: str) -> Set[str]:
        return GROUPS.get(user, set())

    return may_impersonate(Identity(rules=rules), "hue", other, peer, addresses, groups)


@pytest.mark.parametrize(
    "hosts", ["*", "10.0.0.1", "10.0.0.0/24", "gateway", "10.9.9.9 gateway", "::ffff:10.0.0.1"]
)
def test_hosts(hosts: str) -> None:
    rule = ProxyRule(frozenset(hosts.split()), users=ALL)
    assert allowed(rule) is (hosts != "::ffff:10.0.0.1")
    assert allowed(rule, "::ffff:10.0.0.1") is (hosts != "::ffff:10.0.0.1")
    assert allowed(rule, "10.0.1.1") is (hosts == "*")
    assert allowed(rule, "") is (hosts == "*")


def test_users_and_groups() -> None:
    assert allowed(ProxyRule(ALL, users=frozenset({"zed"})))
    assert allowed(ProxyRule(ALL, groups=frozenset({"staff", "x"})))
    assert allowed(ProxyRule(ALL, groups=ALL), other="nobody")
    assert not allowed(ProxyRule(ALL, users=frozenset({"ann"}), groups=frozenset({"admins"})))
    assert not allowed(ProxyRule(ALL, groups=frozenset({"staff"})), other="stranger")


def test_an_incomplete_rule_allows_nothing() -> None:
    assert not allowed(None)
    assert not allowed(ProxyRule())
    assert not allowed(ProxyRule(hosts=ALL))
    assert not allowed(ProxyRule(users=ALL, groups=ALL))
    assert not allowed(ProxyRule(ALL, users=ALL), other="")


def test_impersonation_can_be_disabled() -> None:
    identity = Identity(substitution=False, rules={"hue": ProxyRule(ALL, ALL, ALL)})
    assert not may_impersonate(identity, "hue", "zed", "10.0.0.1", lambda _: set(), lambda _: set())
