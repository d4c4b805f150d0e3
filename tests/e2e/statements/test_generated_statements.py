"""Generated statements through the proxy: the guard refuses none of them by its claim, and queries
have the results of a Thrift Server.

CAUSEWAY_STATEMENTS is the number of statements of each test, CAUSEWAY_SEED the seed of the first
session.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cli.stack.stack import Stack
from tests.dialect.spark.running import RunningWriter
from tests.e2e.conftest import C1
from tests.e2e.support import generated
from tests.e2e.support.outcomes import Outcome, difference_of, outcome_of
from tests.e2e.support.refusals import REFUSALS

pytestmark = pytest.mark.e2e

COUNT = int(os.environ.get("CAUSEWAY_STATEMENTS", "24"))
SEED = int(os.environ.get("CAUSEWAY_SEED", "16"))
LENGTH = 20  # statements of a session
FRESH = 40  # statements after which the tables to write are made again
# Spark chooses the rows of these.
_CHOSEN = re.compile(r"\b(limit|offset|tablesample)\b", re.IGNORECASE)
_OURS = re.compile(r"CW\d+")


@dataclass(slots=True)
class Outcomes:
    """Counts of statements with rows and by error. `faults` are those of Causeway."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, text: str, outcome: Outcome) -> None:
        self.counts[outcome.error[:60] or "ok"] += 1
        self.faults += (f"{text!r}: {each['refusal']}" for each in REFUSALS.take())
        if "CW36" in outcome.message:
            self.faults.append(f"{text!r}: {outcome}")

    def shown(self) -> list[str]:
        """Prints the counts and returns the faults."""
        print(self.counts.most_common(60))
        for each in self.faults:
            print(each)
        return self.faults


@pytest.fixture(scope="module")
def folder(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if stack.spec.guard is None:
        pytest.skip("no guard: nothing checks claims")
    print(f"CAUSEWAY_SEED={SEED}")
    generated.prepare(stack)
    yield tmp_path_factory.mktemp("generated")
    generated.remove(stack)


@pytest.mark.timeout(36_000)
def test_the_guard_refuses_no_generated_statement(stack: Stack, folder: Path) -> None:
    outcomes = Outcomes()
    for start in range(0, COUNT, LENGTH):
        if start % FRESH == 0:
            generated.make_written(stack)
        writer = RunningWriter(SEED + start, generated.names(folder))
        with generated.session(stack, folder, SEED + start) as connection:
            for _ in range(min(LENGTH, COUNT - start)):
                text = writer.statement()
                outcomes.add(text, outcome_of(connection, text))
    assert not outcomes.shown()
    assert outcomes.counts["ok"] > COUNT * 0.3


@pytest.mark.timeout(36_000)
def test_generated_queries_have_the_results_of_a_thrift_server(stack: Stack, folder: Path) -> None:
    generated.make_written(stack)
    outcomes = Outcomes()
    for start in range(0, COUNT, LENGTH):
        writer = RunningWriter(SEED + start, generated.names(folder))
        with (
            generated.session(stack, folder, SEED + start) as through,
            generated.session(stack, folder, SEED + start, C1) as plain,
        ):
            for _ in range(min(LENGTH, COUNT - start)):
                text = writer.query()
                outcome = outcome_of(through, text)
                outcomes.add(text, outcome)
                if not _OURS.match(outcome.error):
                    outcomes.faults += _difference(text, outcome_of(plain, text), outcome)
    assert not outcomes.shown()
    assert outcomes.counts["ok"] > COUNT * 0.3


def _difference(text: str, plain: Outcome, through: Outcome) -> list[str]:
    """The difference of two outcomes; empty if Spark may choose the rows that differ."""
    kind = difference_of(text, plain, through)
    if not kind or (kind == "rows" and _CHOSEN.search(text)):
        return []
    sides = (f"{each.columns} {each.rows} {each.message[:300]}" for each in (plain, through))
    return ["\n   ".join((f"{kind}: {text!r}", *sides))]
