"""The setting of the access rules is read with the settings, and read again with them."""

from pathlib import Path

import pytest

from conf.errors import BadSettings
from conf.settings.reload import reloaded
from conf.settings.security.access import RULES
from tests.conf.settings.reading import settings_from

CLUSTERS = {
    "hive.cluster.properties": '{"C1": {"FileSystem": "file:///a", "JobTracker": "h:1"}}',
    "hive.default.cluster.name": "C1",
}
RULE = '[[rules]]\nname = "{}"\neffect = "deny"\nusers = ["*"]\ndatabases = ["hr"]\n'


@pytest.fixture
def values(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "access.toml"
    path.write_text(RULE.format("first"))
    return {**CLUSTERS, RULES.name: str(path)}


def test_a_reload_reads_the_file_again(values: dict[str, str]) -> None:
    old = settings_from(values, "x")
    assert reloaded(old, settings_from(values, "x")).changed == ()
    Path(values[RULES.name]).write_text(RULE.format("second"))
    result = reloaded(old, settings_from(values, "x"))
    assert result.changed == (RULES.name,)
    assert [rule.name for rule in result.settings.access.rules.rules] == ["second"]


def test_a_broken_file_is_a_problem_of_the_settings(values: dict[str, str]) -> None:
    Path(values[RULES.name]).write_text("rules = 3")
    with pytest.raises(BadSettings, match=r"access\.rules.*rules: not a list"):
        settings_from(values, "x")


def test_rules_need_clusters(values: dict[str, str]) -> None:
    with pytest.raises(BadSettings, match="without clusters no statement is analysed"):
        settings_from({RULES.name: values[RULES.name]}, "x")
