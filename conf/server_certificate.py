"""Loads a server's certificate from PEM or PKCS12, and loads it again when its file changes."""

import logging
import secrets
import ssl
from pathlib import Path
from tempfile import NamedTemporaryFile

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates

from conf.errors import BadCertificate
from conf.secrets import SecretFile
from conf.settings.security.transports import Tls, TlsVersion

_log = logging.getLogger(__name__)
_OLDEST = {TlsVersion.V1_2: ssl.TLSVersion.TLSv1_2, TlsVersion.V1_3: ssl.TLSVersion.TLSv1_3}
_JAVA_KEYSTORES = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}


class Certificate:
    """A server's certificate. `context` is for new connections; others keep their certificate."""

    def __init__(self, tls: Tls) -> None:
        """Raises BadCertificate."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = _OLDEST[tls.oldest]
        self.context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
        self._tls = tls
        self._version = _file_version(tls.keystore)
        _load(self.context, tls)

    def refresh(self) -> None:
        """Loads the file again if it has changed. If that fails, the old certificate stays."""
        try:
            version = _file_version(self._tls.keystore)
            if version == self._version:
                return
            self._version = version
            # Try another context first: one that is loaded in part would be unusable.
            _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self._tls)
            _load(self.context, self._tls)
        except BadCertificate as error:
            _log.error("the certificate stays as it was: %s", error)
        else:
            _log.warning("%s: a new certificate is served", self._tls.keystore)


def served_certificate(tls: Tls) -> x509.Certificate:
    """The certificate that clients get, without its chain. Raises BadCertificate, also for the key
    of another certificate."""
    _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), tls)
    data = tls.keystore.read_bytes()
    if b"-----BEGIN" in data:
        return x509.load_pem_x509_certificates(data)[0]
    _, certificate, _ = load_key_and_certificates(data, _password(tls).encode())
    assert certificate is not None, "it was loaded above"
    return certificate


def _file_version(file: SecretFile) -> tuple[int, int]:
    try:
        status = file.check()
    except OSError as error:
        raise BadCertificate(f"{file}: {error.strerror}.") from error
    return status.st_mtime_ns, status.st_ino


def _load(context: ssl.SSLContext, tls: Tls) -> None:
    path = tls.keystore.path
    try:
        data, password = tls.keystore.read_bytes(), _password(tls)
        if data[:4] in _JAVA_KEYSTORES:
            raise BadCertificate(
                f"{path}: a {_JAVA_KEYSTORES[data[:4]]} keystore. `keytool -importkeystore"
                f" -srckeystore {path} -destkeystore {path.with_suffix('.p12')} -deststoretype"
                " PKCS12` makes one of it that can be read."
            )
        if b"-----BEGIN" in data:
            # A callable, because OpenSSL asks the terminal for a missing password.
            context.load_cert_chain(path, password=lambda: password)
        else:
            _load_pkcs12(context, data, path, password)
    except OSError as error:  # SSLError is one
        raise BadCertificate(f"{path}: {error.strerror or error}.") from error
    except ValueError as error:
        raise BadCertificate(f"{path}: neither PEM nor PKCS12 under this password.") from error


def _password(tls: Tls) -> str:
    if tls.password_file is None:
        return tls.password
    try:
        return tls.password_file.read_text().rstrip("\r\n")
    except UnicodeDecodeError:
        raise BadCertificate(f"{tls.password_file}: not a text in UTF-8.") from None
    except OSError as error:
        raise BadCertificate(f"{tls.password_file}: {error.strerror}.") from error


def _load_pkcs12(context: ssl.SSLContext, data: bytes, path: Path, secret: str) -> None:
    """Loads a PKCS12 keystore by way of a temporary PEM file, because `ssl` reads only files. The
    key in that file is encrypted."""
    key, certificate, chain = load_key_and_certificates(data, secret.encode())
    if key is None or certificate is None:
        raise BadCertificate(f"{path}: without a certificate and its key.")
    password = secrets.token_urlsafe().encode()
    with NamedTemporaryFile() as file:
        file.write(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
        )
        for each in (certificate, *chain):
            file.write(each.public_bytes(Encoding.PEM))
        file.flush()
        context.load_cert_chain(file.name, password=password)
