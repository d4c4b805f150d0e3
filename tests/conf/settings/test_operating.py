"""Settings of operation: HiveServer2's names and units, and settings that need each other."""

from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.kinds import DAY
from conf.secrets import SecretFile
from conf.settings.operating import Operating, ZooKeeper
from conf.topology import Endpoint
from tests.conf.settings.reading import settings_from


def of(**values: str) -> Operating:
    """Underscores stand for dots."""
    named = {key.replace("_", "."): text for key, text in values.items()}
    return settings_from(named, "here").operating


def test_defaults() -> None:
    assert of() == Operating()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3600000", 3600.0), ("500ms", 0.5), ("7d", 7 * DAY), ("5 min", 300.0), ("2h", 7200.0)],
)
def test_hives_times_are_milliseconds_without_a_unit(text: str, seconds: float) -> None:
    assert of(hive_server2_idle_session_timeout=text).idle_session == seconds


def test_negative_times() -> None:
    operating = of(
        hive_server2_idle_session_timeout="-1", hive_server2_idle_operation_timeout="-60s"
    )
    assert operating.idle_session == 0
    assert operating.idle_operation == -60


def test_the_admin_port_needs_a_token() -> None:
    with pytest.raises(BadSetting, match=r"proxy\.admin\.token\.file: missing"):
        of(proxy_admin_port="10099")
    operating = of(proxy_admin_port="10099", proxy_admin_token_file="/etc/token")
    assert operating.admin == Endpoint("127.0.0.1", 10099)
    assert operating.admin_token == SecretFile(Path("/etc/token"))


def test_zookeeper() -> None:
    on = {"hive_server2_support_dynamic_service_discovery": "true"}
    with pytest.raises(BadSetting, match=r"hive\.zookeeper\.quorum: missing"):
        of(**on)
    operating = of(**on, hive_zookeeper_quorum="a, b:2", hive_server2_zookeeper_namespace="/hs2/x")
    assert operating.zookeeper == ZooKeeper("a:2181,b:2", "hs2/x")
    assert of(hive_zookeeper_quorum="a").zookeeper is None


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("hive_server2_limit_connections_per_user", "-1", "not a number"),
        ("proxy_audit_size", "1x", "not a size"),
        ("hive_server2_idle_session_timeout", "soon", "not a time"),
        ("hive_server2_session_check_interval", "5 parsecs", "not a time"),
    ],
)
def test_wrong_values_are_refused(name: str, text: str, reason: str) -> None:
    with pytest.raises(BadSetting, match=reason):
        of(**{name: text})


def test_sizes() -> None:
    assert [of(proxy_audit_size=text).audit_size for text in ("7", "2K", "3m")] == [
        7,
        2048,
        3 << 20,
    ]
