"""A proxy of its own for each test that names it."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.stack.stack import Stack
from tests.e2e.operations.proxy_site import Site


@pytest.fixture
def site(stack: Stack, tmp_path: Path) -> Iterator[Site]:
    with ExitStack() as exits:
        yield Site(stack, tmp_path, exits)
