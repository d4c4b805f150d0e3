"""`causeway metastore serve` with settings that it refuses."""

from pathlib import Path

import pytest

from cli.main import main


@pytest.mark.parametrize("name", ["hive.metastore.use.SSL"])
def test_views_refuse_a_metastore_that_they_cannot_log_in_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "causeway.toml").write_text(
        f'"{name}" = true\n"hive.metastore.uris" = "thrift://127.0.0.1:1"\n'
    )
    assert main(["metastore", "serve", "--conf", str(tmp_path / "causeway.toml")]) != 0
    assert "the views cannot log in" in capsys.readouterr().err
