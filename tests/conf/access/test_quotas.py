"""Quotas of users, groups and roles."""

from typing import Any

import pytest

from conf.access.document import rules_of
from conf.access.quotas import UserQuota, smallest
from conf.kinds import BadValue

ALL: dict[str, Any] = {"name": "all", "users": ["*"], "statements": 10, "bytes": "1k"}
SOME: dict[str, Any] = {"name": "some", "groups": ["g"], "statements": 20, "seconds": 5}


def test_a_user_has_the_smallest_bound_of_each_kind() -> None:
    rules = rules_of({"groups": {"g": ["ann"]}, "quotas": [ALL, SOME]})
    assert rules.quota_of("ann") == UserQuota(statements=10, bytes=1024, seconds=5)
    assert rules.quota_of("ANN") == rules.quota_of("ann")
    assert rules.quota_of("bob") == UserQuota(statements=10, bytes=1024)
    assert smallest([]) is None


def test_exceptions_of_a_quota_are_compared_exactly() -> None:
    rules = rules_of({"quotas": [ALL | {"unless": {"users": ["ann"]}}]})
    assert rules.quota_of("ann") is None
    assert rules.quota_of("Ann") is not None


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": ""}, "quota 1: it has no name"),
        ({"users": []}, "it names no users"),
        ({"statements": 0}, "statements is not a number above 0"),
        ({"rows": "x"}, "rows is not a number above 0"),
        ({"bytes": "many"}, "not a size"),
        ({"seconds": 1.5}, "seconds is not a number above 0"),
        ({"waiting_seconds": 1}, "waiting_seconds needs waiting"),
        ({"waiting": 0}, "waiting is not a number above 0"),
        ({"minutes": 1}, "it has 'minutes'"),
        ({"roles": ["r"]}, "there is no role 'r'"),
    ],
)
def test_the_error_names_the_fault_of_a_quota(change: dict[str, Any], error: str) -> None:
    with pytest.raises(BadValue, match=error):
        rules_of({"quotas": [ALL | change]})


def test_a_queue_is_one_of_statements() -> None:
    only = {"name": "a", "users": ["*"], "rows": 1, "waiting": 5}
    with pytest.raises(BadValue, match="waiting needs statements"):
        rules_of({"quotas": [only]})


def test_a_quota_has_a_bound() -> None:
    with pytest.raises(BadValue, match="it names none of statements"):
        rules_of({"quotas": [{"name": "a", "users": ["*"]}]})
