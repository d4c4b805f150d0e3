"""One realm for the tests that log in to a view."""

from collections.abc import Iterator

import pytest

from tests.metastore.view.server.clients.secured_callers import realm_in
from tests.proxy.kdc import Kdc


@pytest.fixture(scope="package")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    pytest.importorskip("gssapi", reason="the extra [kerberos] is not installed")
    with realm_in(tmp_path_factory.mktemp("kdc")) as running:
        yield running
