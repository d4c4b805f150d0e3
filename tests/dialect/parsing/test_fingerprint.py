"""Statements that differ only in their literals have one fingerprint."""

import pytest

from dialect.parsing.fingerprint import fingerprint, quick_template, template


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", "select ?"),
        ("select  /* why */ 'it''s' -- end", "select ? ?"),
        ("SELECT a-1, b - 2.5e-3 + .5, c * 10L, 1.0BD", "select a - ? , b - ? + ? , c * ?"),
        ("SELECT t1.c2 FROM `a b`.`T1`", "select t1 . c2 from `a b` . `t1`"),
        ("WHERE ds IN ('a', 'b' ,'c') AND n IN (1)", "where ds in ( ? ) and n in ( ? )"),
        ("f('a', b, 'c', 'd')", "f ( ? , b , ? )"),
        ("VALUES (1, 'a'), (2, 'b')", "values ( ? )"),
        ("SELECT r'raw', \"text\", DATE '2026-01-01'", "select ? , date ?"),
        ("'open", "?"),
        ("1,", "? ,"),
        ("", ""),
    ],
)
def test_template(text: str, expected: str) -> None:
    assert template(text) == expected


def test_fingerprints_differ_by_names_alone() -> None:
    one = fingerprint("SELECT * FROM t WHERE ds = '2026-01-01' AND id = 7")
    assert one == fingerprint("select *\nfrom T where DS = '2026-02-28' and id=8 -- again")
    assert one != fingerprint("SELECT * FROM u WHERE ds = '2026-01-01' AND id = 7")
    assert len(one) == 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a1 FROM t2 WHERE x = 1.5e3", "SELECT a1 FROM t2 WHERE x = ?"),
        ("WHERE a = 'it\\'s' AND b = \"x\"", "WHERE a = ? AND b = ?"),
        ("WHERE ds IN ('a', 'b','c')", "WHERE ds IN (?)"),
        ("WHERE a = 'open", "WHERE a = ?"),
    ],
)
def test_a_quick_template_has_no_literals(text: str, expected: str) -> None:
    assert quick_template(text) == expected


def test_a_quick_template_of_a_long_text_is_that_of_its_beginning() -> None:
    assert quick_template("x" * 100_000) == quick_template("x" * 200_000)
