"""Searches statements whose analysis takes the most processor time for their length.

    python -m bench.statements.slowest [--seconds 300] [--seed N] [--longest 400] [--keep 20]

Statements are cut out of the golden file and of nested forms, mutated by words and crossed; those
that take the most time a byte live on. Two figures are looked for by turns: the time of the whole
analysis a byte, and the time that the event loop is held (at most `analyzer_pool.STEPS` steps of
work). The worst are printed; they belong into tests/dialect/slow.sql, with what makes them quicker.
"""

import argparse
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dialect.analyze import analyze, attempt
from dialect.grammar.cluster_statements import parse
from dialect.statement import Namespace
from dialect.work import TooMuchWork
from proxy.statement.analysis.analyzer_pool import STEPS
from tests.dialect.catalogs import TestCatalog

_GOLDEN = Path(__file__).parents[2] / "tests/dialect/golden/statements.sql"
_KEPT = Path(__file__).parents[2] / "tests/dialect/slow.sql"
_WORDS = re.compile(r"\w+|'[^']*'|\s+|.", re.DOTALL)
_PARTS = (
    *("date(", "timestamp(", "decimal(", "struct(", "array<", "map<int,", "struct<a:", "array["),
    *("CASE WHEN ", " END", "CAST(", " AS int)", "::int", "(SELECT ", ")", "x -> ", "f("),
    *("EXISTS (SELECT ", " IN (", " BETWEEN ", " AND ", " OR ", "NOT ", "- ", "~", " LIKE '%a%'"),
    *("(p JOIN ", " LEFT JOIN p", " ON ", " USING (ds)", "LATERAL VIEW explode(", "interval "),
    *(" WITH c AS (", "SELECT * FROM p ", " WHERE ds = '1'", " GROUP BY ", " OVER (PARTITION BY "),
    *("{fn ", "[", "]", "((", "))", "regexp_replace(ds, '", "concat(ds, ", " || ", "TRIM(BOTH "),
    *(" PIVOT (", " TABLESAMPLE (", "substring(", " FROM ", "`", "'", "/*", "*/", "--", ";"),
    *(" UNION ALL SELECT ", "${", ", "),
)
_BRACKETS = (("(", ")"), ("f(", ")"), ("(SELECT ", ")"), ("[", "]"))
_BESIDE = 200  # bytes added to each length, for the fixed cost of every statement
_NAMESPACE, _CATALOG = Namespace("d"), TestCatalog()


@dataclass(frozen=True, slots=True)
class Found:
    """A statement and its figure: seconds a byte, or seconds."""

    sql: str
    figure: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.statements.slowest", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--longest", type=int, default=400, help="bytes of a statement")
    parser.add_argument("--keep", type=int, default=20, help="statements that are printed")
    args = parser.parse_args()
    print(f"seed {args.seed}")
    rng = random.Random(args.seed)
    for title, measure in (("ms in the event loop", in_loop), ("us a byte", a_byte)):
        worst = search(rng, measure, args.seconds / 2, args.longest, args.keep)
        unit = 1e3 if measure is in_loop else 1e6
        print(f"\n-- {title}")
        for found in worst:
            print(f"{found.figure * unit:10.2f}  {found.sql!r}")


def in_loop(sql: str, number: int) -> float:
    """Seconds for which the event loop is held by a new statement."""
    text = f"{sql} -- {number}"
    began = time.process_time()
    try:
        parse(text, in_use=True)
        attempt(text, _NAMESPACE, _CATALOG, STEPS)
    except TooMuchWork:
        pass
    return time.process_time() - began


def a_byte(sql: str, number: int) -> float:
    """Seconds of the whole analysis, for each byte of the statement."""
    text = f"{sql} -- {number}"
    began = time.process_time()
    analyze(text, _NAMESPACE, _CATALOG)
    return (time.process_time() - began) / (len(sql) + _BESIDE)


def search(
    rng: random.Random,
    measure: Callable[[str, int], float],
    seconds: float,
    longest: int,
    keep: int,
) -> list[Found]:
    """The worst statements, worst first, none of them a mutation of another one's very words."""
    texts = [*_golden(), *(_KEPT.read_text().split("\n") if _KEPT.exists() else [])]
    population: list[Found] = []
    number, until = rng.randrange(1 << 40), time.monotonic() + seconds
    for each in rng.sample(texts, min(len(texts), 400)):
        number += 1
        if each.strip():
            population.append(Found(each[:longest], measure(each[:longest], number)))
    while time.monotonic() < until:
        number += 1
        parents = [max(rng.sample(population, 4), key=lambda each: each.figure) for _ in range(2)]
        child = mutated(rng, parents[0].sql, parents[1].sql)[:longest]
        if not child.strip():
            continue
        figure = measure(child, number)
        weakest = min(rng.sample(population, 8), key=lambda each: each.figure)
        if figure > weakest.figure and all(each.sql != child for each in population):
            again = min(figure, measure(child, number + (1 << 50)))  # not the machine's own noise
            if again > weakest.figure:
                population[population.index(weakest)] = Found(child, again)
    population.sort(key=lambda each: -each.figure)
    return population[:keep]


def mutated(rng: random.Random, one: str, other: str) -> str:
    """A statement made of one, or of two."""
    words, others = _WORDS.findall(one), _WORDS.findall(other)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(words) + 1)
        match rng.randrange(7):
            case 0:
                words[at:at] = [rng.choice(_PARTS)]
            case 1:
                words[at:at] = [rng.choice(_PARTS)] * rng.choice((2, 5, 10, 20, 60))
            case 2:
                del words[at : at + rng.randrange(1, 6)]
            case 3:
                piece = words[at : at + rng.randrange(1, 12)]
                words[at:at] = piece * rng.choice((1, 2, 4, 10, 30))
            case 4:
                start = rng.randrange(len(others) + 1)
                words[at:at] = others[start : start + rng.randrange(1, 20)]
            case 5:
                words = [*words[:at], *others[rng.randrange(len(others) + 1) :]]
            case _:
                end = at + rng.randrange(1, 12)
                opening, closing = rng.choice(_BRACKETS)
                times = rng.choice((1, 3, 10, 30))
                words[at:end] = [opening * times, *words[at:end], closing * times]
    return "".join(words)


def _golden() -> list[str]:
    lines = _GOLDEN.read_text().split("\n")
    return [line for line in lines if line.strip() and not line.startswith("--")]


if __name__ == "__main__":
    main()
