"""Runs Hive's metastore on 127.0.0.1 alone, without causeway-guard.jar.

    python -m cli.stack.local_metastore PORT CLASSPATH JAVA OPTION..

Hive's own main class listens on every address. `causeway.stack.LocalMetastore` in
causeway-guard.jar starts the same handler and server on one address. Without the jar, this program
does the same through py4j, which pyspark contains.
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
    """The gateway to a new JVM, which ends with this process. The JVM listens on 127.0.0.1 and
    requires a secret."""
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
    """Runs the metastore as LocalMetastore's main method does. Never returns."""
    jvm = gateway.jvm
    hive = jvm.org.apache.hadoop.hive
    conf = hive.conf.HiveConf(jvm.java.lang.Class.forName(f"{_HIVE}.metastore.HiveMetaStore"))
    store = hive.metastore.HiveMetaStore
    handler = store.newRetryingHMSHandler(store.HMSHandler("local metastore", conf, False), conf)
    hive.metastore.txn.TxnDbUtil.prepDb(conf)
    hive.ql.txn.AcidHouseKeeperService().start(conf)  # removes the locks of dead clients
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
