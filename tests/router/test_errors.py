"""The refusals' codes are stable and unique."""

from router.errors import REFUSALS


def test_codes_are_unique_and_ours() -> None:
    codes = [refusal.code for refusal in REFUSALS]
    assert len(set(codes)) == len(codes)
    assert all(code.startswith("CW1") and len(code) == 5 for code in codes)


def test_every_refusal_says_what_to_do_next() -> None:
    assert all(refusal.hint.endswith(".") for refusal in REFUSALS)
