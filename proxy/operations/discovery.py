"""What ZooKeeper says of us, in the words that `serviceDiscoveryMode=zooKeeper` reads.

A client takes one of the namespace's nodes at random and sets itself up by the pairs in its data,
but for what its URL says; those before Hive 1.2 read the address alone, from the name. So a
namespace has nodes of one transport: a client that was told `transportMode=http` would take the
binary transport's port for it, and not look further when that fails.
"""

from dataclasses import dataclass

from conf.settings.authentication import Auth
from conf.settings.settings import Settings
from conf.topology import Endpoint

_VERSION = "causeway"
_BESIDE = "-http"  # after the namespace: where HTTP is found beside the binary transport


@dataclass(frozen=True, slots=True)
class Node:
    """`prefix` is the name within its namespace, up to its sequence number."""

    namespace: str
    prefix: str
    data: bytes


def nodes(
    settings: Settings, binary: Endpoint | None, http: Endpoint | None, own_host: str
) -> list[Node]:
    """One for each transport that is served, of HTTP beside the other in a namespace of its own;
    `own_host` is this machine's name, for listeners of every address."""
    zookeeper = settings.operating.zookeeper
    assert zookeeper is not None, "nobody asks whom ZooKeeper is not to know of"
    published, namespace = zookeeper.published, zookeeper.namespace
    found = []
    if binary is not None:
        at = published or _reachable(binary, own_host)
        qop = settings.identity.qop.value
        port = {"hive.server2.thrift.port": str(at.port), "hive.server2.thrift.sasl.qop": qop}
        found.append(_node(settings, namespace, at, "binary", port))
    if http is not None:
        at = _reachable(http, own_host)
        if published is not None:
            at = published if binary is None else Endpoint(published.host, at.port)
        if binary is not None:
            namespace += _BESIDE
        path = settings.transports.path
        told = {
            "hive.server2.thrift.http.port": str(at.port),
            "hive.server2.thrift.http.path": path,
        }
        found.append(_node(settings, namespace, at, "http", told))
    return found


def _node(
    settings: Settings, namespace: str, at: Endpoint, transport: str, more: dict[str, str]
) -> Node:
    methods, kerberos = settings.identity.methods, settings.identity.kerberos
    pairs = {
        "hive.server2.instance.uri": str(at),
        "hive.server2.authentication": _authentication(methods),
        "hive.server2.transport.mode": transport,
        "hive.server2.thrift.bind.host": at.host,
        "hive.server2.use.SSL": str(settings.transports.tls is not None).lower(),
        **more,
    }
    if kerberos is not None and pairs["hive.server2.authentication"] == "KERBEROS":
        pairs["hive.server2.authentication.kerberos.principal"] = kerberos.principal
    data = ";".join(f"{key}={value}" for key, value in pairs.items())
    return Node(namespace, f"serverUri={at};version={_VERSION};sequence=", data.encode())


def _authentication(methods: frozenset[Auth]) -> str:
    """The way in that clients are told of; a password where there is one, for any client has it."""
    for method in (Auth.NOSASL, Auth.NONE, Auth.LDAP, Auth.FILE, Auth.CUSTOM):
        if method in methods:
            named = method in (Auth.NOSASL, Auth.NONE, Auth.LDAP)
            return method.value if named else Auth.CUSTOM.value
    return Auth.KERBEROS.value if Auth.KERBEROS in methods else Auth.JWT.value


def _reachable(listener: Endpoint, own_host: str) -> Endpoint:
    anywhere = listener.host in ("0.0.0.0", "::", "")
    return Endpoint(own_host, listener.port) if anywhere else listener
