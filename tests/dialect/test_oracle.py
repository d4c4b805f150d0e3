"""The oracle's targets: what Hive's own analyser says of thousands of statements."""

import gzip
import importlib.util
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(os.environ.get("CAUSEWAY_SHARED", Path(__file__).parents[3] / "shared")) / "oracle"

pytestmark = [
    pytest.mark.slow,
    # The scorer leaves its file to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not SHARED.exists(), reason="the shared oracle data set is absent"),
]

# Statements where the oracle is wider than SQL: docs/design/dialect.md lists them.
QUIRKS = 4
# EXPLAIN of CREATE TEMPORARY TABLE .. AS: the oracle names a table that is not made.
EXPLAINED = 1
QUERIES = {"select", "from_select", "insert", "from_insert", "multi_insert", "ctas"} | {
    "update",
    "delete",
    "merge",
}


@pytest.fixture(scope="module")
def counted() -> dict[str, Counter[str]]:
    from bench.oracle import analyze

    spec = importlib.util.spec_from_file_location("score", SHARED / "score.py")
    assert spec is not None
    assert spec.loader is not None
    score: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    all_kinds: Counter[str] = Counter()
    queries: Counter[str] = Counter()
    for row, catalog in score.iter_rows(str(SHARED / "statements.jsonl.gz")):
        if row["scored"]:
            found = _compared(score, row, catalog, analyze(row["sql"], catalog))
            all_kinds.update(found)
            if row["kind"] in QUERIES:
                queries.update(found)
    return {"all": all_kinds, "queries": queries}


def _compared(score: Any, row: Any, catalog: Any, got: Any) -> Counter[str]:
    if got is None:
        return Counter(n=1, declined=1)
    views = set(row["input_views"])
    inputs, outputs = set(row["inputs"]), set(row["outputs"])
    parts = {score.truth_part(each) for each in row["input_partitions"]}
    ours = {score.norm_part(each) for each in got["input_partitions"]}
    existing = sum(len(catalog.get(table, {}).get("partitions", [])) for table in inputs)
    prunable = row["partitions_scored"] and len(parts) < existing
    written = {score.truth_part(each) for each in row["output_partitions"]}
    return Counter(
        n=1,
        missed=int(not (got["inputs"] | views >= inputs and got["outputs"] >= outputs)),
        missed_partition=int(bool(row["partitions_scored"]) and not ours >= parts),
        inputs=int(got["inputs"] == inputs),
        outputs=int(got["outputs"] == outputs),
        prunable=int(prunable),
        pruned=int(prunable and ours == parts),
        written=int(bool(written)),
        written_exact=int(
            bool(written) and {score.norm_part(x) for x in got["output_partitions"]} == written
        ),
    )


def test_the_data_set_is_all_there(counted: dict[str, Counter[str]]) -> None:
    with gzip.open(SHARED / "statements.jsonl.gz", "rt", encoding="utf-8") as lines:
        scored = sum(json.loads(line)["scored"] for line in lines)
    assert counted["all"]["n"] == scored > 12_000


def test_nothing_is_missed(counted: dict[str, Counter[str]]) -> None:
    queries = counted["queries"]
    assert queries["missed"] <= EXPLAINED
    assert queries["missed_partition"] <= QUIRKS


def test_little_is_declined(counted: dict[str, Counter[str]]) -> None:
    assert counted["queries"]["declined"] <= 0.003 * counted["queries"]["n"]
    assert counted["all"]["declined"] <= 0.01 * counted["all"]["n"]


def test_inputs_and_outputs_are_exact(counted: dict[str, Counter[str]]) -> None:
    queries = counted["queries"]
    assert queries["inputs"] >= 0.997 * queries["n"]
    assert queries["outputs"] >= 0.997 * queries["n"]


def test_partitions_are_exact(counted: dict[str, Counter[str]]) -> None:
    found = counted["all"]
    assert found["prunable"] > 500
    assert found["pruned"] >= 0.97 * found["prunable"]
    assert found["written_exact"] >= 0.99 * found["written"]
