"""What the embedded stack runs: pure functions from a wish to files and command lines."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from xml.sax.saxutils import escape

from conf.names import ClusterName
from conf.topology import Endpoint
from pipeline.spark.jar import SPARK_MAJOR

METASTORE = "metastore"
VIEW = "view"
PROXY = "proxy"
WRITE_PLUGIN = "causeway.guard.WritePlugin"
GUARD = "causeway.guard.Guard"
SERVICES = frozenset({METASTORE, VIEW, PROXY})  # all others are clusters

# The packages that Spark opens to itself on Java 17 (its JavaModuleOptions).
_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)


@dataclass(frozen=True, slots=True)
class StackSpec:
    """What is wanted. The first cluster is hive.default.cluster.name.

    `spark` adds to or replaces Spark settings of every Thrift Server, `extensions` adds to
    spark.sql.extensions, `jars` are put on their class path. `views` says whether each Thrift
    Server sees the metastore through its cluster's view; `proxy` is where the proxy listens, None
    to have none. `guard` is the jar of the extension that keeps writes in the primary, None to go
    without. `others` are the clusters with another Spark than that of the stack.
    """

    clusters: tuple[ClusterName, ...]
    proxy: Endpoint | None = None
    views: bool = True
    guard: Path | None = None
    heap: str = "1g"
    extensions: tuple[str, ...] = ()
    spark: Mapping[str, str] = field(default_factory=dict)
    jars: tuple[Path, ...] = ()
    others: Mapping[ClusterName, "OtherSpark"] = field(default_factory=dict)

    def guard_of(self, cluster: ClusterName) -> Path | None:
        """The guard's jar for the cluster's Spark."""
        return self.others[cluster].guard if cluster in self.others else self.guard


@dataclass(frozen=True, slots=True)
class OtherSpark:
    """The home of a Spark, and the guard's jar for it."""

    home: Path
    guard: Path | None


@dataclass(frozen=True, slots=True)
class Ports:
    """Where each service listens, all on 127.0.0.1. `admin` is the proxy's administration."""

    metastore: Endpoint
    hs2: Mapping[ClusterName, Endpoint]
    views: Mapping[ClusterName, Endpoint]
    admin: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the stack's files are. `root` is absolute."""

    root: Path

    @classmethod
    def at(cls, folder: Path) -> Self:
        return cls(folder.absolute())

    @property
    def endpoints(self) -> Path:
        return self.root / "endpoints.json"

    @property
    def settings(self) -> Path:
        return self.root / "causeway.toml"

    @property
    def leftovers(self) -> Path:
        """Where the view records copies that a drop leaves behind."""
        return self.root / "leftovers.jsonl"

    @property
    def admin_token(self) -> Path:
        """What who administers the proxy has to know."""
        return self.root / "admin.token"

    @property
    def history(self) -> Path:
        """Every statement that ended in the proxy."""
        return self.root / "history.db"

    @property
    def derby(self) -> Path:
        return self.root / "metastore_db"

    def warehouse(self, cluster: ClusterName) -> Path:
        """The folder that is the cluster's whole file system."""
        return self.root / "warehouse" / cluster

    def filesystem(self, cluster: ClusterName) -> str:
        return hadoop_uri(self.warehouse(cluster))

    def conf(self, service: str) -> Path:
        return self.root / "conf" / service

    def scratch(self, service: str) -> Path:
        return self.root / "tmp" / service

    def log(self, service: str) -> Path:
        return self.root / "log" / f"{service}.log"


@dataclass(frozen=True, slots=True)
class Service:
    """One process: its command, working folder, log, and where it listens when ready."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    listens: tuple[Endpoint, ...]


def files(spec: StackSpec, layout: Layout, ports: Ports) -> dict[Path, str]:
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


def metastore_service(
    java: Path, spark_home: Path, jar: Path | None, layout: Layout, ports: Ports
) -> Service:
    """`jar` is causeway-guard.jar; None: the metastore's main program is a Python one."""
    jars = [str(layout.conf(METASTORE)), *([] if jar is None else [str(jar)])]
    classpath, port = os.pathsep.join([*jars, f"{spark_home / 'jars'}/*"]), ports.metastore.port
    command = (
        *jvm(java, "512m", layout.scratch(METASTORE)),
        "-XX:TieredStopAtLevel=1",  # its work is short: the quick compiler halves its start
    )
    argv = (
        (*_WITHOUT_JAR, str(port), classpath, *command)
        if jar is None
        else (*command, "-cp", classpath, _LOCAL_METASTORE, str(port))
    )
    return _service(METASTORE, argv, {}, layout, (ports.metastore,))


def thrift_server(
    cluster: ClusterName,
    java: Path,
    spark_home: Path,
    spec: StackSpec,
    layout: Layout,
    ports: Ports,
) -> Service:
    guard = spec.guard_of(cluster)
    if cluster in spec.others:
        spark_home = spec.others[cluster].home
    jars = [str(jar) for jar in (guard, *spec.jars) if jar is not None]
    classpath = os.pathsep.join([str(layout.conf(cluster)), *jars, f"{spark_home / 'jars'}/*"])
    agent = () if guard is None else (f"-javaagent:{guard}",)
    argv = (
        *jvm(java, spec.heap, layout.scratch(cluster)),
        *agent,
        *("-cp", classpath, "org.apache.spark.deploy.SparkSubmit"),
        *("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"),
        "spark-internal",
    )
    environment = {
        "CAUSEWAY_CLUSTER": cluster,
        "SPARK_CONF_DIR": str(layout.conf(cluster)),
        "SPARK_HOME": str(spark_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return _service(cluster, argv, environment, layout, (ports.hs2[cluster],))


def view_service(layout: Layout, ports: Ports) -> Service:
    argv = (
        *(*_CAUSEWAY, "metastore", "serve", "--conf", str(layout.settings)),
        *("--leftovers", str(layout.leftovers)),
    )
    return _service(VIEW, argv, {}, layout, tuple(ports.views.values()))


def proxy_service(listen: Endpoint, layout: Layout) -> Service:
    argv = (*_CAUSEWAY, "serve", "--conf", str(layout.settings))
    return _service(PROXY, argv, {}, layout, (listen,))


def jvm(java: Path, heap: str, scratch: Path) -> tuple[str, ...]:
    """A Java command up to its options, with the heap's limit and its own temporary folder."""
    opened = (f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED)
    return (
        str(java),
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",  # keeps each JVM small
        "-XX:-UsePerfData",
        f"-Djava.io.tmpdir={scratch}",
        f"-Dderby.system.home={scratch}",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        *opened,
    )


def hadoop_uri(path: Path) -> str:
    """Hadoop takes a space as a space, and %20 as three letters."""
    return f"file://{path}"


def hive_site(properties: Mapping[str, str]) -> str:
    """Hadoop's XML of `properties`."""
    rows = (
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    return f"<?xml version='1.0'?>\n<configuration>\n{''.join(rows)}</configuration>\n"


_CAUSEWAY = (sys.executable, "-m", "cli.main")
_LOCAL_METASTORE = "causeway.stack.LocalMetastore"
_WITHOUT_JAR = (sys.executable, "-m", "cli.stack.local_metastore")

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
# A client that goes without a word is no error of the server's.
logger.goodbye.name = org.apache.thrift.server.TThreadPoolServer
logger.goodbye.level = off
appender.console.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""
# Without it all jobs are in one pool that runs them in the order of their start, in spite of FAIR.
_FAIR_POOL = """\
<allocations>
  <pool name="default">
    <schedulingMode>FAIR</schedulingMode>
  </pool>
</allocations>
"""


def _service(
    name: str,
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    layout: Layout,
    listens: tuple[Endpoint, ...],
) -> Service:
    return Service(name, argv, environment, layout.scratch(name), layout.log(name), listens)


def _metastore_site(spec: StackSpec, layout: Layout) -> dict[str, str]:
    return {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={layout.derby};create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": layout.filesystem(spec.clusters[0]),
        "hive.hmshandler.retry.interval": "100ms",  # a failed call answers within a second
        "hive.async.log.enabled": "false",  # Spark's jars lack what it needs
        "hive.metastore.server.min.threads": "10",
        # Spark 4 lacks the jar of the default, which a drop of a database needs.
        **({"datanucleus.connectionPoolingType": "HikariCP"} if SPARK_MAJOR >= 4 else {}),
    }


def _cluster_site(
    cluster: ClusterName, spec: StackSpec, layout: Layout, ports: Ports
) -> dict[str, str]:
    metastore = ports.views[cluster] if spec.views else ports.metastore
    return {
        "hive.metastore.uris": f"thrift://{metastore}",
        # All services start at once; the metastore is the last to answer.
        "hive.metastore.connect.retries": "120",
        "hive.metastore.client.connect.retry.delay": "1s",
        "hive.server2.thrift.bind.host": ports.hs2[cluster].host,
        "hive.server2.thrift.port": str(ports.hs2[cluster].port),
        "hive.server2.long.polling.timeout": "100ms",
        "hive.exec.scratchdir": hadoop_uri(layout.scratch(cluster) / "hive"),
        "hive.exec.local.scratchdir": str(layout.scratch(cluster) / "hive-local"),
        "hive.server2.logging.operation.log.location": str(layout.scratch(cluster) / "operations"),
        "hive.async.log.enabled": "false",
    }


def _spark_defaults(cluster: ClusterName, spec: StackSpec, layout: Layout) -> str:
    settings = {
        "spark.app.name": cluster,
        "spark.master": "local[2]",
        "spark.scheduler.mode": "FAIR",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(layout.scratch(cluster)),
        # Of a heap of 1 GB: a result is collected whole, and kept until its operation is closed.
        "spark.driver.maxResultSize": "256m",
        "spark.sql.thriftServer.interruptOnCancel": "true",
        "spark.sql.warehouse.dir": layout.filesystem(cluster),
        "spark.sql.catalogImplementation": "hive",
        # Else one cluster keeps file lists that a write elsewhere has made wrong.
        "spark.sql.filesourceTableRelationCacheSize": "0",
        "spark.sql.shuffle.partitions": "2",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        **_guard_settings(cluster, spec, layout),
        **spec.spark,
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def _guard_settings(cluster: ClusterName, spec: StackSpec, layout: Layout) -> dict[str, str]:
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
        # The driver's are for programs that are started with this configuration; the Thrift
        # Server's command has them. Executors are processes of their own unless it runs locally.
        for process in ("driver", "executor"):
            settings[f"spark.{process}.extraClassPath"] = str(guard)
            settings[f"spark.{process}.extraJavaOptions"] = f'"-javaagent:{guard}"'
        settings["spark.plugins"] = WRITE_PLUGIN
    if extensions:
        settings["spark.sql.extensions"] = ",".join(extensions)
    return settings


def _causeway_toml(spec: StackSpec, layout: Layout, ports: Ports) -> str:
    listen = spec.proxy or Endpoint("127.0.0.1", 10000)
    lines = [
        "# Written by `causeway up`; docs/reference/settings.md says what each setting means.",
        f"hive.default.cluster.name = {_quoted(spec.clusters[0])}",
        f"hive.metastore.uris = {_quoted(f'thrift://{ports.metastore}')}",
        f"hive.server2.thrift.bind.host = {_quoted(listen.host)}",
        f"hive.server2.thrift.port = {listen.port}",
        'proxy.drain.timeout = "5s"',  # Ctrl-C ends the clusters, too
    ]
    lines.append(f"history.store = {_quoted(str(layout.history))}")
    if ports.admin is not None:
        lines += [
            f"proxy.admin.port = {ports.admin.port}",
            f"proxy.admin.token.file = {_quoted(str(layout.admin_token))}",
        ]
    if spec.views:  # all that runs here changes the metastore through them, or tells them
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
