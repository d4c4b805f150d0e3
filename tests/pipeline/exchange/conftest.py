"""A lifecycle with Spark, files on this machine, a metastore in memory, and a database of Derby."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cli.stack.stack import spark_home
from conf.names import TableRef
from metastore.client.types import Table, text_storage
from pipeline.falcon.calendar import parse_time
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.processes.commands import Programs
from pipeline.scheduler.actions import cluster_actions, tables
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.instance import Instance, InstanceAction
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles
from tests.pipeline.copy.fakes import Effects, FakeMetastore
from tests.pipeline.exchange.documents import DATASOURCE
from tests.pipeline.falcon.documents import CLUSTER
from tests.pipeline.scheduler.fake_actions import schedule, submit
from thriftcodec.values import STRING

ORDERS = TableRef("shop", "orders")
FEED_KEY = EntityKey(Kind.FEED, "orders")
START = parse_time("2024-01-01T00:00Z")
HIVE = "org.apache.hadoop.hive.ql.io.parquet"
PASSWORD = "pass:w0rd"
_NUMBERS = itertools.count()


class Shop:
    """A database: `sql` runs statements in it, `rows` returns the rows of a query."""

    def __init__(
        self, session: SparkSession, path: Path, url: str, user: str, driver: str, jar: str
    ) -> None:
        self.session, self.url, self.user, self.driver, self.jar = session, url, user, driver, jar
        self.password = path / "password"
        self.password.write_text(f"{PASSWORD}\n")
        self.password.chmod(0o600)

    def _connect(self) -> Any:
        jvm: Any = self.session._jvm
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        driver = loader.loadClass(self.driver).newInstance()
        login = jvm.java.util.Properties()
        login.setProperty("user", self.user)
        login.setProperty("password", PASSWORD)
        return driver.connect(self.url, login)

    def sql(self, *statements: str) -> None:
        connection = self._connect()
        try:
            for each in statements:
                connection.createStatement().executeUpdate(each)
        finally:
            connection.close()

    def rows(self, query: str) -> list[tuple[str | None, ...]]:
        connection = self._connect()
        try:
            found = connection.createStatement().executeQuery(query)
            width = range(1, found.getMetaData().getColumnCount() + 1)
            rows = []
            while found.next():
                rows.append(tuple(found.getString(each) for each in width))
            return sorted(rows, key=str)
        finally:
            connection.close()


class Site:
    """The lifecycle of feeds of `shop.orders` on c1."""

    def __init__(self, path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.shop, self.session = path, shop, shop.session
        self.metastore = FakeMetastore(Effects())
        monkeypatch.setattr(tables, "metastore", self._connect)
        monkeypatch.setattr(cluster_actions.tables, "metastore", self._connect)
        files = SparkFiles(shop.session)
        self.actions = ClusterActions(lambda: files, Programs(""), spark=lambda: shop.session)
        self.store = Store(str(path / "l.db"))
        submit(self.store, CLUSTER.replace("{name}", "c1").replace('"/staging"', f'"{path}/stg"'))
        document = DATASOURCE.format(
            url=shop.url, user=shop.user, password=shop.password, driver=shop.driver, jar=shop.jar
        )
        submit(self.store, document)

    @contextmanager
    def _connect(self, *_: object) -> Iterator[FakeMetastore]:
        yield self.metastore

    def add_table(self, columns: Sequence[tuple[str, str]], keys: Sequence[str] = ("ds",)) -> None:
        storage = text_storage()
        storage.set(3, STRING, f"{HIVE}.MapredParquetInputFormat")
        storage.get(7).set(2, STRING, f"{HIVE}.serde.ParquetHiveSerDe")
        table = Table.make(
            ORDERS,
            columns,
            location=f"file://{self.path}/orders",
            partition_keys=[(key, "string") for key in keys],
            owner="ann",
            storage=storage,
        )
        self.metastore.add_table(table)

    def submit(self, feed: str) -> None:
        submit(self.store, feed)
        schedule(self.store, FEED_KEY, START)

    def run(self, days: float) -> list[Instance]:
        """Runs the instances that are due so many days after the start; returns the imports and
        exports."""
        clock = SetClock(START + timedelta(days=days))
        with SchedulerServer(self.store, self.actions, clock, "one", SchedulerOptions()) as service:
            service.until_idle(120)
        found = self.store.instances(FEED_KEY)
        return [
            e
            for e in found
            if e.key.schedule.action in (InstanceAction.IMPORT, InstanceAction.EXPORT)
        ]

    def location(self, day: int) -> str:
        return self.metastore.parts[ORDERS][f"ds=2024-01-{day:02}"].location

    def partition(self, day: int) -> list[tuple[Any, ...]]:
        """The rows in the directory of a day's instance."""
        found = self.session.read.parquet(self.location(day)).collect()
        return sorted(map(tuple, found), key=str)


@pytest.fixture(scope="module")
def session() -> SparkSession:
    return open_session("local[2]")


@pytest.fixture
def shop(session: SparkSession, tmp_path: Path) -> Shop:
    url = f"jdbc:derby:memory:shop{next(_NUMBERS)};create=true"
    (jar,) = (spark_home() / "jars").glob("derby-*.jar")
    return Shop(session, tmp_path, url, "app", "org.apache.derby.jdbc.EmbeddedDriver", str(jar))


@pytest.fixture
def site(tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(tmp_path, shop, monkeypatch)
