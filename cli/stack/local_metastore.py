"""Hive's metastore on 127.0.0.1 alone, without a compiled class of ours.

    python -m cli.stack.local_metastore PORT CLASSPATH JAVA OPTION..

Hive's own main class listens on every address. `causeway.stack.LocalMetastore` of
causeway-guard.jar starts the same handler and server on one. Without the jar this program does it,
through py4j, which pyspark contains.
"""

import sys
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

_HIVE = "org.apache.hadoop.hive"


def main() -> None:
    port, classpath, java, *options = sys.argv[1:]
    serve(_gateway(java, options, classpath), int(port))


def _gateway(java: str, options: list[str], classpath: str) -> Any:
    """A JVM that ends with this process, and listens for it on 127.0.0.1 with a secret."""
    [jar] = (Path(pyspark.__path__[0]) / "jars").glob("py4j-*.jar")
    port, secret = launch_gateway(
        jarpath=str(jar),
        classpath=classpath,
        javaopts=options,
        java_path=java,
        die_on_exit=True,
        enable_auth=True,
        redirect_stdout=sys.stdout,
        redirect_stderr=sys.stderr,
    )
    return JavaGateway(
        gateway_parameters=GatewayParameters(port=port, auth_token=secret, auto_convert=True)
    )


def serve(gateway: Any, port: int) -> None:
    """What the main method of LocalMetastore does; it does not return."""
    jvm = gateway.jvm
    hive = jvm.org.apache.hadoop.hive
    conf = hive.conf.HiveConf(jvm.java.lang.Class.forName(f"{_HIVE}.metastore.HiveMetaStore"))
    store = hive.metastore.HiveMetaStore
    handler = store.newRetryingHMSHandler(store.HMSHandler("local metastore", conf, False), conf)
    hive.metastore.txn.TxnDbUtil.prepDb(conf)
    hive.ql.txn.AcidHouseKeeperService().start(conf)  # ends the locks of clients that died
    address = jvm.java.net.InetSocketAddress(jvm.java.net.InetAddress.getByName("127.0.0.1"), port)
    socket = jvm.org.apache.thrift.transport.TServerSocket(address)
    server = jvm.org.apache.thrift.server.TThreadPoolServer
    arguments = server.Args(hive.metastore.TServerSocketKeepAlive(socket))
    arguments.processor(hive.metastore.TUGIBasedProcessor(handler))
    arguments.transportFactory(hive.thrift.TUGIContainingTransport.Factory())
    variables = hive.conf.HiveConf.ConfVars
    arguments.minWorkerThreads(conf.getIntVar(variables.METASTORESERVERMINTHREADS))
    arguments.maxWorkerThreads(conf.getIntVar(variables.METASTORESERVERMAXTHREADS))
    server(arguments).serve()


if __name__ == "__main__":
    main()
