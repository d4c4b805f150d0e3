"""Metastores in memory, and views in front of one, for each test that names them."""

from collections.abc import Iterator, Mapping

import pytest

from conf.topology import Endpoint
from tests.metastore.fake import FakeMetastore
from tests.metastore.writable import WritableMetastore, views


@pytest.fixture
def metastore() -> Iterator[FakeMetastore]:
    fake = FakeMetastore()
    yield fake
    fake.stop()


@pytest.fixture
def hms() -> Iterator[WritableMetastore]:
    fake = WritableMetastore()
    yield fake
    fake.stop()


@pytest.fixture
def view(hms: WritableMetastore) -> Iterator[Mapping[str, Endpoint]]:
    with views(hms) as listening:
        yield listening
