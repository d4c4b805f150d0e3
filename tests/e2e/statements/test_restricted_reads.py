"""Masks, filters and denied columns before real clusters: a user's rows are those of a query with
the rules in its text, whichever statement reads the table.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from cli.stack.stack import Stack
from conf.access.masks import MASKS, of_column
from tests.e2e.conftest import C1, Sql, rows
from tests.e2e.support.fronts import Front, serving

pytestmark = pytest.mark.e2e
RULES = """
[[rules]]
name = "EU"
effect = "filter"
users = ["fay"]
tables = ["{db}.people", "{db}.hive_people"]
expression = "region = 'EU' OR owner = current_user()"

[[rules]]
name = "ssn"
effect = "mask"
users = ["fay"]
tables = ["{db}.people", "{db}.hive_people"]
columns = ["ssn"]
mask = "show-last-4"

[[rules]]
name = "names"
effect = "mask"
users = ["fay"]
tables = ["{db}.people", "{db}.hive_people"]
columns = ["name", "age"]
mask = "hash"

[[rules]]
name = "pay"
effect = "deny"
users = ["fay"]
tables = ["{db}.people", "{db}.hive_people"]
columns = ["salary"]

[[rules]]
name = "days"
effect = "mask"
users = ["fay"]
tables = ["{db}.days"]
columns = ["day"]
mask = "hash"

[[rules]]
name = "broken"
effect = "filter"
users = ["fay"]
tables = ["{db}.broken"]
expression = "no_such_column = 1"
"""
_VALUES = """VALUES (1, 'Ann', '123-45-6789', 30, 'x', 'a', 100.0, 'EU'),
 (2, 'Bob', '12', 31, 'y', 'b', 50.0, 'EU'), (3, 'Cid', '123-45-6789', 32, 'fay', 'c', 1.0, 'US'),
 (4, 'Dan', '987-65-4321', 33, 'x', 'd', 20.0, 'US'), (6, 'Eve', '1', 1, NULL, 'e', 1.0, NULL),
 (5, NULL, NULL, NULL, NULL, NULL, NULL, 'EU')"""
_COLUMNS = (
    "id INT, name STRING, ssn VARCHAR(11), age INT, owner STRING, code CHAR(4), salary DOUBLE,"
    " region STRING"
)
_SHOWN = "id, name, ssn, age, owner, code, region"
# {p}: the table for the user, for others a query with the rules in its text.
SAME = (
    f"SELECT {_SHOWN} FROM {{p}}",
    "SELECT count(*) FROM {p}",
    "SELECT max(ssn), min(name), count(age), sum(id) FROM {p}",
    "SELECT DISTINCT region FROM {p}",
    "SELECT id FROM {p} WHERE code = 'a' OR code = ssn",
    "SELECT id FROM {p} WHERE ssn = '123-45-6789' OR name = 'Ann'",
    "SELECT id FROM {p} WHERE ssn LIKE 'xxx%' AND region = 'EU'",
    "SELECT id FROM {p} WHERE region <> 'EU' OR region IS NULL OR age IS NULL",
    "SELECT a.id, b.id, b.ssn FROM {p} a JOIN {p} b ON a.ssn = b.ssn",
    "SELECT a.id, b.id FROM {p} a LEFT JOIN {p} b ON a.id = b.id + 2 AND b.name IS NOT NULL",
    "WITH c AS (SELECT id, ssn FROM {p}) SELECT a.id, b.ssn FROM c a JOIN c b ON a.id = b.id",
    "SELECT id, (SELECT max(ssn) FROM {p}) FROM {p} x"
    " WHERE EXISTS (SELECT 1 FROM {p} y WHERE y.id = x.id + 1 AND y.ssn > '')",
    "SELECT id, row_number() OVER (PARTITION BY region ORDER BY ssn, id) FROM {p}",
    "SELECT x.id, y.ssn FROM {p} x JOIN LATERAL (SELECT ssn FROM {p} z WHERE z.id = x.id) y",
    "SELECT id FROM (SELECT * FROM {p} ORDER BY id LIMIT 3)",
    "FROM {p} SELECT id, ssn WHERE id > 1",
    "SELECT t.id, t.ssn FROM {p} TABLESAMPLE (100 PERCENT) t",
)

DENIED = (
    "SELECT * FROM {p}",
    "TABLE {p}",
    "SELECT id FROM {p} ORDER BY salary",
    "SELECT count(salary) FROM {p}",
    "SELECT id FROM {p} WHERE salary > 1",
)


def _by_hand(table: str) -> str:
    """A query of the part of the table that the rules leave."""
    ssn, name = of_column(MASKS["show-last-4"], "ssn"), of_column(MASKS["hash"], "name")
    age = f"try_cast({of_column(MASKS['hash'], 'age')} AS INT)"
    return (
        f"(SELECT id, {name} AS name, {ssn} AS ssn, {age} AS age, owner, code, region FROM {table}"
        " WHERE region = 'EU' OR owner = 'fay')"
    )


@pytest.fixture
def front(stack: Stack, db: str, sql: Sql, tmp_path: Path) -> Iterator[Front]:
    sql(
        f"USE CLUSTER {C1}",
        "SET hive.exec.dynamic.partition.mode=nonstrict",
        f"CREATE TABLE {db}.people ({_COLUMNS}) USING parquet PARTITIONED BY (region)",
        f"CREATE TABLE {db}.hive_people ({_COLUMNS.replace(', region STRING', '')})"
        " PARTITIONED BY (region STRING) STORED AS TEXTFILE",
        *(f"INSERT INTO {db}.{each} {_VALUES}" for each in ("people", "hive_people")),
        f"CREATE TABLE {db}.days USING parquet PARTITIONED BY (day) AS SELECT 1 AS id, 'mon' day",
        f"CREATE TABLE {db}.broken USING parquet AS SELECT 1 AS id",
        f"CREATE VIEW {db}.v AS SELECT * FROM {db}.people",
    )
    rules = tmp_path / "access.toml"
    rules.write_text(RULES.format(db=db))
    with serving(stack, tmp_path / "front.toml", f"access.rules = '{rules}'\n") as there:
        yield there


def _sorted(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(found, key=repr)


def test_a_user_sees_the_part_that_rules_show(front: Front, db: str) -> None:
    where = front.binary
    with (
        closing(hive.connect(where.host, where.port, username="fay")) as fay,
        closing(hive.connect(where.host, where.port, username="dan")) as dan,
    ):
        hers, his = fay.cursor(), dan.cursor()
        people, by_hand = f"{db}.people", _by_hand(f"{db}.people")

        def same(query: str, table: str = people, hand: str = by_hand) -> None:
            seen = _sorted(rows(hers, query.format(p=table)))
            assert seen == _sorted(rows(his, query.format(p=hand))), query

        def refused(text: str, said: str) -> None:
            with pytest.raises(OperationalError, match=r"\[CW107\]") as raised:
                rows(hers, text)
            assert said in str(raised.value), text

        for query in SAME:
            same(query)
        for query in SAME[::6]:
            same(query, f"{db}.hive_people", _by_hand(f"{db}.hive_people"))
        same(SAME[0], f"{db}.v")
        rows(hers, f"CREATE TEMPORARY VIEW tv AS SELECT * FROM {people}")
        same(SAME[7], "tv")
        rows(hers, "SET spark.sql.legacy.storeAnalyzedPlanForView=true")
        refused(f"CREATE TEMPORARY VIEW stored AS SELECT * FROM {people}", "stores its plan")
        for setting in ("caseSensitive=true", "ansi.enabled=true", "session.timeZone=Asia/Tokyo"):
            rows(hers, f"SET spark.sql.{setting}")
        same(SAME[0])

        assert rows(hers, f"SELECT id FROM {db}.days WHERE day = sha2('mon', 256)") == [(1,)]
        assert rows(hers, f"SELECT id FROM {db}.days WHERE day = 'mon'") == []

        for text in DENIED:
            refused(text.format(p=people), f"fay may not read the column salary of {people}")
        refused(f"SELECT * FROM {db}.v", "the column salary")
        refused(f"SELECT id, _metadata.file_path FROM {people}", "column _metadata")
        refused(f"SELECT * FROM {db}.broken", "The rule 'broken' cannot be kept")
        (explained,) = rows(hers, f"EXPLAIN CLUSTER SELECT id FROM {people}")
        assert "is read in part (rows by the rule 'EU'" in str(explained)

        # Rows that another user cached are not shown, and stay cached.
        rows(his, f"CACHE TABLE {people}", f"CACHE TABLE {db}.v")
        same(SAME[0])
        same(SAME[0], f"{db}.v")
        kept = "name, ssn, age, owner, code, 0.0, region"
        rows(hers, f"INSERT INTO {people} SELECT id + 10, {kept} FROM {people}")
        (written,) = rows(his, f"SELECT count(*), count_if(ssn LIKE 'xxx%') FROM {people}")
        assert written == (10, 2)
        assert rows(his, f"SELECT count(*) FROM {db}.v") == [(10,)]
        same(SAME[0])
        rows(hers, f"CREATE TABLE {db}.mine USING parquet AS SELECT id, ssn FROM {people}")
        rows(hers, f"CREATE TABLE {db}.hives STORED AS ORC AS SELECT id, ssn FROM {people}")
        for made in ("mine", "hives"):
            found = _sorted(rows(his, f"SELECT * FROM {db}.{made}"))
            assert found == _sorted(rows(his, f"SELECT id, ssn FROM {by_hand}"))
        rows(his, f"UNCACHE TABLE {people}", f"UNCACHE TABLE {db}.v")
