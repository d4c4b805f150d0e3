"""What a server goes by is what its file held at the start and at each reload, and nothing else."""

from pathlib import Path

import pytest

from cli.held import Held, taken
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


def test_who_begins_later_is_as_those_who_reloaded(tmp_path: Path) -> None:
    conf = tmp_path / "causeway.toml"
    write(conf, "1s")
    held = Held(conf, tmp_path / "held")
    assert taken(held.latest).operating.drain_timeout == 1.0
    write(conf, "2s", coverage="table", east="b")  # the last two need a restart
    assert taken(held.latest).operating.drain_timeout == 1.0
    held.take()
    held.take()
    told = taken(held.latest)
    assert told.operating.drain_timeout == 2.0
    assert told.coverage.value == "read"
    assert [each.filesystem for each in told.topology.clusters.values()] == ["file:///a"]
    assert len(list((tmp_path / "held").glob("0*"))) == 2


def test_what_cannot_be_used_is_not_taken_over(tmp_path: Path) -> None:
    conf = tmp_path / "causeway.toml"
    write(conf, "1s")
    held = Held(conf, tmp_path / "held")
    write(conf, "soon")
    with pytest.raises(BadSetting, match=rf"{conf}: proxy.drain.timeout: not a time"):
        held.take()
    conf.unlink()
    with pytest.raises(UnreadableSettings, match=str(conf)):
        held.take()
    assert taken(held.latest).operating.drain_timeout == 1.0
    with pytest.raises(UnreadableSettings):
        Held(conf, tmp_path / "other")
