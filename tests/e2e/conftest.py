"""One embedded stack with three clusters for the whole run, and real clients of it."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urlsplit

import pytest
from pyhive import hive

from cli.main import main
from cli.stack.java import find_java
from cli.stack.plan import StackSpec
from cli.stack.stack import Stack, free_ports, spark_home
from conf.names import ClusterName, TableRef
from conf.placement import read_placement
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from pipeline.spark.jar import guard_jar
from tests.e2e.support.interpreted import INTERPRETED
from tests.e2e.support.refusals import REFUSALS, difference

if TYPE_CHECKING:
    from tests.e2e.support.fronts import Fronts
    from tests.e2e.support.hudi_spark import HudiSpark
    from tests.e2e.support.metastores import MetastoreAlone

C1, C2, C3 = (ClusterName(name) for name in ("c1", "c2", "c3"))
_numbers = count(1)
_PASSED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that share the stack, so that `make test` runs the others beside them."""
    for each in items:
        if "stack" in getattr(each, "fixturenames", ()):
            each.add_marker(pytest.mark.shared)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    yield
    item.stash[_PASSED] = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fails a test in which the guard of any server refused a statement by its claim: the analysis
    has a fault. Refusals with the codes of the test's mark `provokes` are expected."""
    yield
    provoked = {code for mark in item.iter_markers("provokes") for code in mark.args}
    wrong = difference(provoked, REFUSALS.take(), passed=item.stash.get(_PASSED, False))
    if wrong:
        pytest.fail(wrong, pytrace=False)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Metastore, three clusters c1 (the default), c2, c3 with their views, and the proxy."""
    proxy = free_ports(1)[0]
    spec = StackSpec((C1, C2, C3), proxy, guard=guard_jar(), spark=INTERPRETED)
    with Stack(spec, tmp_path_factory.mktemp("stack")) as running:
        yield running


class Connect(Protocol):
    """Opens a PyHive connection to the proxy, or to one cluster's Thrift Server directly."""

    def __call__(self, cluster: ClusterName | None = None, **options: Any) -> hive.Connection: ...


@pytest.fixture
def connect(stack: Stack) -> Iterator[Connect]:
    """Connections that end with the test."""
    opened: list[hive.Connection] = []

    def opening(cluster: ClusterName | None = None, **options: Any) -> hive.Connection:
        endpoint = server(stack, cluster)
        connection = hive.connect(endpoint.host, endpoint.port, **options)
        opened.append(connection)
        return connection

    yield opening
    for connection in opened:
        connection.close()


class Sql(Protocol):
    """Runs statements in a new session and returns the rows of the last one."""

    def __call__(
        self, *statements: str, cluster: ClusterName | None = None
    ) -> list[tuple[Any, ...]]: ...


@pytest.fixture
def sql(stack: Stack) -> Sql:
    def run(*statements: str, cluster: ClusterName | None = None) -> list[tuple[Any, ...]]:
        return run_sql(stack, *statements, cluster=cluster)

    return run


@pytest.fixture
def beeline(stack: Stack) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs statements in one session of Spark's beeline. Returns its output and exit status."""

    def run(
        *statements: str, cluster: ClusterName | None = None, options: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        jars = spark_home() / "jars"
        words = [str(find_java()), "-Xmx256m", "-cp", f"{jars}/*"]
        words += ["org.apache.hive.beeline.BeeLine", "-u", f"jdbc:hive2://{server(stack, cluster)}"]
        words += ["--silent=true", "--showHeader=false", "--outputformat=tsv2", *options]
        for statement in statements:
            words += ["-e", statement]
        return subprocess.run(words, capture_output=True, text=True, timeout=180, check=False)

    return run


@pytest.fixture
def db(sql: Sql) -> str:
    """The name of a new, empty database for the test."""
    name = f"db{next(_numbers)}_{os.getpid()}"
    sql(f"CREATE DATABASE {name}")
    return name


@dataclass(frozen=True, slots=True)
class Tables:
    """Assigns tables and partitions to clusters, and copies their files."""

    stack: Stack

    def assign(self, table: str, *words: str) -> None:
        """`causeway table assign TABLE ...` against the running stack."""
        endpoints = str(self.stack.layout.endpoints)
        status = main(["table", "assign", "--endpoints", endpoints, table, *words])
        assert status == 0, f"table assign {table} {words}"

    def copy(self, table: str, cluster: ClusterName, partition: str | None = None) -> Path:
        """Copies the files as they are now and publishes them as the copy of `cluster`."""
        source = self.location(table, partition)
        target = self.stack.layout.warehouse(cluster) / "copies" / f"{next(_numbers)}"
        shutil.copytree(source, target)
        words = ["--partition", partition] if partition else []
        self.assign(table, *words, "--copy", f"{cluster}={target.as_uri()}")
        return target

    def await_tasks(self, table: str) -> None:
        """Waits until no task writes the table past the proxy. Spark's tasks of a statement that
        failed may go on for some seconds, also in the folder of a table that was made again."""
        end = time.monotonic() + 60
        while self._is_written_directly(table) and time.monotonic() < end:
            time.sleep(0.2)

    def _is_written_directly(self, table: str) -> bool:
        with HmsClient((self.stack.ports.metastore,)) as client:
            parameters = client.get_table(TableRef.parse(table)).parameters
        marks = read_placement(parameters, C1).open
        return any("past the proxy" in (mark.by or "") for mark in marks)

    def facts(self, table: str, partition: str | None = None) -> dict[str, str]:
        """The `causeway.` parameters in the metastore."""
        ref = TableRef.parse(table)
        with HmsClient((self.stack.ports.metastore,)) as client:
            if partition:
                parameters = next(client.get_partitions(ref, [partition])).parameters
            else:
                parameters = client.get_table(ref).parameters
        return {key: value for key, value in parameters.items() if key.startswith("causeway.")}

    def location(self, table: str, partition: str | None = None) -> Path:
        """The folder of the primary's files."""
        ref = TableRef.parse(table)
        with HmsClient((self.stack.ports.metastore,)) as client:
            if partition:
                uri = next(client.get_partitions(ref, [partition])).location
            else:
                uri = client.get_table(ref).location
        return Path(unquote(urlsplit(uri).path))


@pytest.fixture
def tables(stack: Stack) -> Tables:
    return Tables(stack)


def server(stack: Stack, cluster: ClusterName | None) -> Endpoint:
    """The proxy, or that cluster's Thrift Server."""
    if cluster is not None:
        return stack.ports.hs2[cluster]
    assert stack.spec.proxy is not None
    return stack.spec.proxy


def run_sql(
    stack: Stack, *statements: str, cluster: ClusterName | None = None
) -> list[tuple[Any, ...]]:
    """Runs statements in a new session and returns the rows of the last one."""
    endpoint = server(stack, cluster)
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        return rows(connection.cursor(), *statements)


def rows(cursor: Any, *statements: str) -> list[tuple[Any, ...]]:
    """Runs all statements. Returns the rows of the last one, an empty list if it has none."""
    for statement in statements:
        cursor.execute(statement)
    try:
        fetched: list[tuple[Any, ...]] = cursor.fetchall()
    except TypeError:  # PyHive on a Thrift Server's result without columns
        return []
    return fetched


def commands() -> list[str]:
    """The command lines of all processes of this machine."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # ended meanwhile
            found.append(process.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.fixture(scope="session")
def fronts(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Fronts"]:
    """Proxies with every transport, plain and under TLS, and tables for clients to read."""
    from tests.e2e.support.fronts import opened

    with opened(stack, tmp_path_factory.mktemp("fronts")) as there:
        yield there


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator["MetastoreAlone"]:
    """A metastore without Thrift Servers, in which each test makes databases of its own."""
    from tests.e2e.support.metastores import MetastoreAlone

    with MetastoreAlone(tmp_path_factory.mktemp("alone")) as running:
        yield running


@pytest.fixture(scope="session")
def hudi(tmp_path_factory: pytest.TempPathFactory) -> Iterator["HudiSpark"]:
    """A Spark that writes and reads Hudi tables in folders of the tests."""
    from tests.e2e.support.hudi_spark import HudiSpark

    running = HudiSpark.start(tmp_path_factory.mktemp("hudi"))
    yield running
    running.close()
