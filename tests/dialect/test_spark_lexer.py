"""Our lexer against Spark's: random texts full of what opens, closes and escapes.

CAUSEWAY_TEXTS is how many there are, CAUSEWAY_SEED their seed.
"""

import os
import random
from collections.abc import Iterator

import pytest

from dialect.errors import NotUnderstood
from dialect.parsing.lexer import Kind, lexemes
from tests.dialect.spark.client import Answer, SparkText, spark_text

SEED = int(os.environ.get("CAUSEWAY_SEED", random.randrange(1 << 32)))
COUNT = int(os.environ.get("CAUSEWAY_TEXTS", "5000"))
_PIECES = [
    *("/*", "*/", "/*+", "+", "*", "/", "--", "\\", "\n", "\r", "\r\n", " ", "\t", "'", '"', "`"),
    *("''", '""', "``", "\\'", '\\"', "\\\n", "r'", 'R"', "x'", "a", "b2", "_", "select", "SET"),
    *("1", "0", ".", "1.", ".5", "e", "E5", "e+5", "L", "bd", "D", "f", "1e5", "5x", "0x1F"),
    *("<", ">", "=", "!", "|", "-", "->", "<=>", ":", "::", ";", ",", "(", ")", "[", "]", "?"),
    *("~", "&", "^", "%", "$", "{", "}", "#", "@", "ä", "ı", "ſ", "K", "é", "\u00a0", "\u2028"),
    *("\f", "\v", "😀", "\ufeff", "\x00", "ß", "١"),
]
_NUMBERS = ("_LITERAL", "_VALUE")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkText]:
    with spark_text(tmp_path_factory.mktemp("spark")) as running:
        yield running


def _texts() -> Iterator[str]:
    print(f"CAUSEWAY_SEED={SEED}")
    chance = random.Random(SEED)
    for _ in range(COUNT):
        pieces = chance.sample(_PIECES, chance.randint(2, 12))
        yield "".join(chance.choices(pieces, k=chance.randint(1, 30)))


def _ours(text: str) -> list[tuple[str, int, int]]:
    result: list[tuple[str, int, int]] = []
    for kind, start, end in lexemes(text):
        if text[start:end] == "::":  # one sign since Spark 4
            result += [("SIGN", start, start + 1), ("SIGN", start + 1, end)]
        elif kind is not Kind.UNCLOSED:
            result.append((kind.name, start, end))
    return result


def _theirs(answer: Answer, text: str) -> list[tuple[str, int, int]]:
    result = []
    for field in answer[1:]:
        symbol, start, end = field.split("\x02")
        at = int(start)
        result.append((_kind(symbol, text[at : int(end)]), at, int(end)))
    return result


def _kind(symbol: str, text: str) -> str:
    if symbol in ("STRING_LITERAL", "STRING", "DOUBLEQUOTED_STRING"):
        return "RAW_STRING" if text[0] in "rR" else "STRING"
    named = {"BACKQUOTED_IDENTIFIER": "QUOTED_NAME", "HENT_START": "HINT", "HENT_END": "HINT_END"}
    if symbol in named or symbol == "UNRECOGNIZED":
        return named.get(symbol, symbol)
    if symbol.endswith(_NUMBERS):
        return "NUMBER"
    return "WORD" if text[0].isalnum() or text[0] == "_" else "SIGN"


@pytest.mark.e2e
def test_lexer_reads_the_words_that_spark_reads(spark: SparkText) -> None:
    texts = list(_texts())
    for text, answer in zip(texts, spark.words(texts), strict=True):
        ours = _ours(text)
        assert ours == _theirs(answer, text), repr(text)
        unclosed = any(each.kind is Kind.UNCLOSED for each in lexemes(text))
        assert unclosed == (answer[0] == "unclosed"), repr(text)


def test_lexer_bounds_its_work_on_quotes_that_are_not_closed() -> None:
    with pytest.raises(NotUnderstood):
        list(lexemes("'\\" * 100_000))
