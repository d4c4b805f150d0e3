"""The nodes that are published in ZooKeeper."""

from dataclasses import replace
from pathlib import Path

from conf.secrets import SecretFile
from conf.settings.operating import Operating, ZooKeeper
from conf.settings.security.authentication import Auth, Identity, KerberosService, Qop
from conf.settings.security.transports import Tls, Transport, Transports
from conf.settings.settings import Settings
from conf.topology import Endpoint, Topology
from proxy.discovery.nodes import nodes

SETTINGS = Settings(Topology(), (), operating=Operating(zookeeper=ZooKeeper("z:2181")))
BINARY, HTTP = Endpoint("0.0.0.0", 10000), Endpoint("10.0.0.1", 10001)


def pairs(data: bytes) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in data.decode().split(";"))


def test_the_node_of_the_binary_transport() -> None:
    (node,) = nodes(SETTINGS, BINARY, None, "me.example")
    assert node.namespace == "hiveserver2"
    assert node.prefix == "serverUri=me.example:10000;version=causeway;sequence="
    assert pairs(node.data) == {
        "hive.server2.instance.uri": "me.example:10000",
        "hive.server2.authentication": "NONE",
        "hive.server2.transport.mode": "binary",
        "hive.server2.thrift.bind.host": "me.example",
        "hive.server2.thrift.port": "10000",
        "hive.server2.thrift.sasl.qop": "auth",
        "hive.server2.use.SSL": "false",
    }


def test_nodes_of_both_transports_with_tls_and_kerberos() -> None:
    kerberos = KerberosService("hive/_HOST@R", SecretFile(Path("k")))
    settings = replace(
        SETTINGS,
        transports=Transports(Transport.ALL, path="p/q", tls=Tls(SecretFile(Path("t")))),
        identity=Identity(frozenset((Auth.KERBEROS,)), kerberos=kerberos, qop=Qop.AUTH_CONF),
    )
    binary, http = nodes(settings, BINARY, HTTP, "me.example")
    assert (binary.namespace, http.namespace) == ("hiveserver2", "hiveserver2-http")
    for node in (binary, http):
        result = pairs(node.data)
        assert result["hive.server2.use.SSL"] == "true"
        assert result["hive.server2.authentication"] == "KERBEROS"
        assert result["hive.server2.authentication.kerberos.principal"] == "hive/_HOST@R"
    assert pairs(binary.data)["hive.server2.thrift.sasl.qop"] == "auth-conf"
    assert "hive.server2.thrift.sasl.qop" not in pairs(http.data)
    assert pairs(http.data)["hive.server2.thrift.http.port"] == "10001"
    assert pairs(http.data)["hive.server2.thrift.http.path"] == "p/q"
    assert pairs(http.data)["hive.server2.thrift.bind.host"] == "10.0.0.1"


def test_a_published_address_replaces_the_listeners() -> None:
    published = ZooKeeper("z:2181", published=Endpoint("lb.example", 443))
    settings = replace(SETTINGS, operating=Operating(zookeeper=published))
    both = nodes(settings, BINARY, HTTP, "me")
    result = [pairs(node.data)["hive.server2.instance.uri"] for node in both]
    assert result == ["lb.example:443", "lb.example:10001"]
    (http,) = nodes(settings, None, HTTP, "me")
    assert http.namespace == "hiveserver2"
    assert pairs(http.data)["hive.server2.instance.uri"] == "lb.example:443"


def test_a_node_names_passwords_before_kerberos() -> None:
    for methods, result in (
        ({Auth.KERBEROS, Auth.LDAP}, "LDAP"),
        ({Auth.FILE, Auth.KERBEROS}, "CUSTOM"),
        ({Auth.NOSASL}, "NOSASL"),
        ({Auth.JWT}, "JWT"),
    ):
        settings = replace(SETTINGS, identity=Identity(frozenset(methods)))
        (node,) = nodes(settings, BINARY, None, "me")
        assert pairs(node.data)["hive.server2.authentication"] == result
