"""The package's name, which is that of another on PyPI."""

from pyhive.hive import get_installed_sasl
from pyhive.sasl_compat import PureSASLClient


def test_pyhive_takes_pure_sasl() -> None:
    client = get_installed_sasl("host", "PLAIN", username="a", password="b")
    assert isinstance(client, PureSASLClient)
