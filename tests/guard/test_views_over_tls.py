"""The guard reports writes to a view over TLS, by the settings of Hive's client."""

import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic

import pytest

from conf.settings.security.view_tls import ViewTls
from conf.topology import Endpoint
from tests.guard.programs import program
from tests.guard.test_committers import add_copied, wait_for_end
from tests.metastore.view.spark_writes.copied_tables import fresh, now
from tests.metastore.writable import C1, WritableMetastore, views
from tests.proxy.certificates import Made, made
from tests.secret_files import readable

pytestmark = pytest.mark.slow
PASSWORD = "tru5t"


@pytest.fixture(scope="module")
def ours() -> Made:
    return made()


@pytest.fixture
def view(hms: WritableMetastore, ours: Made, tmp_path: Path) -> Iterator[Mapping[str, Endpoint]]:
    tls = ViewTls(True, readable(ours.pem(tmp_path / "keystore.pem")))
    with views(hms, tls=tls) as listening:
        yield listening


def trusting(certificate: Made, path: Path) -> list[str]:
    return [
        "spark.hadoop.hive.metastore.use.SSL=true",
        f"spark.hadoop.hive.metastore.truststore.path={certificate.truststore(path, PASSWORD)}",
        f"spark.hadoop.hive.metastore.truststore.password={PASSWORD}",
    ]


def test_a_write_is_reported(
    hms: WritableMetastore,
    view: Mapping[str, Endpoint],
    ours: Made,
    jar: Path,
    tmp_path: Path,
) -> None:
    settings = trusting(ours, tmp_path / "trust")
    with program(tmp_path, jar, view[C1].port, settings=settings) as run:
        add_copied(hms, f"file:{tmp_path}/t")
        assert run("create", f"{tmp_path}/t/a") == ""
        assert now(hms).writing
        assert not fresh(hms)
        assert wait_for_end(hms)


def test_a_write_without_tls_is_refused(
    hms: WritableMetastore, view: Mapping[str, Endpoint], jar: Path, tmp_path: Path
) -> None:
    add_copied(hms, f"file:{tmp_path}/t")
    with program(tmp_path, jar, view[C1].port) as run:
        assert "This metastore view speaks TLS only" in run("create", f"{tmp_path}/t/a")
    assert not (tmp_path / "t" / "a").exists()
    assert fresh(hms)


def test_a_changed_truststore_is_read_again(
    hms: WritableMetastore, view: Mapping[str, Endpoint], ours: Made, jar: Path, tmp_path: Path
) -> None:
    add_copied(hms, f"file:{tmp_path}/t")
    settings = trusting(made(), tmp_path / "trust")
    with program(tmp_path, jar, view[C1].port, settings=settings) as run:
        assert "PKIX path" in run("create", f"{tmp_path}/t/a")
        assert not (tmp_path / "t" / "a").exists()
        assert fresh(hms)
        ours.truststore(tmp_path / "trust", PASSWORD)
        assert run("create", f"{tmp_path}/t/a") == ""
        assert not fresh(hms)


def test_a_failed_handshake_refuses_the_write(
    hms: WritableMetastore, ours: Made, jar: Path, tmp_path: Path
) -> None:
    settings = trusting(ours, tmp_path / "trust")
    with views(hms) as plain, socket.create_server(("127.0.0.1", 0)) as silent:
        for name, port in ("plain", plain[C1].port), ("silent", silent.getsockname()[1]):
            (tmp_path / name).mkdir()
            with program(tmp_path / name, jar, port, settings=settings) as run:
                started = monotonic()
                assert "the TLS handshake with 127.0.0.1" in run("create", f"{tmp_path}/t/a")
                assert monotonic() - started < 90
    assert not (tmp_path / "t" / "a").exists()
