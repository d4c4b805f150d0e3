"""A server's settings are those of its file at the start and at each reload."""

from pathlib import Path

import pytest

from cli.server.settings_history import SettingsHistory, newest, replay
from conf.errors import BadSetting, UnreadableSettings

CONF = """
hive.default.cluster.name = "east"
proxy.drain.timeout = "{drain}"
router.coverage = "{coverage}"
[hive.cluster.properties.east]
FileSystem = "file:///{east}"
JobTracker = "127.0.0.1:2"
"""


def write(path: Path, drain: str, coverage: str = "read", east: str = "a") -> None:
    path.write_text(CONF.format(drain=drain, coverage=coverage, east=east))


def test_a_worker_that_starts_later_has_the_reloaded_settings(tmp_path: Path) -> None:
    conf = tmp_path / "causeway.toml"
    write(conf, "1s")
    history = SettingsHistory(conf, tmp_path / "history")
    assert replay(history.latest).operating.drain_timeout == 1.0
    write(conf, "2s", coverage="table", east="b")  # the last two need a restart
    assert replay(history.latest).operating.drain_timeout == 1.0
    history.record()
    history.record()
    settings = replay(history.latest)
    assert settings.operating.drain_timeout == 2.0
    assert settings.coverage.value == "read"
    assert [each.filesystem for each in settings.topology.clusters.values()] == ["file:///a"]
    assert len(list((tmp_path / "history").glob("0*"))) == 2


def test_invalid_files_are_not_recorded(tmp_path: Path) -> None:
    conf = tmp_path / "causeway.toml"
    write(conf, "1s")
    history = SettingsHistory(conf, tmp_path / "history")
    write(conf, "soon")
    with pytest.raises(BadSetting, match=rf"{conf}: proxy.drain.timeout: not a time"):
        history.record()
    conf.unlink()
    with pytest.raises(UnreadableSettings, match=str(conf)):
        history.record()
    assert replay(history.latest).operating.drain_timeout == 1.0
    with pytest.raises(UnreadableSettings):
        SettingsHistory(conf, tmp_path / "other")


RULES = '[[rules]]\nname = "{}"\neffect = "deny"\nusers = ["*"]\ndatabases = ["hr"]\n'


def names(history: SettingsHistory) -> list[str]:
    return [rule.name for rule in replay(history.latest).access.rules.rules]


def test_access_rules_are_those_of_the_start_and_of_each_reload(tmp_path: Path) -> None:
    conf, rules = tmp_path / "causeway.toml", tmp_path / "access.toml"
    write(conf, "1s")
    conf.write_text(f'access.rules = "{rules}"\n' + conf.read_text())
    rules.write_text(RULES.format("first"))
    history = SettingsHistory(conf, tmp_path / "history")
    rules.write_text(RULES.format("second"))
    assert names(history) == ["first"]
    history.record()
    assert names(history) == ["second"]
    (rule,) = newest(history.latest).access.rules.rules
    assert rule.name == "second"
    for wrong in ("rules = 3", "rules = "):
        rules.write_text(wrong)
        with pytest.raises(BadSetting, match=r"access\.rules"):
            history.record()
        assert names(history) == ["second"]
    rules.unlink()
    assert names(history) == ["second"]
