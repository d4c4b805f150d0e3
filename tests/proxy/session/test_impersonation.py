"""Whom a session is for, as its client says it in any of the ways that there are."""

import pytest

from proxy.errors import NotYourself
from proxy.session.impersonation import stay_yourself, wanted, without

KEYS = [
    "hive.server2.proxy.user",
    " hive.server2.proxy.user ",
    "HIVE.server2.Proxy.User",
    "set:hiveconf:hive.server2.proxy.user",
    "set:hivevar:hive.server2.proxy.user",
    "set:hive.server2.proxy.user",
    "hiveconf:hive.server2.proxy.user",
    "set: hive.server2.proxy.user",
]


@pytest.mark.parametrize("key", KEYS)
def test_every_way_of_saying_it_is_heard_and_none_is_passed_on(key: str) -> None:
    assert wanted("ann", {key: "zed"}, None) == "zed"
    assert wanted("ann", {key: "ann"}, None) == "ann"
    assert without({key: "zed", "set:hivevar:x": "1"}) == {"set:hivevar:x": "1"}
    with pytest.raises(NotYourself):
        stay_yourself(key, "zed", "ann")
    stay_yourself(key, "ann", "ann")


def test_do_as_and_configuration_have_to_agree() -> None:
    assert wanted("hue", {}, "zed") == "zed"
    assert wanted("hue", {KEYS[0]: "zed"}, "zed") == "zed"
    assert wanted("hue", {KEYS[0]: "zed@R"}, "zed") == "zed"
    assert wanted("hue", {KEYS[0]: "hue"}, "zed") == "zed"
    with pytest.raises(NotYourself):
        wanted("hue", {KEYS[0]: "ann"}, "zed")
    with pytest.raises(NotYourself):
        wanted("hue", {KEYS[0]: "ann", KEYS[3]: "zed"}, None)


@pytest.mark.parametrize("name", ["", " ", "zed ", "z\0d", "z\nd"])
def test_nobody_is_nobody(name: str) -> None:
    with pytest.raises(NotYourself):
        wanted("hue", {KEYS[0]: name}, None)
