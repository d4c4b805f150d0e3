"""The part of a statement's text that is kept and shown: no text hides what runs."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.record.statement_text import MAX_SHOWN, MAX_TEXT, StatementText

DROP = "DROP TABLE sales.orders"


def shown(text: str) -> str:
    return StatementText.of(text).shown()


@pytest.mark.parametrize(
    "text",
    [
        f"/* pwd=' */ {DROP}",
        f"/* pwd=' */ {DROP} -- '",
        f"-- token: '\n{DROP}",
        f'/* password => " */ {DROP} /* " */',
        f"/* /*+ secret=' */ {DROP} -- '",
        f"-- x pwd=`\n{DROP}",
        f"/*{'c' * 17_000}*/ {DROP}",
        f"{'-- c' * 10_000}\n{DROP}",
        f"/*{'c' * 17_000}*/ {DROP} /*{'d' * 17_000}*/",
        f"/*{'c' * 100_000}*/ {DROP} --{'d' * 200_000}",
        f"/*{'c' * 500_000}*/ {DROP}",
        f"/*{'c' * 500_000}*/ {DROP} /*{'d' * 500_000}*/",
        f"/*{'c' * 5_000_000}*/ {DROP}",
        f"{' ' * 100_000}{DROP}",
        f"SELECT '{'x' * 17_000}'; {DROP}; SELECT '{'y' * 17_000}'",
        f"SELECT 1 AS pwd, 'x' AS b; {DROP}",
        f"ADD JARS pwd='x {DROP}",
    ],
)
def test_what_runs_is_shown(text: str) -> None:
    assert DROP in shown(text)


def test_the_hash_is_of_the_whole_text() -> None:
    for text in ("", "SELECT 'ü'", "x" * 100_000):
        kept = StatementText.of(text)
        assert kept.hash == sha256(text.encode()).hexdigest()
        assert kept.length == len(text)


@pytest.mark.parametrize("length", [100, MAX_SHOWN, MAX_TEXT, MAX_TEXT + 1, 1_000_000])
def test_what_is_kept_and_shown_is_bounded(length: int) -> None:
    text = ("a, " * length)[: length - 5] + "(end)"
    kept = StatementText.of(text)
    assert kept.kept <= MAX_TEXT
    assert len(kept.shown()) <= MAX_SHOWN + 100
    assert kept.shown().startswith("a, a")
    assert kept.shown().endswith("(end)")
    assert (kept.shown() == text) is (length <= MAX_SHOWN)
    assert len(kept.brief()) < 2_100


def test_a_secret_at_the_end_of_a_long_statement_is_masked() -> None:
    for start in ("SELECT '", "SELECT ", "/* ", 'SELECT "'):
        text = f"{start}{'x' * 2_000_000} OPTIONS (password 's3cr3t')"
        assert "s3cr3t" not in shown(text)


PIECES = [
    *("/* pwd=' */", '/* /* token: ` */ " */', "/* /*+ secret=' */", "/*+ HINT(a) */", "/**/"),
    *("-- token:'\n", '-- a\\\n pwd="\n', "--\n"),
    *("'it''s'", "'a\\'b'", '"x\'y"', "r'\\'", "`a'b`", "'password='", "''"),
    *("password", "my.token", "secret =>", "pwd =", "identified by", "=", ":", ",", "(", "12"),
]


@given(st.lists(st.sampled_from(PIECES)), st.lists(st.sampled_from(PIECES)))
def test_nothing_well_formed_hides_what_runs(before: list[str], after: list[str]) -> None:
    text = " ".join(["SELECT", *before, DROP, *after])
    assert DROP in shown(text)
    padded = " ".join([*before, f"/*{'c' * 40_000}*/", DROP, f"/*{'d' * 40_000}*/", *after])
    assert DROP in shown(padded)
