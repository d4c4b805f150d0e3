"""How clients connect: transports, the HTTP path, cookies and TLS, under HiveServer2's names."""

import re
from dataclasses import dataclass
from enum import Enum

from conf.kinds import (
    DURATION,
    FLAG,
    PORT,
    SECRET_PATH,
    TEXT,
    SettingKind,
    choice,
    comma_separated_lower,
)
from conf.secrets import SecretFile
from conf.settings.rows import RESTART, Setting, SettingsReader, made_of, optional_group, setting

_HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")


class Transport(Enum):
    """`hive.server2.transport.mode`: which listeners are open."""

    BINARY = "binary"
    HTTP = "http"
    ALL = "all"


class TlsVersion(Enum):
    """`proxy.tls.oldest`: the oldest version of TLS that a client may use."""

    V1_2 = "TLSv1.2"
    V1_3 = "TLSv1.3"


def _hosts(text: str) -> frozenset[str]:
    hosts = frozenset(each.rstrip(".") for each in comma_separated_lower(text))
    for each in hosts:
        if each != "*" and _HOST.fullmatch(each) is None:
            raise ValueError(f"not a host's name without a port: {each!r}")
    return hosts


def _path(text: str) -> str:
    path = text.strip("/").removesuffix("/*")
    if not path or any(not (c.isalnum() or c in "-._~/") for c in path):
        raise ValueError(f"not a plain path: {text!r}")
    return path


_HOSTS: SettingKind[frozenset[str]] = SettingKind(
    "list of hosts", _hosts, {"type": ["string", "array"]}, frozenset()
)
# fmt: off
USE_TLS = Setting("hive.server2.use.SSL", FLAG, "false", RESTART,
    "`true`: TLS on every port that clients connect to.")
_PASSWORD_FILE: Setting[SecretFile | None] = Setting("proxy.keystore.password.file",
    SECRET_PATH, "", RESTART, "A file with the keystore's password, read whenever the keystore is.")
_PASSWORD = "hive.server2.keystore.password"
OLDEST_TLS = Setting("proxy.tls.oldest", choice(TlsVersion), "TLSv1.2", RESTART,
    "The oldest version of TLS that a client may use.")


@dataclass(frozen=True, slots=True)
class Tls:
    """The keystore, a file with the certificate and its key, PEM or PKCS12. Its password is
    `password`, or the content of `password_file` when the keystore is read."""

    keystore: SecretFile = setting("hive.server2.keystore.path", SECRET_PATH, "", RESTART,
        "The certificate, its chain and its key in one file, PEM or PKCS12. New connections get"
        " a changed file within 10 s. A JKS keystore is refused, with the `keytool` command"
        " that converts it.",
        shown="required with TLS", needed=f"{USE_TLS.name} needs a certificate with its key")
    password: str = setting(_PASSWORD, TEXT, "", RESTART, "The keystore's password.", secret=True)
    oldest: TlsVersion = made_of(OLDEST_TLS, factory=lambda: TlsVersion.V1_2)
    password_file: SecretFile | None = made_of(_PASSWORD_FILE, factory=lambda: None)


@dataclass(frozen=True, slots=True)
class Transports:
    """`path` is the path that HTTP clients post to, without slashes around it. Times are in
    seconds.

    `tls` is for both transports, as in HiveServer2; None: no encryption. `xsrf` and `allowed_hosts`
    hold for HTTP and the administration port; without hosts the listener's own address decides.
    """

    transport: Transport = setting("hive.server2.transport.mode",
        choice(Transport), "binary", RESTART,
        "Which transports clients may use ([clients](../guide/connect.md)).")
    http_port: int = setting("hive.server2.thrift.http.port", PORT, "10001", RESTART,
        "The port of the HTTP transport.")
    path: str = setting("hive.server2.thrift.http.path",
        SettingKind("path of a URL", _path), "cliservice", RESTART,
        "The path that HTTP clients post to.")
    http_idle: float = setting("hive.server2.thrift.http.max.idle.time", DURATION, "1800s", RESTART,
        "An HTTP connection is closed after this time without a request; its sessions stay open.")
    cookies: bool = setting("hive.server2.thrift.http.cookie.auth.enabled", FLAG, "true", RESTART,
        "HTTP clients get a signed cookie, which replaces their credentials until it expires.")
    cookie_age: float = setting("hive.server2.thrift.http.cookie.max.age",
        DURATION, "86400s", RESTART, "Lifetime of the session cookie.")
    tls: Tls | None = optional_group(Tls, USE_TLS)
    xsrf: bool = setting("hive.server2.xsrf.filter.enabled", FLAG, "false", RESTART,
        "`true`: HTTP requests, and changes through the administration port, need the header"
        " `X-XSRF-HEADER`, which hive-jdbc and `causeway admin` send and web pages cannot.")
    allowed_hosts: frozenset[str] = setting("proxy.http.allowed.hosts", _HOSTS, "", RESTART,
        "Host names, without ports, that HTTP requests and requests to the administration port"
        " may be addressed to (`Host`); `*.example.com` is any name below it, `*` any name.",
        shown="see [security](../guide/security.md#requests-that-web-pages-have-browsers-send)")

    @property
    def binary(self) -> bool:
        return self.transport is not Transport.HTTP

    @property
    def http(self) -> bool:
        return self.transport is not Transport.BINARY


# fmt: on
def read(reader: SettingsReader) -> Transports:
    return reader.group(Transports, tls=_tls(reader) if reader.read(USE_TLS) else None)


def _tls(reader: SettingsReader) -> Tls:
    tls = reader.group(Tls)
    if tls.password and tls.password_file is not None:
        reader.report(_PASSWORD_FILE, f"{_PASSWORD} is set, too")
    return tls
