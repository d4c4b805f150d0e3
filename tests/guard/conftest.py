from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from conf.topology import Endpoint
from pipeline.errors import JarMissing
from pipeline.spark.jar import guard_jar
from tests.metastore.writable import WritableMetastore, views


@pytest.fixture
def jar() -> Path:
    """The jar for Spark 3.5. Where no jar was built, tests that use it are skipped."""
    try:
        return guard_jar()
    except JarMissing as error:
        pytest.skip(str(error))


@pytest.fixture(autouse=True, scope="module")
def _verified(verified_java: None) -> None:
    """Has each JVM verify classes: the guard changes their bytes."""


@pytest.fixture
def hms() -> Iterator[WritableMetastore]:
    fake = WritableMetastore()
    yield fake
    fake.stop()


@pytest.fixture
def view(hms: WritableMetastore) -> Iterator[Mapping[str, Endpoint]]:
    with views(hms) as listening:
        yield listening
