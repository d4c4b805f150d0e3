"""Which rules concern a user."""

from conf.access.people import People
from conf.access.rules import AccessRules, Effect, Objects, Rule


def _people(*names: str) -> People:
    """`g:x` is a group, `r:x` a role, any other name a user."""
    found: dict[str, set[str]] = {"g": set(), "r": set(), "u": set()}
    for each in names:
        kind, _, name = each.rpartition(":")
        found[kind or "u"].add(name)
    return People(frozenset(found["u"]), frozenset(found["g"]), frozenset(found["r"]))


def _concerns(effect: Effect, who: People, user: str, unless: People | None = None) -> bool:
    rule = Rule("x", effect, who, Objects(databases=("*",)), unless=unless or People())
    groups = {"hr": frozenset(("ann", "Bob"))}
    rules = AccessRules((rule,), groups, {"auditor": _people("cid", "g:hr")})
    return bool(rules.of(user))


def test_a_denial_concerns_all_users_with_similar_names() -> None:
    assert _concerns(Effect.DENY, _people("Ann"), "ann@EXAMPLE.COM")
    assert _concerns(Effect.MASK, _people("g:hr"), "BOB")
    assert _concerns(Effect.FILTER, _people("r:auditor"), "\uff21NN")
    assert not _concerns(Effect.DENY, _people("ann", "g:hr", "r:auditor"), "dan")


def test_a_right_is_of_the_user_of_exactly_that_name() -> None:
    assert _concerns(Effect.ALLOW, _people("ann"), "ann")
    assert not _concerns(Effect.ALLOW, _people("ann"), "Ann")
    assert _concerns(Effect.ALLOW, _people("g:hr"), "Bob")
    assert not _concerns(Effect.ALLOW, _people("g:hr", "r:auditor"), "bob")
    assert _concerns(Effect.ALLOW, _people("r:auditor"), "cid")


def test_exceptions_of_a_denial_are_compared_exactly_and_of_a_right_loosely() -> None:
    assert _concerns(Effect.DENY, _people("*"), "Ann", _people("ann"))
    assert not _concerns(Effect.DENY, _people("*"), "ann", _people("ann"))
    assert not _concerns(Effect.ALLOW, _people("*"), "Ann", _people("ann"))
    assert not _concerns(Effect.DENY, _people("*"), "Bob", _people("r:auditor"))
