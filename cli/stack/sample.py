"""Creates the embedded stack's sample data by statements to the proxy."""

import getpass
import shutil
from pathlib import Path
from typing import Any

from pyhive import hive

from cli.stack.lifecycle_documents import SAMPLE_PROCESS, sample_process
from cli.stack.plan import hadoop_uri
from cli.stack.stack import Stack
from conf.names import ClusterName, TableRef
from conf.settings.load import load
from conf.topology import Endpoint
from metastore.client.changes.notifying_client import notifying_client
from metastore.placement.assign import Assignment, assign
from metastore.placement.placement_store import PlacementStore
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.scheduler.clock import SystemClock

DATABASE = "sample"
CUSTOMERS, ORDERS, VISITS = (f"{DATABASE}.{name}" for name in ("customers", "orders", "visits"))
TOTALS = f"{DATABASE}.totals"


def tables_of_home(home: ClusterName) -> tuple[str, ...]:
    """The statements that create customers and orders in the cluster `home`."""
    return (
        f"USE CLUSTER {home}",
        f"CREATE TABLE {CUSTOMERS} USING parquet AS"
        " SELECT id AS customer, concat('customer ', id) AS name,"
        " element_at(array('Lisbon', 'Oslo', 'Quito'), cast(id % 3 + 1 AS int)) AS city"
        " FROM range(100)",
        f"CREATE TABLE {ORDERS} USING parquet AS"
        " SELECT id AS order_id, id * 7 % 100 AS customer,"
        " cast(id * 31 % 500 + 1 AS decimal(10, 2)) AS amount FROM range(2000)",
    )


def tables_of_away(away: ClusterName) -> tuple[str, ...]:
    """The statements that create visits, partitioned by day, in the cluster `away`."""
    return (
        f"USE CLUSTER {away}",
        f"CREATE TABLE {VISITS} USING parquet PARTITIONED BY (day) AS"
        " SELECT id AS visit, id * 13 % 100 AS customer,"
        " date_add(DATE '2026-01-01', cast(id % 7 AS int)) AS day FROM range(5000)",
    )


def script_of_totals() -> str:
    """The SQL of the sample process, which sums up the orders of each city."""
    return (
        f"CREATE TABLE IF NOT EXISTS {TOTALS} (city STRING, orders BIGINT, amount DECIMAL(20, 2))"
        " USING parquet;\n"
        f"INSERT OVERWRITE TABLE {TOTALS} SELECT city, count(*), sum(amount)"
        f" FROM {ORDERS} JOIN {CUSTOMERS} USING (customer) GROUP BY city;\n"
    )


def worth_trying(home: ClusterName, away: ClusterName) -> tuple[str, str, str]:
    """Three statements that show what Causeway does."""
    return (
        f"SELECT city, sum(amount) FROM {ORDERS} JOIN {CUSTOMERS} USING (customer) GROUP BY city;"
        f"  -- in {home}",
        f"SELECT city, count(*) FROM {VISITS} JOIN {CUSTOMERS} USING (customer) GROUP BY city;"
        f"  -- in {away}",
        f"EXPLAIN CLUSTER {refused_join()};" + ("  -- no cluster has both" if home != away else ""),
    )


def refused_join() -> str:
    """A statement that is refused until a copy is made, if there are several clusters."""
    return f"SELECT * FROM {ORDERS} JOIN {VISITS} USING (customer)"


def make(stack: Stack, proxy: Endpoint) -> None:
    """Creates the sample data unless an earlier run did."""
    home, away = stack.spec.clusters[0], stack.spec.clusters[-1]
    connection = hive.connect(proxy.host, proxy.port)
    cursor = connection.cursor()
    if not _is_complete(cursor):
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        _clear(cursor, stack)
        for statement in tables_of_home(home):
            cursor.execute(statement)
        if home != away:
            _copy_customers(stack, away)
        for statement in tables_of_away(away):
            cursor.execute(statement)
    # Not in a `finally`: after an interrupt, close() would read the reply to the interrupted call.
    connection.close()


def schedule(stack: Stack) -> None:
    """Schedules a process that sums up the orders each day, unless an earlier run did."""
    from pipeline.scheduler import entity_service  # imports SQLAlchemy, which is large
    from pipeline.scheduler.store.store import Store

    store, key = Store(str(stack.layout.lifecycle_store)), EntityKey(Kind.PROCESS, SAMPLE_PROCESS)
    if key in entity_service.read_catalog(store).stored:
        return
    script = stack.layout.root / "totals.hql"
    script.write_text(script_of_totals())
    user, now = getpass.getuser(), SystemClock().now()
    text = sample_process(stack.spec.clusters[0], script, now)
    entity_service.submit(store, text, user, now, lambda *_: ())
    entity_service.schedule(store, key, user, now, lambda _: None, lambda *_: ())


def _clear(cursor: Any, stack: Stack) -> None:
    """Deletes the tables of an interrupted run, and files of tables that it did not create."""
    for table in (CUSTOMERS, ORDERS, VISITS, TOTALS):
        cursor.execute(f"DROP TABLE IF EXISTS {table}")
        for cluster in stack.spec.clusters:
            folder = f"{DATABASE}.db/{table.partition('.')[2]}"
            shutil.rmtree(stack.layout.warehouse(cluster) / folder, ignore_errors=True)


def _copy_customers(stack: Stack, away: ClusterName) -> None:
    """Copies the files of customers and registers the copy, as `causeway copy` does with Spark."""
    settings = load(stack.layout.settings)
    target = stack.layout.warehouse(away) / "copies" / "customers"
    table = TableRef.parse(CUSTOMERS)
    with notifying_client(settings) as client:
        source = client.get_table(table).location
        shutil.copytree(Path(source.removeprefix("file:")), target, dirs_exist_ok=True)
        wanted = Assignment(table, copies={away: hadoop_uri(target)})
        assign(PlacementStore(client, stack.spec.clusters[0]), wanted, settings.topology)


def _is_complete(cursor: Any) -> bool:
    """Whether visits exist, which are created last."""
    cursor.execute(f"SHOW DATABASES LIKE '{DATABASE}'")
    if not cursor.fetchall():
        return False
    cursor.execute(f"SHOW TABLES IN {DATABASE} LIKE '{VISITS.partition('.')[2]}'")
    return bool(cursor.fetchall())
