"""Finds settings that are valid one by one and contradict each other."""

from collections import Counter
from collections.abc import Collection, Iterator
from urllib.parse import parse_qs, urlsplit

from cli.check.checks import listeners, other_listeners
from cli.check.report import Result, error, warning
from conf.settings.security.authentication import METHODS, Auth
from conf.settings.settings import CLUSTERS, Settings

_METASTORES = "hive.metastore.uris"
_ADMIN_TLS, _ADMIN_KEYSTORE = "proxy.admin.use.SSL", "proxy.admin.keystore.path"
_LDAP_URL = "hive.server2.authentication.ldap.url"
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


def contradictions(settings: Settings, wrong: Collection[str] = ()) -> list[Result]:
    """Errors and warnings. Leaves out the settings named in `wrong`: they are invalid and have
    their defaults here."""
    found = (
        *_clusters(settings),
        *_ports(settings),
        *_console(settings),
        *_authentication(settings),
        *_operators(settings),
        *_plain_passwords(settings),
    )
    return [each for each in found if each.name not in wrong]


def _clusters(settings: Settings) -> Iterator[Result]:
    topology = settings.topology
    if not topology.in_use and not settings.upstream:
        text = "no cluster and no proxy.upstream: `causeway serve` does not start"
        yield Result(CLUSTERS.name, error(text))
    if topology.in_use and not settings.metastores:
        yield Result(_METASTORES, error("missing; clusters need it"))
    servers = Counter(each for cluster in topology.clusters.values() for each in cluster.hs2)
    for endpoint in (each for each, count in servers.items() if count > 1):
        yield Result(CLUSTERS.name, warning(f"JobTracker {endpoint} is named more than once"))
    views = Counter(each for views in settings.views.values() for each in views)
    for endpoint in (each for each, count in views.items() if count > 1):
        yield Result(CLUSTERS.name, error(f"MetastoreView {endpoint} is used for two clusters"))


def _ports(settings: Settings) -> Iterator[Result]:
    used = Counter(endpoint for _, endpoint in listeners(settings))
    for name, endpoint in listeners(settings):
        if used[endpoint] > 1:
            yield Result(name, error(f"another listener of the proxy has {endpoint}, too"))
    used.update(endpoint for _, endpoint in other_listeners(settings))
    for name, endpoint in other_listeners(settings):
        if used[endpoint] > 1:
            text = f"another part has {endpoint}, too: they cannot run on one machine"
            yield Result(name, warning(text))


def _console(settings: Settings) -> Iterator[Result]:
    """Settings with which `causeway console` does not start."""
    host = settings.console.listen.host
    if settings.identity.methods <= {Auth.NONE, Auth.NOSASL} and host not in _LOOPBACK:
        text = f"no log-in is checked, and other machines reach {host}: no console starts"
        yield Result("console.host", error(text))


def _authentication(settings: Settings) -> Iterator[Result]:
    identity, host = settings.identity, settings.listen.host
    if identity.methods <= {Auth.NONE, Auth.NOSASL} and host not in _LOOPBACK:
        text = f"any client can claim any user name, and other machines reach {host}"
        yield Result(METHODS.name, warning(text))
    ldap = identity.ldap
    for url in ldap.urls if ldap is not None and not ldap.start_tls else ():
        if urlsplit(url).scheme == "ldap":
            text = f"passwords go to {url} in plain text: use ldaps, or proxy.ldap.starttls"
            yield Result(_LDAP_URL, warning(text))


def _operators(settings: Settings) -> Iterator[Result]:
    """Settings of the ports for operators."""
    access = settings.operating.access
    if access.use_tls and access.tls is None:
        text = "missing; the ports for operators are not opened without it (clients need none)"
        yield Result(_ADMIN_KEYSTORE, warning(text))
    for endpoint in (settings.operating.admin, settings.lifecycle.port):
        if endpoint is not None and endpoint.host not in _LOOPBACK and not access.use_tls:
            text = f"tokens go to {endpoint} in plain text, and other machines reach it"
            yield Result(_ADMIN_TLS, warning(text))


def _plain_passwords(settings: Settings) -> Iterator[Result]:
    """Passwords in the settings that a separate file could hold."""
    tls = settings.transports.tls
    if tls is not None and tls.password:
        text = "a password in plain text: put it into proxy.keystore.password.file"
        yield Result("hive.server2.keystore.password", warning(text))
    store = urlsplit(settings.operating.history_store)
    if store.password or "password" in parse_qs(store.query):
        text = "a password in plain text: put it into ~/.pgpass, or PGPASSWORD of the environment"
        yield Result("history.store", warning(text))
