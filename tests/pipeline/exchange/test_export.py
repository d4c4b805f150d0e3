"""Exports to a Derby database by a real Spark are merged in one step and can be repeated."""

import pytest

from metastore.client.types import Partition
from pipeline.exchange.sql import Merge
from pipeline.scheduler.entity_service import change_instances
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from tests.pipeline.exchange.conftest import ORDERS, START, Shop, Site
from tests.pipeline.exchange.documents import exporting

# py4j closes a thread's connection to the JVM when the thread's objects are collected.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CREATE = "CREATE TABLE totals (id INT, name VARCHAR(9), v INT CHECK (v < 100), other INT DEFAULT 7)"


def filled(site: Site, *rows: tuple[int | None, str, int]) -> None:
    """The table of the feed with its partition of the first day."""
    if ORDERS not in site.metastore.tables:
        site.add_table((("id", "int"), ("name", "string"), ("v", "int")))
    location = f"file://{site.path}/orders/ds=2024-01-01"
    frame = site.session.createDataFrame(rows, "id int, name string, v int")
    frame.coalesce(1).write.mode("overwrite").parquet(location)
    made = Partition.make(site.metastore.tables[ORDERS], ["2024-01-01"], location, {})
    site.metastore.parts[ORDERS]["ds=2024-01-01"] = made


def state(site: Site, day: float = 0) -> tuple[InstanceState, str]:
    done = site.run(day)[0]
    return done.state, done.detail


def rerun(site: Site) -> tuple[InstanceState, str]:
    (done,) = site.run(0)
    change_instances(site.store, [done], InstanceEvent.RERUN, START, "ann")
    return state(site)


def tables(shop: Shop) -> list[tuple[str | None, ...]]:
    return shop.rows("SELECT tablename FROM sys.systables WHERE tabletype = 'T'")


def test_rows_are_updated_and_inserted_and_a_rerun_changes_nothing(site: Site, shop: Shop) -> None:
    shop.sql(CREATE, "INSERT INTO totals VALUES (1, 'old', 1, 5), (9, 'kept', 9, 9)")
    filled(site, (1, "new", 2), (2, "b", 3))
    site.submit(exporting(update_key="id"))
    assert state(site) == (InstanceState.SUCCEEDED, "2 rows of shop totals")
    expected = [("1", "new", "2", "5"), ("2", "b", "3", "7"), ("9", "kept", "9", "9")]
    assert shop.rows("SELECT * FROM totals") == expected
    assert rerun(site)[0] is InstanceState.SUCCEEDED
    assert shop.rows("SELECT * FROM totals") == expected
    assert tables(shop) == [("TOTALS",)]


def test_updateonly_adds_no_rows(site: Site, shop: Shop) -> None:
    shop.sql(CREATE, "INSERT INTO totals VALUES (1, 'old', 1, 5)")
    filled(site, (1, "new", 2), (2, "b", 3))
    site.submit(exporting("updateonly", update_key="id"))
    assert state(site) == (InstanceState.SUCCEEDED, "1 rows of shop totals")
    assert shop.rows("SELECT * FROM totals") == [("1", "new", "2", "5")]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(1, "new", 2), (2, "b", 100)], "check constraint"),
        ([(1, "new", 2), (2, "much too long", 3)], "truncation"),
        ([(1, "new", 2), (1, "b", 3)], "two rows have the same id"),
        ([(1, "new", 2), (None, "b", 3)], "a row has no id"),
    ],
)
def test_a_row_that_the_database_refuses_leaves_the_table_as_it_was(
    site: Site, shop: Shop, rows: list[tuple[int | None, str, int]], reason: str
) -> None:
    shop.sql(CREATE, "INSERT INTO totals VALUES (1, 'old', 1, 5)")
    filled(site, *rows)
    site.submit(exporting(update_key="id"))
    found, detail = state(site)
    assert found is InstanceState.FAILED
    assert reason in detail
    assert shop.rows("SELECT * FROM totals") == [("1", "old", "1", "5")]
    assert tables(shop) == [("TOTALS",)]


def test_a_staging_table_of_an_earlier_attempt_is_replaced(site: Site, shop: Shop) -> None:
    shop.sql(CREATE)
    filled(site, (1, "a", 2))
    site.submit(exporting(update_key="id"))
    name = Merge.of("totals", (), (), "export orders c1 2024-01-01T00:00Z").staging
    shop.sql(f"CREATE TABLE {name} (id VARCHAR(1))")
    assert state(site)[0] is InstanceState.SUCCEEDED
    assert shop.rows("SELECT id FROM totals") == [("1",)]


def test_fields_are_chosen_and_a_missing_column_is_named(site: Site, shop: Shop) -> None:
    shop.sql("CREATE TABLE totals (id INT, name VARCHAR(9))")
    filled(site, (1, "a", 2))
    fields = "<fields><includes><field>ID</field><field>v</field></includes></fields>"
    site.submit(exporting(update_key="id", fields=fields))
    found, detail = state(site)
    assert found is InstanceState.FAILED
    assert "totals has no column v" in detail


def test_a_table_with_more_keys_than_the_uri_is_refused(site: Site, shop: Shop) -> None:
    shop.sql(CREATE)
    columns = (("id", "int"), ("name", "string"), ("v", "int"))
    site.add_table(columns, keys=("ds", "region"))
    location, table = f"file://{site.path}/orders/one", site.metastore.tables[ORDERS]
    made = Partition.make(table, ["2024-01-01", "eu"], location, {})
    site.metastore.parts[ORDERS]["ds=2024-01-01/region=eu"] = made
    site.submit(exporting(update_key="id"))
    found, detail = state(site)
    assert found is InstanceState.FAILED
    assert "does not name the partition keys of shop.orders (ds, region)" in detail
