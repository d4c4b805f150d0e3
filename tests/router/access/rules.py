"""Builders of access rules."""

from typing import Any

from conf.access.document import rules_of
from router.access.user_access import Access, UserAccess


def access_of(*rules: dict[str, Any], user: str = "ann") -> UserAccess:
    found = Access(rules_for_all(*rules)).of(user)
    assert found is not None
    return found


def rules_for_all(*rules: dict[str, Any]):
    named = [{"name": f"r{at}", "users": ["*"]} | each for at, each in enumerate(rules)]
    return rules_of({"rules": named})


def deny(**objects: Any) -> dict[str, Any]:
    return {"effect": "deny"} | objects


def allow(**objects: Any) -> dict[str, Any]:
    return {"effect": "allow"} | objects
