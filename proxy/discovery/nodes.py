"""The nodes in ZooKeeper that clients with `serviceDiscoveryMode=zooKeeper` read.

A client picks a random node of the namespace and configures itself by the pairs in its data, except
for what its URL sets; clients before Hive 1.2 read only the address in the node's name. So all
nodes of a namespace have one transport: a client with `transportMode=http` would connect to the
port of a binary node, and would not try another node when that fails.
"""

from dataclasses import dataclass

from conf.settings.security.authentication import Auth
from conf.settings.settings import Settings
from conf.topology import Endpoint

_VERSION = "causeway"
_HTTP_SUFFIX = "-http"  # of the namespace for HTTP, where both transports are served


@dataclass(frozen=True, slots=True)
class Node:
    """A node in ZooKeeper. `prefix` is its name in the namespace without the sequence number."""

    namespace: str
    prefix: str
    data: bytes


def nodes(
    settings: Settings, binary: Endpoint | None, http: Endpoint | None, own_host: str
) -> list[Node]:
    """A node for each transport that is served. If both are, HTTP has a namespace of its own.

    `own_host` is the name of this machine, for listeners on all addresses.
    """
    zookeeper = settings.operating.zookeeper
    assert zookeeper is not None, "called only with service discovery on"
    published, namespace = zookeeper.published, zookeeper.namespace
    entries = []
    if binary is not None:
        address = published or _reachable(binary, own_host)
        qop = settings.identity.qop.value
        pairs = {"hive.server2.thrift.port": str(address.port), "hive.server2.thrift.sasl.qop": qop}
        entries.append(_node(settings, namespace, address, "binary", pairs))
    if http is not None:
        address = _reachable(http, own_host)
        if published is not None:
            address = published if binary is None else Endpoint(published.host, address.port)
        if binary is not None:
            namespace += _HTTP_SUFFIX
        path = settings.transports.path
        pairs = {
            "hive.server2.thrift.http.port": str(address.port),
            "hive.server2.thrift.http.path": path,
        }
        entries.append(_node(settings, namespace, address, "http", pairs))
    return entries


def _node(
    settings: Settings, namespace: str, address: Endpoint, transport: str, more: dict[str, str]
) -> Node:
    methods, kerberos = settings.identity.methods, settings.identity.kerberos
    pairs = {
        "hive.server2.instance.uri": str(address),
        "hive.server2.authentication": _authentication(methods),
        "hive.server2.transport.mode": transport,
        "hive.server2.thrift.bind.host": address.host,
        "hive.server2.use.SSL": str(settings.transports.tls is not None).lower(),
        **more,
    }
    if kerberos is not None and pairs["hive.server2.authentication"] == "KERBEROS":
        pairs["hive.server2.authentication.kerberos.principal"] = kerberos.principal
    data = ";".join(f"{key}={value}" for key, value in pairs.items())
    return Node(namespace, f"serverUri={address};version={_VERSION};sequence=", data.encode())


def _authentication(methods: frozenset[Auth]) -> str:
    """The one method that the node can name: passwords if they are accepted, since every client
    supports them."""
    for method in (Auth.NOSASL, Auth.NONE, Auth.LDAP, Auth.FILE, Auth.CUSTOM):
        if method in methods:
            named = method in (Auth.NOSASL, Auth.NONE, Auth.LDAP)
            return method.value if named else Auth.CUSTOM.value
    return Auth.KERBEROS.value if Auth.KERBEROS in methods else Auth.JWT.value


def _reachable(listener: Endpoint, own_host: str) -> Endpoint:
    on_all_addresses = listener.host in ("0.0.0.0", "::", "")
    return Endpoint(own_host, listener.port) if on_all_addresses else listener
