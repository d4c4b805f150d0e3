from collections.abc import Iterator

import pytest

from tests.metastore.fake import FakeMetastore


@pytest.fixture
def metastore() -> Iterator[FakeMetastore]:
    fake = FakeMetastore()
    yield fake
    fake.stop()
