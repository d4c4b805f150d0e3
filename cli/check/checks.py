"""Lists the checks for a configuration."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from cli.check import targets
from conf.kinds import SECRET_FILE
from conf.names import ClusterName
from conf.secrets import SecretFile, Sharing
from conf.settings.console import LOGIN as CONSOLE_LOGIN
from conf.settings.console import ConsoleSettings
from conf.settings.rows import Setting, group_of, rows_of
from conf.settings.security.authentication import METHODS, Auth, Identity, KerberosService
from conf.settings.security.operator_issuer import ISSUER
from conf.settings.security.upstream_auth import CA, KEYTAB, PASSWORD_FILE, Login, Proof
from conf.settings.settings import BIND_PORT, CLUSTERS, LOGIN, Settings
from conf.topology import Cluster, Endpoint

_UPSTREAM = ClusterName("upstream")  # the servers of `proxy.upstream`
_KEYSTORE = "hive.server2.keystore.path"
_ADMIN_KEYSTORE = "proxy.admin.keystore.path"
_VIEW_KEYSTORE = "view.keystore.path"
_IDENTITY = (METHODS.name, "hive.server2.custom.authentication", "proxy.password.file")
_LIFECYCLE_PORT, _CONSOLE_PORT = "lifecycle.port", "console.port"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Check:
    """A check of `target`. `name` is a setting, or a service with its address."""

    name: str
    target: targets.Local | targets.Remote

    @property
    def is_local(self) -> bool:
        """Whether the check calls no other machine or process."""
        return isinstance(self.target, targets.Local)


def checks_of(
    settings: Settings, path: Path, wrong: Collection[str] = (), store: str | None = None
) -> list[Check]:
    """The checks for the settings, in the order of the report.

    `path` is the settings file, `wrong` are the names of invalid settings, whose checks are left
    out, and `store` is the URL of the lifecycle's database, if any.
    """
    found = [
        *_files(settings, path),
        *_authentication(settings.identity, wrong),
        *_ports(settings),
        *_clusters(settings),
        *_others(settings),
    ]
    if settings.operating.history_store:
        history = targets.HistoryDatabase(settings.operating.history_store)
        found.append(Check("history.store", history))
    if store is not None:
        found.append(Check("lifecycle store", targets.LifecycleStore(store)))
    return [each for each in found if not _settings_in(each.name) & set(wrong)]


def listeners(settings: Settings) -> Iterator[tuple[str, Endpoint]]:
    """The addresses that `causeway serve` listens on, with the settings of their ports."""
    transports = settings.transports
    if transports.binary:
        yield BIND_PORT.name, settings.listen
    if transports.http:
        http = Endpoint(settings.listen.host, transports.http_port)
        yield "hive.server2.thrift.http.port", http
    if settings.operating.admin is not None:
        yield "proxy.admin.port", settings.operating.admin


def other_listeners(settings: Settings) -> Iterator[tuple[str, Endpoint]]:
    """The addresses of the lifecycle's server and of the console, if the settings have them."""
    if settings.lifecycle.port is not None:
        yield _LIFECYCLE_PORT, settings.lifecycle.port
    if settings.console != ConsoleSettings():
        yield _CONSOLE_PORT, settings.console.listen


def _settings_in(name: str) -> set[str]:
    """The names of settings in a check's name, without hive.cluster.properties: an invalid cluster
    is not in the settings, so it has no check."""
    return set(name.split()) - {CLUSTERS.name}


def _clusters(settings: Settings) -> Iterator[Check]:
    for endpoint in settings.metastores:
        yield Check(f"metastore {endpoint}", targets.Metastore(endpoint, settings.metastore_login))
    topology, logins = settings.topology, dict(settings.logins)
    clusters = list(topology.clusters.values())
    if not clusters and settings.upstream:
        clusters = [Cluster(_UPSTREAM, "", settings.upstream)]
        logins[_UPSTREAM] = settings.upstream_login
    for each in clusters:
        login = logins.get(each.name, Login())
        for endpoint in each.hs2:
            server = targets.ThriftServer(each.name, endpoint, login)
            yield Check(f"cluster {each.name} {endpoint}", server)
        for endpoint in settings.views.get(each.name, ()):
            view = targets.View(each.name, endpoint, topology.filesystems(), settings.view_login)
            yield Check(f"view {each.name} {view.endpoint}", view)


def _ports(settings: Settings) -> Iterator[Check]:
    for name, endpoint in listeners(settings):
        yield Check(f"{name} {endpoint}", targets.ProxyAddress(endpoint, settings.operating))
    for name, endpoint in other_listeners(settings):
        has_tls = settings.transports.tls is not None
        target: targets.Remote = targets.ConsoleAddress(endpoint, has_tls)
        if name == _LIFECYCLE_PORT:
            target = targets.LifecycleAddress(endpoint, settings.operating.access)
        yield Check(f"{name} {endpoint}", target)


def _files(settings: Settings, path: Path) -> Iterator[Check]:
    tls, operating = settings.transports.tls, settings.operating
    for name, file in _secret_files(settings):
        if name not in (_KEYSTORE, _ADMIN_KEYSTORE, _VIEW_KEYSTORE):
            yield Check(name, targets.Secret(file))
    if tls is not None:
        yield Check(_KEYSTORE, targets.ServerCertificate(tls))
    if operating.access.tls is not None:
        yield Check(_ADMIN_KEYSTORE, targets.ServerCertificate(operating.access.tls))
    if settings.view_tls.tls is not None:
        yield Check(_VIEW_KEYSTORE, targets.ServerCertificate(settings.view_tls.tls))
    for name, authorities in _authorities(settings):
        yield Check(name, targets.Authorities(authorities))
    for name, written in (
        ("proxy.audit.file", operating.audit_file),
        ("proxy.admin.socket", operating.admin_socket),
    ):
        if written is not None:
            yield Check(name, targets.Written(written))
    if passwords_in(settings):
        file = SecretFile(path, settings.secret_files is Sharing.SHARED)
        yield Check(f"passwords in {path}", targets.SettingsFile(file))


def passwords_in(settings: Settings, store: str | None = None) -> set[str]:
    """The passwords in the settings themselves and in the address of the lifecycle's store."""
    ldap, tls = settings.identity.ldap, settings.transports.tls
    found = [ldap.bind_password if ldap else "", tls.password if tls else ""]
    found.append(settings.metastore_login.truststore_password)
    for url in (settings.operating.history_store, store or ""):
        parts = urlsplit(url)
        found += [parts.password or "", *parse_qs(parts.query).get("password", ())]
    return {each for text in found for each in (text, unquote(text)) if each}


def _secret_files(settings: Settings) -> Iterator[tuple[str, SecretFile]]:
    """Yields each file with a secret, after the name of its setting."""
    for row, value in _values(settings):
        if isinstance(value, KerberosService):
            value = value.keytab if row.kind is SECRET_FILE else None
        if isinstance(value, SecretFile):
            yield row.name, value
    for name, login in _logins(settings):
        if login.secret is not None:
            key = PASSWORD_FILE if login.proof is Proof.PLAIN else KEYTAB
            yield f"{name} {key}", login.secret


def _values(group: object) -> Iterator[tuple[Setting[Any], object]]:
    """Yields the row and value of each setting in a dataclass and in the dataclasses inside."""
    for each in fields(group):  # type: ignore[arg-type]
        value = getattr(group, each.name)
        if group_of(each) and value is not None:
            yield from _values(value)
        for row in rows_of(each):
            yield row, value


def _authorities(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Yields each file of certificate authorities, after the name of its setting."""
    for name, group in (
        ("proxy.ldap.ca.file", settings.identity.ldap),
        ("proxy.jwt.ca.file", settings.identity.jwt),
    ):
        if group is not None and group.ca is not None:
            yield name, group.ca
    access = settings.operating.access
    if access.ca is not None:
        yield "proxy.admin.ca.file", access.ca
    if access.issuer.ca is not None:
        yield "proxy.admin.oidc.ca.file", access.issuer.ca
    if settings.view_tls.ca is not None:
        yield "view.ca.file", settings.view_tls.ca
    for name, login in _logins(settings):
        if login.ca is not None:
            yield f"{name} {CA}", login.ca


def _logins(settings: Settings) -> Iterator[tuple[str, Login]]:
    for cluster, login in settings.logins.items():
        yield f"{CLUSTERS.name} {cluster}", login
    yield LOGIN.name, settings.upstream_login
    yield CONSOLE_LOGIN.name, settings.console.login


def _authentication(identity: Identity, wrong: Collection[str]) -> Iterator[Check]:
    """Checks of authentication and of its back ends."""
    is_whole = not any(name.startswith(_IDENTITY) for name in wrong)
    if is_whole and not identity.methods <= {Auth.NONE, Auth.NOSASL}:
        yield Check(METHODS.name, targets.Authentication(identity))
    if identity.ldap is not None:
        for url in identity.ldap.urls:
            yield Check(f"LDAP {url}", targets.LdapServer(identity.ldap, url))
    if identity.jwt is not None and identity.jwt.jwks:
        yield Check("hive.server2.authentication.jwt.jwks.url", targets.TokenKeys(identity.jwt))


def _others(settings: Settings) -> Iterator[Check]:
    lifecycle, telemetry = settings.lifecycle, settings.telemetry
    issuer = settings.operating.access.issuer
    if issuer.url:
        yield Check(ISSUER.name, targets.Issuer(issuer))
    zookeeper = settings.operating.zookeeper
    if zookeeper is not None and zookeeper.quorum:
        yield Check(f"ZooKeeper {zookeeper.quorum}", targets.Quorum(zookeeper))
    if telemetry.traces or telemetry.lineage:
        yield Check("telemetry.*", targets.TelemetryLibraries())
    for name, url in (
        ("telemetry.otlp.url", telemetry.traces),
        ("telemetry.openlineage.url", telemetry.lineage),
        ("lifecycle.alert.webhook", lifecycle.webhook),
    ):
        if url:
            parts = urlsplit(url)
            endpoint = Endpoint(parts.hostname or "", parts.port or _PORTS[parts.scheme])
            yield Check(f"{name} {endpoint}", targets.Listener(endpoint))
    if lifecycle.catalog_service:
        yield Check("catalog.service.impl", targets.CatalogClass(lifecycle.catalog_service))
    if lifecycle.mail_server is not None:
        name = f"lifecycle.alert.mail.server {lifecycle.mail_server}"
        yield Check(name, targets.Listener(lifecycle.mail_server))
