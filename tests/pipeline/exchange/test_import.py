"""Imports from a Derby database by a real Spark: rows, instances, and refusals."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.scheduler.entity_service import change_instances
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from tests.pipeline.exchange.conftest import FEED_KEY, ORDERS, PASSWORD, START, Shop, Site
from tests.pipeline.exchange.documents import DELTA, PATH, importing

# py4j closes a thread's connection to the JVM when the thread's objects are collected.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

COLUMNS = (
    ("id", "int"), ("name", "string"), ("price", "decimal(10,2)"), ("at", "timestamp"),
)  # fmt: skip
CREATE = (
    'CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(8,2), "at" TIMESTAMP)'
)


def filled(shop: Shop) -> None:
    shop.sql(
        CREATE,
        "INSERT INTO orders VALUES (1, 'a', 1.50, TIMESTAMP('2024-01-01 00:00:00'))",
        "INSERT INTO orders VALUES (2, 'b', 2.50, TIMESTAMP('2024-01-01 23:59:59.999'))",
        "INSERT INTO orders VALUES (3, NULL, NULL, TIMESTAMP('2024-01-02 00:00:00'))",
        "INSERT INTO orders VALUES (4, 'd', 4.00, NULL)",
    )


def rerun(site: Site, day: int) -> None:
    found = [e for e in site.run(day) if e.key.schedule.action.value == "import"]
    change_instances(site.store, found[:1], InstanceEvent.RERUN, START, "ann")


def test_a_full_import_is_the_table_as_it_is(site: Site, shop: Shop) -> None:
    filled(shop)
    site.add_table(COLUMNS)
    site.submit(importing())
    (done,) = site.run(0)
    assert (done.state, done.detail) == (
        InstanceState.SUCCEEDED,
        "4 rows into shop.orders ds=2024-01-01",
    )
    assert site.partition(1) == [
        (1, "a", Decimal("1.50"), datetime(2024, 1, 1)),
        (2, "b", Decimal("2.50"), datetime(2024, 1, 1, 23, 59, 59, 999000)),
        (3, None, None, datetime(2024, 1, 2)),
        (4, "d", Decimal("4.00"), None),
    ]


def test_a_rerun_replaces_the_rows_and_readers_keep_the_old_ones(site: Site, shop: Shop) -> None:
    filled(shop)
    site.add_table(COLUMNS)
    site.submit(importing())
    site.run(0)
    old, (part,) = site.location(1), site.metastore.parts[ORDERS].values()
    part.parameters = {**part.parameters, "numRows": "4", "COLUMN_STATS_ACCURATE": "true"}
    shop.sql("DELETE FROM orders WHERE id > 1")
    rerun(site, 0)
    site.run(0)
    assert [row[0] for row in site.partition(1)] == [1]
    assert site.session.read.parquet(old).count() == 4
    (part,) = site.metastore.parts[ORDERS].values()
    assert not {"numRows", "COLUMN_STATS_ACCURATE"} & part.parameters.keys()


def test_an_incremental_import_has_the_rows_of_its_day_when_the_day_has_ended(
    site: Site, shop: Shop
) -> None:
    filled(shop)
    site.add_table(COLUMNS)
    site.submit(importing(DELTA.format("at")))
    assert site.run(0.9) == []
    assert [each.state for each in site.run(2)] == [InstanceState.SUCCEEDED] * 2
    assert [row[0] for row in site.partition(1)] == [1, 2]
    assert [row[0] for row in site.partition(2)] == [3]
    site.run(3)
    assert site.partition(3) == []


def test_days_of_a_date_column(site: Site, shop: Shop) -> None:
    shop.sql(
        "CREATE TABLE orders (id INT, d DATE)",
        "INSERT INTO orders VALUES (1, DATE('2024-01-01')), (2, DATE('2024-01-02'))",
    )
    site.add_table((("id", "bigint"), ("d", "date")))
    site.submit(importing(DELTA.format("d")))
    site.run(1)
    assert [row[0] for row in site.partition(1)] == [1]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ((*COLUMNS, ("more", "int")), "more is not in the database's table"),
        (COLUMNS[:2], "is not in the feed's table"),
        ((("id", "smallint"), *COLUMNS[1:]), "id is int, which smallint may not have"),
        ((*COLUMNS[:2], ("price", "decimal(5,2)"), COLUMNS[3]), "price is decimal(8,2)"),
        ((COLUMNS[0], ("name", "varchar(0)"), *COLUMNS[2:]), "name has a text longer than 0"),
    ],
)
def test_an_import_with_values_that_do_not_fit_the_table_is_refused(
    site: Site, shop: Shop, columns: tuple[tuple[str, str], ...], reason: str
) -> None:
    filled(shop)
    site.add_table(columns)
    site.submit(importing())
    (failed,) = site.run(0)
    assert failed.state is InstanceState.FAILED
    assert reason in failed.detail
    assert site.metastore.parts[ORDERS] == {}


def test_fields_are_chosen_and_several_connections_read_each_row_once(
    site: Site, shop: Shop
) -> None:
    numbers = ", ".join(f"({each}, 'n{each}')" for each in range(100))
    shop.sql(
        "CREATE TABLE orders (id INT, name VARCHAR(9))", f"INSERT INTO orders VALUES {numbers}"
    )
    site.add_table((("id", "int"),))
    fields = "<fields><excludes><field>name</field></excludes></fields>"
    site.submit(importing(fields=fields, split_by="id", num_mappers="3", fetch_size="7"))
    site.run(0)
    assert sorted(row[0] for row in site.partition(1)) == list(range(100))


def test_a_table_with_more_keys_than_the_uri_is_refused_before_rows_are_read(
    site: Site, shop: Shop
) -> None:
    filled(shop)
    site.add_table(COLUMNS, keys=("ds", "region"))
    site.submit(importing())
    (failed,) = site.run(0)
    assert failed.state is InstanceState.FAILED
    assert "does not name the partition keys of shop.orders (ds, region)" in failed.detail
    assert not (site.path / "orders").exists()


def test_a_directory_is_replaced_with_its_flag(site: Site, shop: Shop, tmp_path: Path) -> None:
    filled(shop)
    place = tmp_path / "data"
    fields = "<fields><includes><field>id</field></includes></fields>"
    flag = "<availabilityFlag>_DONE</availabilityFlag>"
    site.submit(importing(storage=PATH.format(place), fields=fields, flag=flag))
    site.run(0)
    shop.sql("DELETE FROM orders WHERE id < 4")
    rerun(site, 0)
    (done,) = site.run(0)
    assert done.detail == f"1 rows into file://{place}/2024-01-01"
    assert site.session.read.parquet(str(place / "2024-01-01")).collect() == [(4,)]
    assert (place / "2024-01-01" / "_DONE").exists()


def test_only_the_newest_due_full_import_runs(site: Site, shop: Shop) -> None:
    filled(shop)
    site.add_table(COLUMNS)
    site.submit(importing())
    states = [each.state for each in site.run(2)]
    assert states == [InstanceState.SKIPPED, InstanceState.SKIPPED, InstanceState.SUCCEEDED]
    assert list(site.metastore.parts[ORDERS]) == ["ds=2024-01-03"]


def test_the_password_is_read_from_its_file_and_never_shown(
    site: Site, shop: Shop, capfd: pytest.CaptureFixture[str]
) -> None:
    site.add_table(COLUMNS)
    site.submit(importing(table="missing"))
    (failed,) = site.run(0)
    assert "MISSING" in failed.detail.upper()
    shop.password.chmod(0o644)
    rerun(site, 0)
    (failed,) = site.run(0)
    assert "others can use it" in failed.detail
    texts = [str(site.store.instances(FEED_KEY)), *capfd.readouterr()]
    assert not any(PASSWORD in text for text in texts)
