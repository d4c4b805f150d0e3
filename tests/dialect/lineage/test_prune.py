"""Random queries on a real database: the rows do not change when the partitions that the analysis
leaves out are removed."""

import sqlite3
from collections.abc import Iterable

import pytest

from dialect.analyze import analyze
from dialect.statement import Known, Namespace
from tests.dialect.lineage.random_queries import TABLES, RandomQueries, RandomTables, partitions_of


def _database(kept: dict[str, Iterable[int]]) -> sqlite3.Connection:
    """The tables with some of their partitions; two rows a partition."""
    connection = sqlite3.connect(":memory:")
    for name, (columns, keys, specs) in TABLES.items():
        names = [*columns, *(key.name for key in keys)]
        connection.execute(f"CREATE TABLE {name} ({', '.join(names)})")
        marks = ", ".join("?" * len(names))
        for number in kept[name]:
            for row in range(2):
                values = (number * 2 + row, f"v{(number + row) % 3}", *specs[number])
                connection.execute(f"INSERT INTO {name} VALUES ({marks})", values)
    return connection


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_rows_do_not_change_without_the_partitions_that_are_not_read(seed: int) -> None:
    whole = _database({name: range(len(specs)) for name, (_, _, specs) in TABLES.items()})
    writer = RandomQueries(seed)
    left_out = 0
    for _ in range(20):
        sql = writer.query()
        answer = analyze(sql, Namespace("d"), RandomTables())
        assert isinstance(answer, Known), (sql, answer)
        reads = {read.table.name: read.partitions for read in answer.reads}
        kept: dict[str, Iterable[int]] = {
            name: reads[name].select(partitions_of(name)) if name in reads else []
            for name in TABLES
        }
        left_out += sum(len(TABLES[name][2]) - len(list(kept[name])) for name in reads)
        expected = sorted(map(repr, whole.execute(sql).fetchall()))
        assert sorted(map(repr, _database(kept).execute(sql).fetchall())) == expected, sql
    assert left_out, "nothing was pruned: the comparison says nothing"
