"""`causeway up`: its arguments and output."""

from pathlib import Path

import pytest

from cli.main import main
from cli.server.up import cluster_names
from cli.stack.errors import BadClusters
from cli.stack.sample import worth_trying


def test_cluster_names_in_order() -> None:
    assert cluster_names("east, west") == ("east", "west")


@pytest.mark.parametrize("text", ["", "east,", "east,east", "a b", "metastore", "east,proxy", "1a"])
def test_invalid_cluster_names_are_refused(text: str) -> None:
    with pytest.raises(BadClusters):
        cluster_names(text)


def test_an_invalid_name_is_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["up", "--clusters", "a b", "--dir", str(tmp_path / "d")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("causeway: [CW516]")
    assert error.count("\n") == 1
    assert not (tmp_path / "d").exists()


def test_the_welcome_names_three_statements() -> None:
    assert len(worth_trying(*cluster_names("east,west"))) == 3
