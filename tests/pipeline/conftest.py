"""An S3 for each file of tests that names it."""

from collections.abc import Iterator

import pytest

from tests.pipeline.hudi.s3_server import S3Server, running_s3


@pytest.fixture(scope="module")
def s3_server() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server) -> Iterator[S3Server]:
    yield s3_server
    s3_server.reset()
