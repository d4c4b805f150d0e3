"""Imports from a PostgreSQL and exports to it, with the driver that a datasource names."""

import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bench.copies.copy_metadata import database
from metastore.client.types import Partition
from pipeline.scheduler.instances.states import InstanceState
from tests.pipeline.exchange.conftest import ORDERS, Shop, Site
from tests.pipeline.exchange.documents import DELTA, exporting, importing

# py4j closes a thread's connection to the JVM when the thread's objects are collected.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DRIVER = "org.postgresql:postgresql:42.7.4"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The URL of a server on this machine, and the driver."""
    for program in ("pg_ctl", "initdb", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on PATH")
    folder = tmp_path_factory.mktemp("driver")
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={DRIVER}"]
    done = subprocess.run([*command, f"-DoutputDirectory={folder}"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no {DRIVER}: {done.stdout[-200:]}")
    (jar,) = folder.glob("*.jar")
    with database(jar) as (_, url, _, _):
        yield url.partition("=")[2], jar


@pytest.fixture
def shop(session: SparkSession, tmp_path: Path, server: tuple[str, Path]) -> Shop:
    url, jar = server
    found = Shop(session, tmp_path, url, "causeway", "org.postgresql.Driver", str(jar))
    loader: Any = session._jsparkSession.sessionState().resourceLoader()
    loader.addJar(str(jar))
    found.sql("DROP TABLE IF EXISTS orders, totals", "SET TIME ZONE 'UTC'")
    return found


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_the_rows_of_a_day(site: Site, shop: Shop, kind: str) -> None:
    """2024-01-01 23:30 in New York is the second day by the feed's zone, and in UTC."""
    shop.sql(
        f'CREATE TABLE orders (id BIGINT, "At" {kind}, price NUMERIC(8,2), note VARCHAR(9))',
        f"""INSERT INTO orders VALUES (1, {kind} '2024-01-01 00:00:00+00', 1.5, 'a'),
            (2, {kind} '2024-01-01 23:59:59.999999+00', 2.5, NULL),
            (3, {kind} '2024-01-02 00:00:00+00', 3.5, 'c')""",
    )
    if kind == "timestamptz":
        shop.sql("INSERT INTO orders VALUES (4, '2024-01-01 23:30:00-05:00', 4, 'd')")
    site.add_table(
        (("id", "bigint"), ("at", "timestamp"), ("price", "decimal(8,2)"), ("note", "string"))
    )
    site.submit(importing(DELTA.format("at"), table="public.orders"))
    assert [each.state for each in site.run(2)] == [InstanceState.SUCCEEDED] * 2
    assert [row[0] for row in site.partition(1)] == [1, 2]
    assert [row[0] for row in site.partition(2)] == ([3, 4] if kind == "timestamptz" else [3])
    if kind == "timestamp":
        assert site.partition(1)[1][1] == datetime(2024, 1, 1, 23, 59, 59, 999999)


def test_an_export_is_merged_or_leaves_the_table_as_it_was(site: Site, shop: Shop) -> None:
    shop.sql(
        'CREATE TABLE totals (id INT, "Region" TEXT, v NUMERIC(8,2) CHECK (v < 100), other INT,'
        ' PRIMARY KEY (id, "Region"))',
        "INSERT INTO totals VALUES (1, 'eu', 1, 5), (1, 'us', 9, 9)",
    )
    site.add_table((("id", "int"), ("region", "string"), ("v", "decimal(8,2)")))
    for day, value in ((1, "2"), (2, "100")):
        location = f"file://{site.path}/orders/ds=2024-01-0{day}"
        query = f"SELECT 1 id, 'eu' region, {value}.00BD v UNION ALL SELECT 2, 'eu', 3.00BD"
        site.session.sql(query).coalesce(1).write.parquet(location)
        made = Partition.make(site.metastore.tables[ORDERS], [f"2024-01-0{day}"], location, {})
        site.metastore.parts[ORDERS][f"ds=2024-01-0{day}"] = made
    site.submit(exporting(update_key="id,region"))
    first, second = site.run(1)
    assert (first.state, first.detail) == (InstanceState.SUCCEEDED, "2 rows of shop totals")
    assert second.state is InstanceState.FAILED
    assert "totals_v_check" in second.detail
    assert shop.rows("SELECT * FROM totals") == [
        ("1", "eu", "2.00", "5"), ("1", "us", "9.00", "9"), ("2", "eu", "3.00", None),
    ]  # fmt: skip
    left = shop.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'causeway%'")
    assert left == []
