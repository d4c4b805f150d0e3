"""Tables with copies in another cluster of the shared stack."""

from collections.abc import Callable

import pytest

from cli.stack.stack import Stack
from tests.e2e.conftest import C1, C2, Sql, Tables
from tests.e2e.support.copies import Copies


@pytest.fixture
def copies(stack: Stack) -> Copies:
    return Copies(stack)


@pytest.fixture
def copied(db: str, sql: Sql, tables: Tables, copies: Copies) -> Callable[[], str]:
    """Makes a table in C1 with a fresh copy in C2."""
    made = iter(range(100))

    def make() -> str:
        table = f"{db}.t{next(made)}"
        sql(
            f"CREATE TABLE {table} (a int) USING parquet",
            f"INSERT INTO {table} VALUES (1)",
            cluster=C1,
        )
        tables.copy(table, C2)
        assert copies.fresh(table)
        return table

    return make
