"""Certificates for 127.0.0.1, made as they are needed."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Made:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def pem(self, path: Path, password: str = "") -> Path:
        secret: KeySerializationEncryption = NoEncryption()
        if password:
            secret = BestAvailableEncryption(password.encode())
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret)
        path.touch(mode=0o600)
        path.write_bytes(self.certificate.public_bytes(Encoding.PEM) + key)
        return path

    def p12(self, path: Path, password: str) -> Path:
        secret = BestAvailableEncryption(password.encode())
        made = pkcs12.serialize_key_and_certificates(b"c", self.key, self.certificate, None, secret)
        path.touch(mode=0o600)
        path.write_bytes(made)
        return path

    def truststore(self, path: Path, password: str) -> Path:
        """A truststore for Java, in PKCS12."""
        entry = pkcs12.PKCS12Certificate(self.certificate, b"ca")
        secret = BestAvailableEncryption(password.encode())
        path.write_bytes(pkcs12.serialize_java_truststore([entry], secret))
        return path

    def trusting(self, newest: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED) -> ssl.SSLContext:
        """A client's context that trusts only this certificate."""
        context = ssl.create_default_context(
            cadata=self.certificate.public_bytes(Encoding.PEM).decode()
        )
        context.maximum_version = newest
        return context


def made() -> Made:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    alternatives = [
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.DNSName("localhost"),
    ]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Made(key, certificate)
