"""The index of rules finds the rules that a scan of all rules finds."""

import random

from conf.access.people import People
from conf.access.rules import Effect, Objects, Rule
from conf.names import TableRef
from router.access.patterns import RuleIndex, is_named


def test_a_star_matches_any_text() -> None:
    assert is_named(("a*c",), "abbc")
    assert is_named(("a*c",), "ac")
    assert is_named(("x", "a.c"), "a.c")
    assert not is_named(("a.c",), "abc")
    assert not is_named(("a.*",), "abc")
    assert not is_named((), "a")


def test_the_index_finds_the_rules_in_their_order() -> None:
    draw = random.Random(7)
    names = ["a", "b", "ab", "*", "a*", "*b", "b*a"]

    def rule(number: int) -> Rule:
        databases = tuple(draw.choices(names, k=draw.randint(0, 2)))
        tables = tuple(".".join(draw.choices(names, k=2)) for _ in range(draw.randint(0, 3)))
        return Rule(str(number), Effect.DENY, People(), Objects(databases, tables))

    for _ in range(50):
        rules = [rule(number) for number in range(20)]
        index = RuleIndex(rules)
        for ref in (TableRef(db, name) for db in ("a", "b", "ab", "ba") for name in ("a", "bb")):
            expected = [
                each
                for each in rules
                if is_named(each.objects.databases, ref.db)
                or is_named(each.objects.tables, str(ref))
            ]
            assert index.of(ref) == expected
