"""Sample data for the embedded stack, made through the proxy as any user would make it."""

from collections.abc import Sequence
from typing import Any

from pyhive import hive

from conf.names import ClusterName
from conf.topology import Endpoint

DATABASE = "sample"
# Named last: when it is there, everything is.
LAST = f"{DATABASE}.visits"


def statements(home: ClusterName, away: ClusterName) -> tuple[str, ...]:
    """Customers and orders belong to `home`, visits, by day, to `away`."""
    return (
        f"CREATE DATABASE IF NOT EXISTS {DATABASE}",
        f"USE CLUSTER {home}",
        f"DROP TABLE IF EXISTS {DATABASE}.customers",
        f"CREATE TABLE {DATABASE}.customers USING parquet AS"
        " SELECT id AS customer, concat('customer ', id) AS name,"
        " element_at(array('Lisbon', 'Oslo', 'Quito'), cast(id % 3 + 1 AS int)) AS city"
        " FROM range(100)",
        f"DROP TABLE IF EXISTS {DATABASE}.orders",
        f"CREATE TABLE {DATABASE}.orders USING parquet AS"
        " SELECT id AS order_id, id * 7 % 100 AS customer,"
        " cast(id * 31 % 500 + 1 AS decimal(10, 2)) AS amount FROM range(2000)",
        f"USE CLUSTER {away}",
        f"DROP TABLE IF EXISTS {LAST}",
        f"CREATE TABLE {LAST} USING parquet PARTITIONED BY (day) AS"
        " SELECT id AS visit, id * 13 % 100 AS customer,"
        " date_add(DATE '2026-01-01', cast(id % 7 AS int)) AS day FROM range(5000)",
        "USE CLUSTER",
    )


def worth_trying(home: ClusterName, away: ClusterName) -> tuple[str, str, str]:
    """Three statements that show what Causeway does."""
    customers, orders = f"{DATABASE}.customers", f"{DATABASE}.orders"
    return (
        f"SELECT city, sum(amount) FROM {orders} JOIN {customers} USING (customer) GROUP BY city;",
        f"SELECT day, count(*) FROM {LAST} WHERE day > '2026-01-04' GROUP BY day;",
        f"EXPLAIN CLUSTER SELECT * FROM {orders} JOIN {LAST} USING (customer);"
        f"  -- one is in {home}, one in {away}"
        if home != away
        else "SHOW CLUSTERS;",
    )


def make(proxy: Endpoint, clusters: Sequence[ClusterName]) -> None:
    """Make the sample unless an earlier run did."""
    connection = hive.connect(proxy.host, proxy.port)
    try:
        cursor = connection.cursor()
        if not _made(cursor):
            for statement in statements(clusters[0], clusters[-1]):
                cursor.execute(statement)
    finally:
        connection.close()


def _made(cursor: Any) -> bool:
    cursor.execute(f"SHOW DATABASES LIKE '{DATABASE}'")
    if not cursor.fetchall():
        return False
    cursor.execute(f"SHOW TABLES IN {DATABASE} LIKE '{LAST.partition('.')[2]}'")
    return bool(cursor.fetchall())
