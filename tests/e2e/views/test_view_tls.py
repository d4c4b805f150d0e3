"""Hive's metastore, a view with TLS before it, and Spark with the guard, all as processes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from cli.stack.stack import free_ports
from conf.names import TableRef
from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from tests.e2e.support import own_executor, secured_metastore
from tests.proxy.certificates import Made, made

pytestmark = pytest.mark.e2e
PASSWORD = "tru5t"


@contextmanager
def view(folder: Path, metastore: Endpoint, keystore: Path) -> Iterator[Endpoint]:
    folder.mkdir()
    (listening,) = (Endpoint("127.0.0.1", each.port) for each in free_ports(1))
    (folder / "causeway.toml").write_text(f"""\
[hive]
metastore.uris = "thrift://{metastore}"
default.cluster.name = "west"

[hive.cluster.properties]
west = {{FileSystem = "file:{folder}/west", JobTracker = "h:1", MetastoreView = "{listening}"}}

[view]
use.SSL = true
keystore.path = "{keystore}"
""")
    words = [sys.executable, "-m", "cli.main", "metastore", "serve"]
    words += ["--conf", str(folder / "causeway.toml")]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("view "), (folder / "log").read_text()
            yield listening
        finally:
            process.terminate()


def spark(
    folder: Path, metastore: Endpoint, truststore: Path | None
) -> "subprocess.CompletedProcess[str]":
    site = {}
    if truststore is not None:
        site["hive.metastore.use.SSL"] = "true"
        site["hive.metastore.truststore.path"] = str(truststore)
        site["hive.metastore.truststore.password"] = PASSWORD
    return own_executor.spark(folder, metastore, site)


def trusting(certificate: Made, path: Path) -> MetastoreLogin:
    path.write_bytes(certificate.certificate.public_bytes(Encoding.PEM))
    return MetastoreLogin(tls=True, truststore=path)


def test_spark_creates_writes_and_reads_through_a_view_over_tls(tmp_path: Path) -> None:
    """The driver and an executor report what they write; without that nothing would be written."""
    certificate = made()
    (tmp_path / "hms").mkdir()
    with (
        secured_metastore.metastore(tmp_path / "hms", None) as metastore,
        view(tmp_path / "view", metastore, certificate.pem(tmp_path / "keystore.pem")) as listening,
    ):
        plain = spark(tmp_path / "plain", listening, None)
        assert plain.returncode != 0
        assert "This metastore view speaks TLS only" in plain.stderr
        assert "no TLS handshake" in (tmp_path / "view" / "log").read_text()
        store = certificate.truststore(tmp_path / "trust", PASSWORD)
        done = spark(tmp_path / "west", listening, store)
        assert done.returncode == 0, done.stderr[-5000:]
        assert "sum 42" in done.stdout
        assert list((tmp_path / "view" / "west" / "west-texts").glob("part-*"))
        login = trusting(certificate, tmp_path / "ca.pem")
        with HmsClient((listening,), 30.0, login=login) as client:
            assert client.get_table(TableRef("default", "t")).location
