"""`--hadoop-conf` of `causeway incremental`: `viewfs` finds everything in its settings."""

import subprocess
import sys
from pathlib import Path

import pytest

from cli.main import main
from pipeline.hudi import spark_target
from pipeline.hudi.pull import PullResult
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_table
from tests.pipeline.hudi.conftest import FakeTable

_ROOT = Path(__file__).parents[3]


def conf_dir(folder: Path, authority: str, **more: str) -> Path:
    """Settings under which viewfs://AUTHORITY/data is `folder`/AUTHORITY."""
    (folder / authority).mkdir(exist_ok=True)
    conf = folder / f"conf-{authority}"
    conf.mkdir()
    settings = {f"fs.viewfs.mounttable.{authority}.link./data": f"file://{folder / authority}"}
    properties = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in (settings | more).items()
    )
    (conf / "core-site.xml").write_text(f"<configuration>{properties}</configuration>")
    return conf


@pytest.mark.slow
def test_each_end_of_a_replication_has_settings_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "east").mkdir()
    table = FakeTable(tmp_path / "east" / "trips", 9)
    table.commit("100", [("p", "f")])
    east, west = conf_dir(tmp_path, "east"), conf_dir(tmp_path, "west")
    ends = ["viewfs://east/data/trips", "viewfs://west/data/trips"]
    words = ["incremental", "replicate", *ends, "--hadoop-conf", f"east={east},*={west}"]
    # A Spark session of this process would end.
    command = [sys.executable, "-m", "cli.main", *words]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    assert "1 commits" in done.stdout, done.stderr[-4000:]
    replica = open_table(str(tmp_path / "west" / "trips"), LocalStorage())
    assert [each.requested for each in replica.timeline.commits] == ["100"]


class FakeSession:
    """Records the settings with which a session was asked for."""

    def __init__(self) -> None:
        self.conf: dict[str, str] = {}

    def __call__(self, conf: dict[str, str], metastore: bool = False) -> "FakeSession":
        self.conf = conf
        return self

    def __enter__(self) -> "FakeSession":
        return self

    def __exit__(self, *error: object) -> None:
        pass


def test_a_pull_into_a_hudi_table_has_the_settings_of_both_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, result = FakeSession(), PullResult("0", "1", 0, 0, None)
    monkeypatch.setattr(spark_target, "session", made)
    monkeypatch.setattr(spark_target, "pull_into", lambda *arguments: result)
    east, west = conf_dir(tmp_path, "east"), conf_dir(tmp_path, "west")
    ends = ["viewfs://east/data/trips", "viewfs://west/data/trips"]
    words = ["incremental", "pull", *ends, "--conf", "spark.x=y", "--hadoop-conf"]
    assert main([*words, f"east={east},west={west}"]) == 0
    link = "spark.hadoop.fs.viewfs.mounttable.{}.link./data"
    assert made.conf == {
        "spark.x": "y",
        link.format("east"): f"file://{tmp_path}/east",
        link.format("west"): f"file://{tmp_path}/west",
    }


def test_ends_of_a_pull_with_different_values_of_one_setting_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = ["viewfs://east/data/trips", "viewfs://west/data/trips"]
    confs = [f"{name}={conf_dir(tmp_path, name, **{'io.x': name})}" for name in ("east", "west")]
    words = ["incremental", "pull", *ends, "--hadoop-conf", ",".join(confs)]
    assert main(words) == 1
    error = capsys.readouterr().err
    assert "CW609" in error
    assert "io.x differs" in error
