"""A view of each cluster over a metastore in memory."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from conf.topology import Endpoint
from tests.metastore.view.server.view_calls import close_clients
from tests.metastore.writable import WritableMetastore, views


@pytest.fixture
def left(tmp_path: Path) -> Path:
    return tmp_path / "leftovers"


@pytest.fixture
def view(hms: WritableMetastore, left: Path) -> Iterator[Mapping[str, Endpoint]]:
    with views(hms, left) as listening:
        yield listening


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_clients()
