"""TLS to a metastore, and the files of a log-in."""

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from conf.errors import BadSetting
from conf.settings.security.metastore_login import MetastoreLogin
from metastore.client.login import check
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown
from saslauth.tokens.delegation_token import DelegationToken, text_of_token
from tests.metastore.fake import FakeMetastore
from tests.proxy.certificates import Made, made
from tests.secret_files import private, readable

SECRET = "tru5t"


@pytest.fixture
def certificate() -> Made:
    return made()


@pytest.fixture
def behind_tls(metastore: FakeMetastore, certificate: Made, tmp_path: Path) -> FakeMetastore:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.pem(tmp_path / "server.pem"))
    metastore.use_tls(context)
    return metastore


def pem(certificate: Made, path: Path) -> Path:
    path.write_bytes(certificate.certificate.public_bytes(Encoding.PEM))
    return path


def truststore(certificate: Made, path: Path) -> Path:
    return certificate.truststore(path, SECRET)


@pytest.mark.parametrize("store", [pem, truststore])
def test_calls_go_over_tls(
    behind_tls: FakeMetastore, certificate: Made, tmp_path: Path, store: object
) -> None:
    path = store(certificate, tmp_path / "trust")  # type: ignore[operator]
    login = MetastoreLogin(tls=True, truststore=path, truststore_password=SECRET)
    check(login)
    with HmsClient((behind_tls.endpoint,), 10.0, login=login) as client:
        for _ in range(3):
            assert client.get_all_databases() == ["default"]


def test_an_unknown_certificate_ends_the_connection(
    behind_tls: FakeMetastore, tmp_path: Path
) -> None:
    login = MetastoreLogin(tls=True, truststore=pem(made(), tmp_path / "other"))
    refused = pytest.raises(MetastoreDown, match="certificate")
    with HmsClient((behind_tls.endpoint,), 10.0, login=login) as client, refused:
        client.get_all_databases()
    assert not behind_tls.calls


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"\xfe\xed\xfe\xed", "keytool -importkeystore"), (b"x", "neither PEM nor PKCS12")],
)
def test_a_truststore_that_cannot_be_read(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "trust").write_bytes(data)
    with pytest.raises(BadSetting, match=why):
        check(MetastoreLogin(tls=True, truststore=tmp_path / "trust"))


def test_a_file_without_a_token(tmp_path: Path) -> None:
    private(tmp_path / "token", text_of_token(DelegationToken(b"i", b"s3cret")))
    check(MetastoreLogin(True, token=readable(tmp_path / "token")))
    private(tmp_path / "token", "s3cret")
    with pytest.raises(BadSetting, match="not a delegation token") as wrong:
        check(MetastoreLogin(True, token=readable(tmp_path / "token")))
    assert "s3cret" not in str(wrong.value)


def test_a_server_that_is_no_sasl_server_is_left_at_once(
    metastore: FakeMetastore, tmp_path: Path
) -> None:
    """And a token is never sent to one that does not challenge."""
    private(tmp_path / "token", text_of_token(DelegationToken(b"i", b"s3cret")))
    login = MetastoreLogin(True, token=readable(tmp_path / "token"))
    with (
        HmsClient((metastore.endpoint,), 2.0, login=login) as client,
        pytest.raises(MetastoreDown),
    ):
        client.get_all_databases()
    assert not metastore.calls
