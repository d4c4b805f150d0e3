"""Checks of other servers. Each check makes the calls that Causeway makes while it runs."""

import socket
from contextlib import suppress
from dataclasses import replace

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from cli.check import targets
from cli.check.report import CheckFinding, error, ok, warning
from conf.locations import clusters_of
from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Cluster
from metastore.client.connection import UNKNOWN_METHOD
from metastore.client.login import check as check_files
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreRefused
from proxy.auth.ldap.ldap_client import LdapPasswords
from proxy.auth.tokens.issuer_client import IssuerClient
from proxy.auth.tokens.token_keys_client import JwtVerifier
from proxy.catalog.server_info import DBMS_VERSION
from proxy.discovery.zookeeper_client import registered
from proxy.errors import ClusterLost, ThriftServerError
from proxy.limits import DEFAULT
from proxy.protocol.cluster_calls import NO_SESSION, get_info_call
from proxy.protocol.replies import info_text, read_result
from proxy.protocol.types import NEWEST_PROTOCOL
from proxy.upstream.credentials import CredentialsByCluster
from proxy.upstream.upstream_pool import UpstreamPool
from proxy.upstream.upstream_session import UpstreamSession

_USER = "causeway"  # the user of sessions that checks open
_LISTENS = "it accepts connections"
_UNGUARDED = "no guard there compares Spark's plans with the decisions or refuses writes"


def metastore(target: targets.Metastore, timeout: float) -> CheckFinding:
    """Whether the metastore answers, and its version. Raises MetastoreError, BadSetting."""
    login = target.login
    check_files(login)
    with HmsClient((target.endpoint,), timeout, login=login) as client:
        version, databases = client.hive_version(), client.get_all_databases()
    how = "" if not login.sasl else f"logged in {_way_in(login)}; "
    return ok(f"{how}it has the calls of Hive {version}; {len(databases)} databases")


def _way_in(login: MetastoreLogin) -> str:
    return "with a delegation token" if login.token is not None else f"as {login.user}"


def view(target: targets.View, timeout: float) -> CheckFinding:
    """Whether the server is the view of its cluster. Raises MetastoreError, BadSetting."""
    check_files(target.login)
    with HmsClient((target.endpoint,), timeout, login=target.login) as client:
        location = client.get_database("default").location
        try:
            client.touched(0)
        except MetastoreRefused as refused:
            if refused.kind != UNKNOWN_METHOD:
                raise
            return error("a metastore answers, not a view of `causeway metastore serve`")
    owners = clusters_of(location, target.filesystems)
    if owners and target.cluster not in owners:
        names = " or ".join(sorted(owners))
        return error(f"the view of cluster {names} answers: the default database is in {location}")
    return ok(f"the default database is in {location}")


async def thrift_server(target: targets.ThriftServer, seconds: float) -> CheckFinding:
    """Logs in as the proxy does; returns the version, and whether a guard checks claims.

    Raises CausewayError.
    """
    name, endpoint = target.cluster, target.endpoint
    pool = UpstreamPool(
        replace(DEFAULT, connect=seconds, call=seconds),
        credentials=CredentialsByCluster({name: target.login}),
    )
    try:
        version = "a server that returns no version"
        async with pool.borrow(name, endpoint, _USER) as connection:
            request = get_info_call(NO_SESSION, DBMS_VERSION)
            with suppress(ClusterLost):  # Hive's own server needs a session for this call
                reply = await connection.call("GetInfo", request, seconds)
                version = f"Spark {info_text(read_result(reply, 'GetInfo'))}"
        return await _session(pool, Cluster(name, "", (endpoint,)), version)
    finally:
        pool.close()


async def _session(pool: UpstreamPool, cluster: Cluster, version: str) -> CheckFinding:
    """Whether a session can be opened, and whether its guard checks claims."""
    try:
        session = await UpstreamSession.open(pool, cluster, _USER, NEWEST_PROTOCOL, {}, claims=True)
    except ThriftServerError as refused:
        text = f"{version}; it opens no session for user {_USER}: {refused.failure.message}"
        # A service account opens sessions in the names of users, who may have rights that _USER
        # lacks.
        is_service = pool.credentials.of(cluster.name).login.is_service
        return warning(text) if is_service else error(text)
    await session.close()
    if session.checked:
        return ok(f"{version}; the guard checks claims")
    return warning(f"{version}; {_UNGUARDED}")


def ldap_server(target: targets.LdapServer, timeout: float) -> CheckFinding:
    """Whether the LDAP server answers. Raises AuthBackendUnavailable."""
    LdapPasswords(target.ldap).reach(target.url)
    return ok(f"bound as {target.ldap.bind_dn}" if target.ldap.bind_dn else _LISTENS)


def token_keys(target: targets.TokenKeys, timeout: float) -> CheckFinding:
    """The number of usable keys at the JWKS URL. Raises AuthBackendUnavailable."""
    count = JwtVerifier(target.jwt).key_count()
    return ok(f"{count} keys") if count else error("no key that Causeway can use")


def issuer(target: targets.Issuer, timeout: float) -> CheckFinding:
    """The number of usable keys of the issuer. Raises AuthBackendUnavailable."""
    count = IssuerClient(target.issuer, (_USER,)).key_count()
    return ok(f"{count} keys") if count else error("no key that Causeway can use")


def quorum(target: targets.Quorum, timeout: float) -> CheckFinding:
    try:
        servers = registered(target.zookeeper, timeout)
    except (KazooException, KazooTimeoutError) as failure:
        return error(f"no answer: {failure or type(failure).__name__}")
    if servers is None:
        return ok(f"/{target.zookeeper.namespace} is created at the first start")
    return ok(f"/{target.zookeeper.namespace} has {len(servers)} servers")


def listener(target: targets.Listener, timeout: float) -> CheckFinding:
    """Whether the server accepts connections. Raises OSError."""
    address = (target.endpoint.host, target.endpoint.port)
    with socket.create_connection(address, timeout):
        return ok(_LISTENS)
