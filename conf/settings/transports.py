"""How clients come in: transports, the HTTP path, cookies and TLS, under HiveServer2's names."""

import re
from dataclasses import dataclass, field
from enum import Enum

from conf import secrets
from conf.secrets import SecretFile
from conf.settings.parse import Reader, choice, flag, port, seconds

MODE = "hive.server2.transport.mode"
HTTP_PORT = "hive.server2.thrift.http.port"
HTTP_PATH = "hive.server2.thrift.http.path"
HTTP_IDLE = "hive.server2.thrift.http.max.idle.time"
COOKIES = "hive.server2.thrift.http.cookie.auth.enabled"
COOKIE_AGE = "hive.server2.thrift.http.cookie.max.age"
XSRF = "hive.server2.xsrf.filter.enabled"
ALLOWED_HOSTS = "proxy.http.allowed.hosts"
USE_TLS = "hive.server2.use.SSL"
KEYSTORE = "hive.server2.keystore.path"
KEYSTORE_PASSWORD = "hive.server2.keystore.password"
KEYSTORE_PASSWORD_FILE = "proxy.keystore.password.file"
OLDEST_TLS = "proxy.tls.oldest"

NAMES: tuple[str, ...] = (
    MODE,
    HTTP_PORT,
    HTTP_PATH,
    HTTP_IDLE,
    COOKIES,
    COOKIE_AGE,
    XSRF,
    ALLOWED_HOSTS,
    USE_TLS,
    KEYSTORE,
    KEYSTORE_PASSWORD,
    KEYSTORE_PASSWORD_FILE,
    OLDEST_TLS,
)

_HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")


class Transport(Enum):
    """`hive.server2.transport.mode`: which doors are open."""

    BINARY = "binary"
    HTTP = "http"
    ALL = "all"


class TlsVersion(Enum):
    """`proxy.tls.oldest`: the oldest version that a client may speak."""

    V1_2 = "TLSv1.2"
    V1_3 = "TLSv1.3"


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificate with its key, in one file: PEM, or PKCS12, under `password` or what the file
    of it says when it is needed."""

    keystore: SecretFile
    password: str = field(default="", repr=False)
    oldest: TlsVersion = TlsVersion.V1_2
    password_file: SecretFile | None = None


@dataclass(frozen=True, slots=True)
class Doors:
    """`path` is the one that HTTP clients post to, without slashes around it. Times in seconds.

    `tls` covers both transports, as in HiveServer2; None is plain text. `xsrf` and `allowed_hosts`
    hold for HTTP and the administration's port; without hosts the listener's own address decides.
    """

    transport: Transport = Transport.BINARY
    http_port: int = 10001
    path: str = "cliservice"
    http_idle: float = 1800.0
    cookies: bool = True
    cookie_age: float = 86_400.0
    tls: Tls | None = None
    xsrf: bool = False
    allowed_hosts: frozenset[str] = frozenset()

    @property
    def binary(self) -> bool:
        return self.transport is not Transport.HTTP

    @property
    def http(self) -> bool:
        return self.transport is not Transport.BINARY


def read(reader: Reader) -> Doors:
    """Raises BadSetting."""
    return Doors(
        transport=reader.read(MODE, choice(Transport), Transport.BINARY),
        http_port=reader.read(HTTP_PORT, port, 10001),
        path=reader.read(HTTP_PATH, _path, "cliservice"),
        http_idle=reader.read(HTTP_IDLE, seconds, 1800.0),
        cookies=reader.read(COOKIES, flag, True),
        cookie_age=reader.read(COOKIE_AGE, seconds, 86_400.0),
        tls=_tls(reader) if reader.read(USE_TLS, flag, False) else None,
        xsrf=reader.read(XSRF, flag, False),
        allowed_hosts=reader.read(ALLOWED_HOSTS, _hosts, frozenset()),
    )


def _tls(reader: Reader) -> Tls:
    keystore = secrets.read(reader, KEYSTORE)
    if keystore is None:
        raise reader.bad(KEYSTORE, f"missing; {USE_TLS} needs a certificate with its key")
    password = reader.read(KEYSTORE_PASSWORD, str, "")
    file = secrets.read(reader, KEYSTORE_PASSWORD_FILE)
    if password and file is not None:
        raise reader.bad(KEYSTORE_PASSWORD_FILE, f"it and {KEYSTORE_PASSWORD} say the same")
    oldest = reader.read(OLDEST_TLS, choice(TlsVersion), TlsVersion.V1_2)
    return Tls(keystore, password, oldest, file)


def _hosts(text: str) -> frozenset[str]:
    hosts = frozenset(each.strip().lower().rstrip(".") for each in text.split(",") if each.strip())
    for each in hosts:
        if each != "*" and _HOST.fullmatch(each) is None:
            raise ValueError(f"not a host's name without a port: {each!r}")
    return hosts


def _path(text: str) -> str:
    path = text.strip("/").removesuffix("/*")
    if not path or any(not (c.isalnum() or c in "-._~/") for c in path):
        raise ValueError(f"not a plain path: {text!r}")
    return path
