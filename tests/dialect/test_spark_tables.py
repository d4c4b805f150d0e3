"""The tables of the analysis against those of Spark's own parsed plan (`tests.dialect.spark`).

CAUSEWAY_STATEMENTS is how many statements each source writes, CAUSEWAY_SEED their seed. Where no
number is given, one more test takes a new seed in each run and warns of what it finds.
"""

import os
import random
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path

import pytest

from dialect.lexing.lexer import lexemes
from pipeline.spark.jar import SPARK_MAJOR
from tests.dialect.spark.client import SparkText, spark_text
from tests.dialect.spark.compare import compared
from tests.dialect.spark.keywords import OTHERS, with_keyword, with_keywords
from tests.dialect.spark.new_seed import for_seconds, warn_of
from tests.dialect.spark.queries import VARIABLES
from tests.dialect.spark.scripts import scripts
from tests.dialect.spark.statements import Writer, script_walks, walks

SEED = int(os.environ.get("CAUSEWAY_SEED", "16"))
COUNT = int(os.environ.get("CAUSEWAY_STATEMENTS", "600"))
_SHARED = Path(os.environ.get("CAUSEWAY_SHARED", Path(__file__).parents[3] / "shared"))
_NEW_SEED_SECONDS = 3

pytestmark = [pytest.mark.e2e, pytest.mark.spark4]

Source = Callable[[SparkText, int, int], Iterator[str]]


def by_hand(spark: SparkText, seed: int, count: int) -> Iterator[str]:
    """Statements as `tests.dialect.spark.statements` writes them: most are accepted by Spark."""
    writer = Writer(seed)
    return (writer.statement() for _ in range(count))


def by_keyword(spark: SparkText, seed: int, count: int) -> Iterator[str]:
    """Half have one keyword, each pair of keyword and place once; the others have several."""
    words, half = (*spark.keywords(), *OTHERS), count // 2
    return chain(islice(with_keyword(seed, words), half), islice(with_keywords(seed), half))


def by_grammar(spark: SparkText, seed: int, count: int) -> Iterator[str]:
    """Walks through the whole grammar of the Spark that runs."""
    return islice(walks(spark, seed), count)


def by_script(spark: SparkText, seed: int, count: int) -> Iterator[str]:
    """Scripts of Spark 4: fewer, because each has several statements."""
    return scripts(spark, seed, count // 6)


def by_grammar_of_scripts(spark: SparkText, seed: int, count: int) -> Iterator[str]:
    """Walks through the grammar of Spark 4's scripts."""
    return islice(script_walks(spark, seed), count // 4)


# Each with the part of the statements of which the analysis must be certain.
SOURCES: dict[Source, float] = {by_hand: 0.8, by_keyword: 0.7, by_grammar: 0.5}
if SPARK_MAJOR >= 4:
    SOURCES |= {by_script: 0.4, by_grammar_of_scripts: 0.25}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkText]:
    with spark_text(tmp_path_factory.mktemp("spark")) as running:
        for key, value in VARIABLES.items():
            running.set(key, value)
        yield running


@pytest.mark.timeout(600 + COUNT // 10)
@pytest.mark.parametrize("source", SOURCES)
def test_analysis_names_the_tables_that_spark_parses(spark: SparkText, source: Source) -> None:
    print(f"CAUSEWAY_SEED={SEED}")
    score = compared(spark, source(spark, SEED, COUNT), VARIABLES)
    print(score.counts, score.refusals.most_common(60), *score.differences, sep="\n")
    assert not score.differences, score.differences[:20]
    assert score.known() > SOURCES[source]


@pytest.mark.skipif("CAUSEWAY_STATEMENTS" in os.environ, reason="a number of statements is given")
@pytest.mark.filterwarnings("default:CAUSEWAY_SEED:UserWarning")
@pytest.mark.parametrize("source", SOURCES)
def test_analysis_names_the_tables_of_statements_of_a_new_seed(
    spark: SparkText, source: Source
) -> None:
    """A difference is a warning: the change under test need not be its cause."""
    seed = random.randrange(1 << 32)
    print(f"CAUSEWAY_SEED={seed}")
    texts = for_seconds(_NEW_SEED_SECONDS, source(spark, seed, COUNT))
    warn_of(compared(spark, texts, VARIABLES).differences, f"CAUSEWAY_SEED={seed}", __file__)


def statements_of(text: str) -> Iterator[str]:
    """The statements of a file, split at semicolons."""
    start = 0
    for _, at, end in lexemes(text):
        if text[at:end] == ";":
            yield text[start:at]
            start = end
    yield text[start:]


def test_analysis_names_the_tables_of_sparks_own_tests(spark: SparkText) -> None:
    folder = _SHARED / "sparksql" / "inputs"
    if not folder.is_dir():
        pytest.skip("Spark's SQL tests are not here")
    texts = [
        text for path in sorted(folder.rglob("*.sql")) for text in statements_of(path.read_text())
    ]
    score = compared(spark, texts)
    print(score.counts, score.refusals.most_common(60))
    assert not score.differences, score.differences[:20]
    assert score.known() > 0.95
