"""The refusals' codes are stable and unique."""

import re
from pathlib import Path

from router.errors import CHANGED_AFTER_DECISION, GUARD_REFUSALS, REFUSALS

GUARD = Path(__file__).parents[2] / "guard/src/main/java/causeway/guard"


def test_codes_are_unique_and_ours() -> None:
    codes = [refusal.code for refusal in REFUSALS]
    assert len(set(codes)) == len(codes)
    assert all(code.startswith("CW1") and len(code) == 5 for code in codes)


def test_the_guards_codes_are_those_that_it_has() -> None:
    names = "claim/ClaimException.java", "results/ResultTooLargeException.java"
    code = "".join((GUARD / name).read_text() for name in names)
    assert re.findall(r'"(CW\d+)"', code) == [each.code for each in GUARD_REFUSALS]
    assert f'CHANGED = "{CHANGED_AFTER_DECISION.code}"' in code
    assert {each.sqlstate for each in GUARD_REFUSALS} == set(re.findall(r'"(\w{5})"', code)) - {
        each.code for each in GUARD_REFUSALS
    }


def test_every_refusal_says_what_to_do_next() -> None:
    assert all(refusal.hint.endswith(".") for refusal in (*REFUSALS, *GUARD_REFUSALS))
