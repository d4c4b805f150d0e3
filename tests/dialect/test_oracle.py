"""The targets by the oracle: the results of Hive's own analyser for thousands of statements."""

import gzip
import json

import pytest

from bench.oracle import Measured, folder, measure

pytestmark = [
    pytest.mark.slow,
    # The scorer leaves its file to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not folder().exists(), reason="the shared oracle data set is absent"),
]


@pytest.fixture(scope="module")
def measured() -> Measured:
    return measure(folder())


def test_the_oracle_scores_its_whole_data_set(measured: Measured) -> None:
    with gzip.open(folder() / "statements.jsonl.gz", "rt", encoding="utf-8") as lines:
        scored = sum(json.loads(line)["scored"] for line in lines)
    assert measured.everything["n"] == scored > 12_000


def test_no_table_or_partition_of_the_oracle_is_missed(measured: Measured) -> None:
    assert measured.everything["missed_input"] == 0
    assert measured.everything["missed_output"] == 0
    assert measured.everything["missed_partition"] == 0


def test_few_statements_of_the_oracle_are_unknown(measured: Measured) -> None:
    assert measured.queries["declined"] <= 0.003 * measured.queries["n"]
    assert measured.everything["declined"] <= 0.01 * measured.everything["n"]


def test_tables_of_the_oracle_are_exact(measured: Measured) -> None:
    queries = measured.queries
    assert queries["inputs"] >= 0.997 * queries["n"]
    assert queries["outputs"] >= 0.997 * queries["n"]
    assert measured.everything["exact"] >= 0.98 * measured.everything["n"]


def test_partitions_of_the_oracle_are_exact(measured: Measured) -> None:
    found = measured.everything
    assert found["prunable"] > 500
    assert found["pruned"] >= 0.97 * found["prunable"]
    assert found["written_exact"] >= 0.99 * found["written"]
