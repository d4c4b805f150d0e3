"""`causeway metastore serve` with settings that it refuses."""

from pathlib import Path

import pytest

from cli.main import main
from tests.secret_files import private


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            'sasl.enabled = true\n[metastore]\nlogin.token.file = "{folder}/token"\n',
            "the views cannot log in",
        ),
        ('use.SSL = true\ntruststore.path = "{folder}/token"\n', "neither PEM nor PKCS12"),
    ],
)
def test_views_refuse_a_metastore_that_they_cannot_log_in_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str, why: str
) -> None:
    private(tmp_path / "token", "x")
    conf = tmp_path / "causeway.toml"
    conf.write_text(
        f'[hive.metastore]\nuris = "thrift://127.0.0.1:1"\n{more.format(folder=tmp_path)}'
    )
    assert main(["metastore", "serve", "--conf", str(conf)]) != 0
    assert why in capsys.readouterr().err
