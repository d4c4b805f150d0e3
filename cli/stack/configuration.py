"""The configuration files of the embedded stack, as texts."""

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from cli.stack.plan import GUARD, METASTORE, WRITE_PLUGIN, Ports, StackLayout, StackSpec, hadoop_uri
from conf.names import ClusterName
from conf.topology import Endpoint
from pipeline.spark.jar import SPARK_MAJOR

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
# A client that closes its connection without CloseSession is no error of the server.
logger.goodbye.name = org.apache.thrift.server.TThreadPoolServer
logger.goodbye.level = off
appender.console.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""
# Without this file Spark's only pool runs jobs in the order of their start, even in FAIR mode.
_FAIR_POOL = """\
<allocations>
  <pool name="default">
    <schedulingMode>FAIR</schedulingMode>
  </pool>
</allocations>
"""
# Spark 4 lacks the jar of the metastore's default pool, which dropping a database needs.
CONNECTION_POOL = {"datanucleus.connectionPoolingType": "HikariCP"} if SPARK_MAJOR >= 4 else {}


def files(spec: StackSpec, layout: StackLayout, ports: Ports) -> dict[Path, str]:
    """Every configuration file of the stack, by path."""
    written = {
        layout.conf(METASTORE) / "hive-site.xml": hive_site(_metastore_site(spec, layout)),
        layout.conf(METASTORE) / "log4j2.properties": _LOG4J,
        layout.settings: _causeway_toml(spec, layout, ports),
    }
    for cluster in spec.clusters:
        conf = layout.conf(cluster)
        written[conf / "hive-site.xml"] = hive_site(_cluster_site(cluster, spec, layout, ports))
        written[conf / "spark-defaults.conf"] = _spark_defaults(cluster, spec, layout)
        written[conf / "fairscheduler.xml"] = _FAIR_POOL
        written[conf / "log4j2.properties"] = _LOG4J
    return written


def hive_site(properties: Mapping[str, str]) -> str:
    """The properties as a configuration file of Hadoop."""
    rows = (
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    return f"<?xml version='1.0'?>\n<configuration>\n{''.join(rows)}</configuration>\n"


def _metastore_site(spec: StackSpec, layout: StackLayout) -> dict[str, str]:
    return {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={layout.derby};create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": layout.filesystem(spec.clusters[0]),
        "hive.hmshandler.retry.interval": "100ms",  # a failed call answers within a second
        "hive.async.log.enabled": "false",  # Spark lacks the jars for it
        "hive.metastore.server.min.threads": "10",
        **CONNECTION_POOL,
    }


def _cluster_site(
    cluster: ClusterName, spec: StackSpec, layout: StackLayout, ports: Ports
) -> dict[str, str]:
    metastore = ports.views[cluster] if spec.views else ports.metastore
    return {
        "hive.metastore.uris": f"thrift://{metastore}",
        # All services start at once; the metastore is the last to answer.
        "hive.metastore.connect.retries": "120",
        "hive.metastore.client.connect.retry.delay": "1s",
        "hive.server2.thrift.bind.host": ports.hs2[cluster].host,
        "hive.server2.thrift.port": str(ports.hs2[cluster].port),
        "hive.exec.scratchdir": hadoop_uri(layout.scratch(cluster) / "hive"),
        "hive.exec.local.scratchdir": str(layout.scratch(cluster) / "hive-local"),
        "hive.server2.logging.operation.log.location": str(layout.scratch(cluster) / "operations"),
        "hive.async.log.enabled": "false",
    }


def _spark_defaults(cluster: ClusterName, spec: StackSpec, layout: StackLayout) -> str:
    settings = {
        "spark.app.name": cluster,
        "spark.master": "local[2]",
        "spark.scheduler.mode": "FAIR",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(layout.scratch(cluster)),
        # A quarter of the heap: a result is in memory until its operation is closed.
        "spark.driver.maxResultSize": "256m",
        "spark.sql.thriftServer.interruptOnCancel": "true",
        "spark.sql.warehouse.dir": layout.filesystem(cluster),
        "spark.sql.catalogImplementation": "hive",
        # A cached file list would be wrong after another cluster's write.
        "spark.sql.filesourceTableRelationCacheSize": "0",
        "spark.sql.shuffle.partitions": "2",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        **_guard_settings(cluster, spec, layout),
        **spec.spark,
        **spec.own.get(cluster, {}),
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def _guard_settings(cluster: ClusterName, spec: StackSpec, layout: StackLayout) -> dict[str, str]:
    extensions = list(spec.extensions)
    settings: dict[str, str] = {
        "spark.causeway.cluster": cluster,
        "spark.causeway.default.cluster": spec.clusters[0],
    }
    for other in spec.clusters:
        settings[f"spark.causeway.filesystem.{other}"] = layout.filesystem(other)
    guard = spec.guard_of(cluster)
    if guard is not None:
        extensions.insert(0, GUARD)
        # The driver's settings are for other programs with this configuration: the Thrift Server's
        # own command line has both options. Executors need theirs unless the master is local.
        for process in ("driver", "executor"):
            settings[f"spark.{process}.extraClassPath"] = str(guard)
            settings[f"spark.{process}.extraJavaOptions"] = f'"-javaagent:{guard}"'
        settings["spark.plugins"] = WRITE_PLUGIN
    if extensions:
        settings["spark.sql.extensions"] = ",".join(extensions)
    return settings


def _causeway_toml(spec: StackSpec, layout: StackLayout, ports: Ports) -> str:
    listen = spec.proxy or Endpoint("127.0.0.1", 10000)
    lines = [
        "# Written by `causeway up`; docs/reference/settings.md says what each setting means.",
        f"hive.default.cluster.name = {_quoted(spec.clusters[0])}",
        f"hive.metastore.uris = {_quoted(f'thrift://{ports.metastore}')}",
        f"hive.server2.thrift.bind.host = {_quoted(listen.host)}",
        f"hive.server2.thrift.port = {listen.port}",
        'proxy.drain.timeout = "5s"',  # short, because Ctrl-C ends the clusters, too
    ]
    lines.append(f"history.store = {_quoted(str(layout.history))}")
    lines.append(f"proxy.writes.folder = {_quoted(str(layout.writes))}")
    if ports.admin is not None:
        lines += [
            f"proxy.admin.port = {ports.admin.port}",
            f"proxy.admin.token.file = {_quoted(str(layout.admin_token))}",
        ]
    if ports.lifecycle is not None:
        lines += [
            f"lifecycle.port = {ports.lifecycle.port}",
            f"lifecycle.token.file = {_quoted(str(layout.admin_token))}",
        ]
    if spec.console is not None:
        lines.append(f"console.port = {spec.console.port}")
    if spec.views:  # every writer of this stack changes the metastore through them or notifies them
        lines.append('snapshot.writers = "views"')
    for cluster in spec.clusters:
        lines += [
            "",
            f"[hive.cluster.properties.{_quoted(cluster)}]",
            f"FileSystem = {_quoted(layout.filesystem(cluster))}",
            f"JobTracker = {_quoted(str(ports.hs2[cluster]))}",
            f"MetastoreView = {_quoted(str(ports.views[cluster]))}",
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
