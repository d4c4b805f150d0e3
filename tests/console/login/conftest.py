"""An OpenID Connect issuer for the log-in."""

from collections.abc import Iterator

import pytest

from tests.openid_issuer import Issuer, running_issuer


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    monkeypatch.setenv("no_proxy", "*")
    with running_issuer() as issuer:
        yield issuer
