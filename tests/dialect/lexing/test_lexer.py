"""Lexical rules in which Spark differs from other SQL dialects, and what statements read by
them."""

import pytest

from dialect.analyze import analyze
from dialect.lexing.lexer import lexemes, unescaped
from dialect.statement import Namespace
from tests.dialect.catalogs import TestCatalog, written


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/* /*+ */ b2 -- */ a1", "b2"),
        ("/*/**/ SELECT 1 -- */ INSERT", "INSERT"),
        ("/*/**/*/ SELECT 1", "SELECT 1"),
        ("a /* /* */ b", "a /* /* */ b"),
        ("a /*+ b */ c", "a /*+ b */ c"),
        ("a*/*b", "a */ * b"),
        ("a -- b \\\n c \n d", "a d"),
        ("a -- b \\\r\n c", "a c"),
        ("'it\\'s' 'a''b'", "'it\\'s' 'a' 'b'"),
        ("r'\\' x", "r'\\' x"),
        ("`a``b` ```", "`a``b` `` `"),
        ("'a b", "' a b"),
        ("1.5e3x 1e5x 1e+5x 1.a t.1 5L 5La", "1 . 5e3x 1e5x 1e+5 x 1 . a t .1 5L 5La"),
        ("a~~b<=>c!<d", "a ~ ~ b <=> c !< d"),
        ("ſelect\u00a01", "ſelect \u00a0 1"),
    ],
)
def test_lexer_splits_a_text_into_lexemes(text: str, words: str) -> None:
    found = [text[start:end] for _, start, end in lexemes(text)]
    assert " ".join(found) == words


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a\\'b\\\"c", "a'b\"c"),
        ("\\0\\b\\n\\r\\t\\Z\\\\\\q", "\0\b\n\r\t\x1a\\q"),
        ("100\\%\\_", "100\\%\\_"),
        ("\\u0041\\U0001F600\\101\\uD83D\\uDE00", "A😀A😀"),
    ],
)
def test_string_escapes_are_resolved(text: str, value: str) -> None:
    assert unescaped(text) == value


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("SELECT * FROM /* /*+ */ b -- */ a", "select; reads d.b"),
        ("/*/**/ SELECT 1 -- */ INSERT INTO a SELECT * FROM b", "insert; reads d.b; insert d.a"),
        ("/*/**/*/ SELECT * FROM a", "select; reads d.a"),
        ("SELECT /*+ BROADCAST(b) */ /*+ COALESCE(1) */ * FROM a", "select; reads d.a"),
        ("SELECT /*+ REPARTITION((SELECT 1 FROM b)) */ * FROM a", "unknown"),
        ("SELECT * FROM a GROUP /* */ BY x ORDER -- c\n BY y", "select; reads d.a"),
        ("SELECT * FROM a WHERE ~~x = 1", "select; reads d.a"),
        ("SELECT * FROM a /* /* */ WHERE x = 1", "unknown: a comment is never closed"),
        ("SELECT * FROM\u00a0a", "unknown"),
        ("SET x=/a/*", "set; effect SetVariable(key='x', value='/a/*')"),
    ],
)
def test_comments_and_quotes_are_read_as_in_spark(text: str, answer: str) -> None:
    assert written(analyze(text, Namespace("d"), TestCatalog())).startswith(answer)
