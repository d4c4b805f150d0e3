"""The lexer against Spark's: random texts full of quotes, brackets, comments and escapes.

CAUSEWAY_TEXTS is how many there are, CAUSEWAY_SEED their seed. Where no number is given, one more
test takes a new seed in each run and warns of what it finds.
"""

import os
import random
import re
from collections.abc import Iterable, Iterator

import pytest

from dialect.errors import NotUnderstood
from dialect.lexing.lexer import LexemeKind, lexemes
from pipeline.spark.jar import SPARK_MAJOR
from tests.dialect.spark.client import Answer, SparkText, spark_text
from tests.dialect.spark.new_seed import warn_of

SEED = int(os.environ.get("CAUSEWAY_SEED", "16"))
COUNT = int(os.environ.get("CAUSEWAY_TEXTS", "2500"))
_PIECES = [
    *("/*", "*/", "/*+", "+", "*", "/", "--", "\\", "\n", "\r", "\r\n", " ", "\t", "'", '"', "`"),
    *("''", '""', "``", "\\'", '\\"', "\\\n", "r'", 'R"', "x'", "a", "b2", "_", "select", "SET"),
    *("1", "0", ".", "1.", ".5", "e", "E5", "e+5", "L", "bd", "D", "f", "1e5", "5x", "0x1F"),
    *("<", ">", "=", "!", "|", "-", "->", "<=>", ":", "::", ";", ",", "(", ")", "[", "]", "?"),
    *("~", "&", "^", "%", "$", "{", "}", "#", "@", "ı", "ſ", "😀", "\ufeff", "\x00", "١"),
]
# Since Spark 4 letters of any script make a name, which its parser refuses then, and there are more
# blanks: texts with them are unknown, or names of tables that do not exist.
_OTHERS_IN_SPARK_4 = ["ä", "K", "é", "ß", "\u00a0", "\u2028", "\f", "\v"]
# The quotes of a text, which is refused, and operators: `<<=>` has others there.
_ONLY_IN_SPARK_4 = re.compile(r"\$\w*\$|<<|>>|\|>")
_NUMBERS = ("_LITERAL", "_VALUE")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkText]:
    with spark_text(tmp_path_factory.mktemp("spark")) as running:
        yield running


def _texts(seed: int) -> Iterator[str]:
    print(f"CAUSEWAY_SEED={seed}")
    chance = random.Random(seed)
    known = _PIECES if SPARK_MAJOR >= 4 else _PIECES + _OTHERS_IN_SPARK_4
    for _ in range(COUNT):
        pieces = chance.sample(known, chance.randint(2, 12))
        text = "".join(chance.choices(pieces, k=chance.randint(1, 30)))
        if SPARK_MAJOR < 4 or not _ONLY_IN_SPARK_4.search(text):
            yield text


def _ours(text: str) -> list[tuple[str, int, int]]:
    result: list[tuple[str, int, int]] = []
    for kind, start, end in lexemes(text):
        if text[start:end] == "::" and SPARK_MAJOR < 4:  # one sign since Spark 4
            result += [("SIGN", start, start + 1), ("SIGN", start + 1, end)]
        elif text[start:end] == "@" and SPARK_MAJOR >= 4:
            result.append(("SIGN", start, end))
        elif SPARK_MAJOR >= 4 and result and _doubled(text, result[-1], kind.name, start):
            result[-1] = ("STRING", result[-1][1], end)
        elif kind is not LexemeKind.UNCLOSED:
            result.append((kind.name, start, end))
    return result


def _doubled(text: str, before: tuple[str, int, int], kind: str, start: int) -> bool:
    """Whether Spark 4 reads one string with the one before: `'a''b'`. The dialect marks it as
    doubled."""
    return before[::2] == (kind, start) == ("STRING", start) and text[start - 1] == text[start]


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


def _differences(spark: SparkText, texts: Iterable[str]) -> list[str]:
    found, asked = [], list(texts)
    for text, answer in zip(asked, spark.words(asked), strict=True):
        unclosed = any(each.kind is LexemeKind.UNCLOSED for each in lexemes(text))
        if _ours(text) != _theirs(answer, text) or unclosed != (answer[0] == "unclosed"):
            found.append(f"{text!r}: {_ours(text)}, in Spark {_theirs(answer, text)}")
    return found


@pytest.mark.e2e
@pytest.mark.spark4
def test_lexer_agrees_with_sparks_lexer(spark: SparkText) -> None:
    assert not _differences(spark, _texts(SEED))


@pytest.mark.e2e
@pytest.mark.spark4
@pytest.mark.skipif("CAUSEWAY_TEXTS" in os.environ, reason="a number of texts is given")
@pytest.mark.filterwarnings("default:CAUSEWAY_SEED:UserWarning")
def test_lexer_agrees_with_sparks_lexer_on_a_new_seed(spark: SparkText) -> None:
    """A difference is a warning: the change under test need not be its cause."""
    seed = random.randrange(1 << 32)
    warn_of(_differences(spark, _texts(seed)), f"CAUSEWAY_SEED={seed}", __file__)


def test_lexer_bounds_its_work_on_quotes_that_are_not_closed() -> None:
    with pytest.raises(NotUnderstood):
        list(lexemes("'\\" * 100_000))
