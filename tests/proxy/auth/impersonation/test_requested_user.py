"""The user that a client wants to act as, in every spelling of the setting and in doAs."""

import pytest

from proxy.auth.impersonation.requested_user import (
    check_proxy_user,
    requested_user,
    without_proxy_user,
)
from proxy.errors import ImpersonationDenied

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
def test_every_spelling_of_the_setting_is_found_and_removed(key: str) -> None:
    assert requested_user("ann", {key: "zed"}, None) == "zed"
    assert requested_user("ann", {key: "ann"}, None) == "ann"
    assert without_proxy_user({key: "zed", "set:hivevar:x": "1"}) == {"set:hivevar:x": "1"}
    with pytest.raises(ImpersonationDenied):
        check_proxy_user(key, "zed", "ann")
    check_proxy_user(key, "ann", "ann")


def test_do_as_and_configuration_have_to_agree() -> None:
    assert requested_user("hue", {}, "zed") == "zed"
    assert requested_user("hue", {KEYS[0]: "zed"}, "zed") == "zed"
    assert requested_user("hue", {KEYS[0]: "zed@R"}, "zed") == "zed"
    assert requested_user("hue", {KEYS[0]: "hue"}, "zed") == "zed"
    with pytest.raises(ImpersonationDenied):
        requested_user("hue", {KEYS[0]: "ann"}, "zed")
    with pytest.raises(ImpersonationDenied):
        requested_user("hue", {KEYS[0]: "ann", KEYS[3]: "zed"}, None)


@pytest.mark.parametrize("name", ["", " ", "zed ", "z\0d", "z\nd"])
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(ImpersonationDenied):
        requested_user("hue", {KEYS[0]: name}, None)
