"""`causeway metastore serve`: where it listens, and settings that it refuses."""

import json
from pathlib import Path

import pytest

from cli.main import main
from cli.metastore.serve import endpoints
from conf.errors import BadSetting
from conf.settings.settings import Settings
from conf.topology import Endpoint
from tests.conf.settings.reading import settings_from
from tests.secret_files import private


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            'sasl.enabled = true\n[metastore]\nlogin.token.file = "{folder}/token"\n',
            "must authenticate: view.authentication = KERBEROS",
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


CLUSTERS = {
    name: {
        "FileSystem": f"hdfs://{name}",
        "JobTracker": f"{name}:1",
        "MetastoreView": f"v-{name}:9",
    }
    for name in ("east", "west")
}


def settings() -> Settings:
    values = {
        "hive.cluster.properties": json.dumps(CLUSTERS),
        "hive.default.cluster.name": "east",
        "hive.metastore.uris": "thrift://ms:9083",
    }
    return settings_from(values, "here")


def test_views_with_tls_need_a_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "causeway.toml"
    conf.write_text('[hive.metastore]\nuris = "thrift://127.0.0.1:1"\n[view]\nuse.SSL = true\n')
    assert main(["metastore", "serve", "--conf", str(conf)]) != 0
    assert "view.use.SSL: TLS needs view.keystore.path" in capsys.readouterr().err


def test_views_listen_at_the_addresses_of_the_settings() -> None:
    assert endpoints(settings()) == {"east": Endpoint("v-east", 9), "west": Endpoint("v-west", 9)}
    ports = endpoints(settings(), "east=8,default=7")
    assert (ports["east"], ports["default"].port) == (Endpoint("v-east", 8), 7)


def test_one_clusters_view_listens_at_every_address_of_a_container() -> None:
    assert endpoints(settings(), only=["west"], host="0.0.0.0") == {"west": Endpoint("0.0.0.0", 9)}


def test_a_view_of_no_cluster_is_refused() -> None:
    with pytest.raises(BadSetting, match=r"--cluster north: .* has east, west"):
        endpoints(settings(), only=["north"])


def test_each_process_has_its_own_addresses() -> None:
    named = {
        name: {"FileSystem": f"hdfs://{name}", "JobTracker": "h:1", "MetastoreView": views}
        for name, views in (("a", "one:1,two:1"), ("b", "one:2,two:2"))
    }
    several = settings_from(
        {"hive.cluster.properties": json.dumps(named), "hive.default.cluster.name": "a"}, "test"
    )
    assert endpoints(several) == {"a": Endpoint("one", 1), "b": Endpoint("one", 2)}
    assert endpoints(several, "b=7", instance=2) == {
        "a": Endpoint("two", 1),
        "b": Endpoint("two", 7),
    }
    with pytest.raises(ValueError, match="--instance: 3"):
        endpoints(several, instance=3)
