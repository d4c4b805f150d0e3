"""The log-in of connections to the metastore or a view, as the settings say."""

import ssl
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from conf.errors import BadSetting
from conf.settings.security.metastore_login import MetastoreLogin
from saslauth.errors import SaslFailed
from saslauth.gssapi_client import GssapiClient
from saslauth.keytab_login import check_keytab, keytab_login
from saslauth.negotiation import Mechanism
from saslauth.tokens.delegation_token import DelegationToken, token_of_file
from saslauth.tokens.digest_md5_client import DigestMd5Client

LARGEST_FRAME = 1 << 30  # bytes: a metastore sends each reply as one frame
_JAVA_KEYSTORE = b"\xfe\xed\xfe\xed"


def check(login: MetastoreLogin) -> None:
    """Reads the files that a log-in needs. Raises BadSetting."""
    try:
        tls_context(login)
    except OSError as error:
        raise BadSetting(f"{login.truststore}: {error}.") from error
    if login.keytab is not None:
        check_keytab(login.user, login.keytab)
    if login.token is not None:
        try:
            _token(login)
        except SaslFailed as error:
            raise BadSetting(f"{error}.") from None


def tls_context(login: MetastoreLogin) -> ssl.SSLContext | None:
    """The TLS context of a connection; None if it is not encrypted. Raises OSError."""
    if not login.tls:
        return None
    path = login.truststore
    version = path.stat().st_mtime_ns if path is not None else 0
    return _context(path, login.truststore_password, version)


def mechanism(login: MetastoreLogin, host: str) -> Mechanism | None:
    """The SASL mechanism for a connection to `host`; None without SASL. Raises SaslFailed."""
    if not login.sasl:
        return None
    if login.token is not None:
        return DigestMd5Client(_token(login))
    if login.keytab is None or not login.server:
        raise SaslFailed("no keytab and no token")
    return GssapiClient(keytab_login(login.user, login.keytab), login.server, host)


def own_name(login: MetastoreLogin) -> str:
    """Causeway's user name at the metastore: the first component of its principal."""
    return login.user.partition("@")[0].partition("/")[0]


def _token(login: MetastoreLogin) -> DelegationToken:
    assert login.token is not None
    try:
        return token_of_file(login.token.read_bytes())
    except OSError as error:
        raise SaslFailed(f"{login.token}: {error.strerror}") from None
    except SaslFailed as error:
        raise SaslFailed(f"{login.token}: {error}") from None


@lru_cache(maxsize=4)
def _context(path: Path | None, password: str, version: int) -> ssl.SSLContext:
    """A context for one `version` of the truststore. Raises OSError."""
    if path is None:
        return ssl.create_default_context()
    data = path.read_bytes()
    if data.startswith(_JAVA_KEYSTORE):
        raise OSError(
            f"a JKS truststore. `keytool -importkeystore -srckeystore {path} -destkeystore"
            f" {path.with_suffix('.p12')} -deststoretype PKCS12` makes one of it that can be read"
        )
    try:
        pem = data.decode() if b"-----BEGIN" in data else _authorities(data, password)
        return ssl.create_default_context(cadata=pem)
    except ValueError as error:
        raise OSError("neither PEM nor PKCS12 under its password") from error


def _authorities(data: bytes, password: str) -> str:
    store = load_pkcs12(data, password.encode() or None)
    certificates = [each.certificate for each in store.additional_certs]
    if store.cert is not None:
        certificates.append(store.cert.certificate)
    if not certificates:
        raise ValueError("no certificates")
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)
