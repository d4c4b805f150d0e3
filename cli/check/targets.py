"""The targets of checks: files, services and addresses."""

from dataclasses import dataclass, field
from pathlib import Path

from conf.names import ClusterName
from conf.secrets import SecretFile
from conf.settings.operating import Operating, ZooKeeper
from conf.settings.security.authentication import Identity, Jwt, Ldap
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.operator_access import OperatorAccess
from conf.settings.security.operator_issuer import OperatorIssuer
from conf.settings.security.transports import Tls
from conf.settings.security.upstream_auth import Login
from conf.topology import Endpoint


@dataclass(frozen=True, slots=True)
class Metastore:
    endpoint: Endpoint
    login: MetastoreLogin = field(default_factory=MetastoreLogin)


@dataclass(frozen=True, slots=True)
class View:
    """A cluster's view of the metastore. `filesystems` has the file systems of all clusters."""

    cluster: ClusterName
    endpoint: Endpoint
    filesystems: dict[ClusterName, str]
    login: MetastoreLogin = field(default_factory=MetastoreLogin)


@dataclass(frozen=True, slots=True)
class ThriftServer:
    cluster: ClusterName
    endpoint: Endpoint
    login: Login


@dataclass(frozen=True, slots=True)
class ProxyAddress:
    """An address that `causeway serve` listens on. `operating` has the administration's address, by
    which a running proxy is recognised."""

    endpoint: Endpoint
    operating: Operating


@dataclass(frozen=True, slots=True)
class LifecycleAddress:
    """An address that `causeway lifecycle serve` listens on."""

    endpoint: Endpoint
    access: OperatorAccess


@dataclass(frozen=True, slots=True)
class ConsoleAddress:
    """An address that `causeway console` listens on, with TLS or without."""

    endpoint: Endpoint
    tls: bool


@dataclass(frozen=True, slots=True)
class Secret:
    file: SecretFile


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file with a secret in it."""

    file: SecretFile


@dataclass(frozen=True, slots=True)
class Authorities:
    """Certificate authorities in PEM."""

    path: Path


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    tls: Tls


@dataclass(frozen=True, slots=True)
class Written:
    """A file or socket that Causeway creates."""

    path: Path


@dataclass(frozen=True, slots=True)
class Authentication:
    identity: Identity


@dataclass(frozen=True, slots=True)
class LdapServer:
    ldap: Ldap
    url: str


@dataclass(frozen=True, slots=True)
class TokenKeys:
    jwt: Jwt


@dataclass(frozen=True, slots=True)
class Issuer:
    issuer: OperatorIssuer


@dataclass(frozen=True, slots=True)
class Quorum:
    zookeeper: ZooKeeper


@dataclass(frozen=True, slots=True)
class HistoryDatabase:
    url: str


@dataclass(frozen=True, slots=True)
class LifecycleStore:
    url: str


@dataclass(frozen=True, slots=True)
class Listener:
    """Any other service. The check only opens a connection."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class TelemetryLibraries:
    """The packages of the extra that `telemetry.*` needs."""


@dataclass(frozen=True, slots=True)
class CatalogClass:
    """The class that `catalog.service.impl` names, `package.module:Class`."""

    name: str


Local = (
    Secret
    | SettingsFile
    | Authorities
    | ServerCertificate
    | Written
    | Authentication
    | TelemetryLibraries
    | CatalogClass
)
Remote = (
    Metastore
    | View
    | ThriftServer
    | ProxyAddress
    | LdapServer
    | TokenKeys
    | Issuer
    | Quorum
    | HistoryDatabase
    | LifecycleStore
    | Listener
    | LifecycleAddress
    | ConsoleAddress
)
