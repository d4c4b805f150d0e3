"""Queries of the oracle, wrapped and in another spelling, read the same tables.

The expected answer is not known. It must not change with the spelling of a query or with the
statement around it.
"""

import random
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from sqlglot.tokenizer_core import Token, TokenType

from bench.oracle import analyze, entries_of, folder
from dialect.lexing.tokenize import tokenize

pytestmark = [
    pytest.mark.slow,
    # The scorer leaves its file to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not folder().exists(), reason="the shared oracle data set is absent"),
]

Entries = Mapping[str, Any]
QUOTED = (TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER)

# `#` is the query.
AROUND = [
    "# ;",
    "(#)",
    "EXPLAIN EXTENDED #",
    "SELECT * FROM (#) zz",
    "SELECT zz.* FROM ((#)) AS zz ORDER BY 1",
    "SELECT count(*) FROM (#) zz",
    "FROM (#) zz SELECT *",
    "WITH zz AS (#) SELECT * FROM zz",
    "WITH zz AS (#), yy AS (SELECT * FROM zz) SELECT a.* FROM yy a JOIN zz b",
    "SELECT * FROM (#) a UNION ALL SELECT * FROM (#) b",
    "SELECT 1 FROM (#) a LEFT JOIN (#) b ON true",
    "SELECT 1 WHERE EXISTS (SELECT * FROM (#) a)",
    "SELECT (SELECT count(*) FROM (#) a) AS n",
    "SELECT * FROM (#) a LATERAL VIEW explode(array(1, 2)) e AS zy",
    "INSERT OVERWRITE DIRECTORY '/out' #",
    "INSERT INTO TABLE zz_new #",
    "INSERT INTO zz_new (#)",
    "FROM (#) zz INSERT OVERWRITE TABLE zz_a SELECT * INSERT INTO TABLE zz_b SELECT * LIMIT 3",
    "CREATE TABLE zz_new STORED AS ORC AS #",
    "CREATE TABLE zz_new AS (#)",
    "CREATE OR REPLACE VIEW zz_new AS #",
    "CREATE TEMPORARY VIEW zz_new AS #",
    "CACHE TABLE zz_new AS #",
]


@cache
def _queries() -> list[tuple[str, Entries]]:
    """A query and its catalog, of every file in which one is scored."""
    found: dict[str, tuple[str, Entries]] = {}
    for row, entries in entries_of(folder()):
        is_query = row["kind"] in ("select", "from_select") and not row["explain"]
        if row["scored"] and is_query and len(row["sql"]) < 4_000:
            found.setdefault(row["file"], (row["sql"].strip().rstrip(";"), entries))
    return list(found.values())


def _respelt(sql: str, chance: random.Random) -> Iterator[str]:
    """The query with its words, blanks and names written in another way."""
    tokens = tokenize(sql)
    pieces: list[tuple[str, Token | None]] = []
    at = 0
    for token in tokens:
        pieces += [(sql[at : token.start], None), (sql[token.start : token.end + 1], token)]
        at = token.end + 1
    for change in (str.upper, str.lower):
        yield "".join(
            text if token is not None and token.token_type in QUOTED else change(text)
            for text, token in pieces
        )
    blanks = [' /* it\'s ; "x" ` */ ', "\n\t ", " -- don't `\n "]
    yield "".join(
        chance.choice(blanks) if token is None and text and not text.strip() else text
        for text, token in pieces
    )


def _tables(answer: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    return set(answer["inputs"]), set(answer["input_partitions"])


@pytest.mark.parametrize("seed", range(4))
def test_a_query_with_other_spelling_reads_the_same(seed: int) -> None:
    chance = random.Random(seed)
    for sql, entries in chance.sample(_queries(), 30):
        plain = analyze(sql, entries)
        if plain is None:
            continue
        others = [around.replace("#", sql) for around in AROUND]
        for other in (*others, *_respelt(sql, chance)):
            answer = analyze(other, entries)
            assert answer is not None, other
            assert _tables(answer) == _tables(plain), other


@pytest.mark.parametrize("seed", range(2))
def test_a_query_through_a_view_reads_the_same(seed: int) -> None:
    for sql, entries in random.Random(seed).sample(_queries(), 60):
        plain = analyze(sql, entries)
        if plain is None:
            continue
        database = entries["__session__"]["db"]
        view = {"view_sql": sql, "view_db": database, "partition_keys": [], "partitions": []}
        answer = analyze("SELECT * FROM zz.v", {**entries, "zz.v": view})
        assert answer is not None, sql
        inputs, partitions = _tables(answer)
        assert (inputs - {"zz.v"}, partitions) == _tables(plain), sql
