"""The commands of docs/guide/pull-s3.md, as they are written there, on a stand-in for S3."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.fs as fs
import pytest

from cli.main import main
from tests.docs.pages import ROOT, code_lines
from tests.pipeline.hudi.conftest import RowTable
from tests.pipeline.hudi.s3_server import BUCKET, SECRET, S3Server, running_s3

PAGE = (ROOT / "docs/guide/pull-s3.md").read_text()
CONF = "/etc/hadoop-lake"


@pytest.fixture
def s3() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


@pytest.fixture
def conf(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's directory of settings, with the stand-in's endpoint."""
    [xml] = re.findall(r"```xml\n(.*?)```", PAGE, re.S)
    xml = re.sub(r"https://s3\S*amazonaws\.com", f"http://127.0.0.1:{s3.port}", xml)
    assert str(s3.port) in xml
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "core-site.xml").write_text(xml)
    # As the page says, keys may be in the environment.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    return folder


def commands() -> list[list[str]]:
    lines = (line.removeprefix("* * * * * ") for line in code_lines(PAGE))
    return [shlex.split(line)[1:] for line in lines if line.startswith("causeway ")]


@pytest.mark.slow
def test_the_commands_of_the_page(
    s3: S3Server, conf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = RowTable(tmp_path / "trips")
    for instant, rows in ((100, {"a": 1, "b": 1}), (200, {"b": 2})):
        table.write(instant, rows)
        s3.put_folder(table.base, "trips")
        for command in commands():
            assert main([each.replace(CONF, str(conf)) for each in command]) == 0, command
    assert len(commands()) == 4
    s3.requests.clear()
    assert main([each.replace(CONF, str(conf)) for each in commands()[-1]]) == 0
    assert '"rows": 0' in capsys.readouterr().out.splitlines()[-1]
    assert f"makes {len(s3.requests)} requests" in PAGE, "\n".join(map(str, s3.requests))
    lake = fs.S3FileSystem(
        access_key="test", secret_key=SECRET, endpoint_override=f"127.0.0.1:{s3.upstream}",
        scheme="http", region="us-east-1",
    )  # fmt: skip
    [path] = re.findall(r'ds\.dataset\("([^"]*)"', PAGE)
    mirror = ds.dataset(path, filesystem=lake, format="parquet").to_table().to_pylist()
    assert {row["key"]: row["value"] for row in mirror} == table.state
    log = ds.dataset(f"{BUCKET}/trips-changes", filesystem=lake, format="parquet").to_table()
    assert sorted(log["key"].to_pylist()) == ["a", "b", "b"]
