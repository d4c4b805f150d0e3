"""The commands of the embedded stack's services, and the paths of its files. Pure."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from conf.names import ClusterName
from conf.topology import Endpoint

METASTORE = "metastore"
VIEW = "view"
PROXY = "proxy"
CONSOLE = "console"
LIFECYCLE = "lifecycle"
WRITE_PLUGIN = "causeway.guard.WritePlugin"
GUARD = "causeway.guard.Guard"
SERVICES = frozenset({METASTORE, VIEW, PROXY, CONSOLE, LIFECYCLE})  # other names are clusters

# The packages of the JDK that Spark needs opened on Java 17 (its JavaModuleOptions).
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
    """The description of a stack. The first cluster is hive.default.cluster.name.

    `proxy` and `console` are the addresses to listen on; None starts none. With `lifecycle` a
    lifecycle server runs beside the proxy. With `views` each Thrift Server uses the metastore
    through its cluster's view. `guard` is the guard's jar; None runs without it. `spark` adds or
    replaces Spark settings of every Thrift Server, `own` those of one cluster. `extensions` adds to
    spark.sql.extensions, and `jars` to the class path, of every Thrift Server. `others` has the
    clusters that run another Spark.
    """

    clusters: tuple[ClusterName, ...]
    proxy: Endpoint | None = None
    console: Endpoint | None = None
    lifecycle: bool = False
    views: bool = True
    guard: Path | None = None
    heap: str = "1g"
    extensions: tuple[str, ...] = ()
    spark: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[ClusterName, Mapping[str, str]] = field(default_factory=dict)
    jars: tuple[Path, ...] = ()
    others: Mapping[ClusterName, "OtherSpark"] = field(default_factory=dict)

    def guard_of(self, cluster: ClusterName) -> Path | None:
        """The guard's jar for the cluster's Spark."""
        return self.others[cluster].guard if cluster in self.others else self.guard


@dataclass(frozen=True, slots=True)
class OtherSpark:
    """The home of another Spark, and the guard's jar for its version."""

    home: Path
    guard: Path | None


@dataclass(frozen=True, slots=True)
class Ports:
    """The address of each service, all on 127.0.0.1. `admin` is that of the proxy's administration,
    `lifecycle` that of the lifecycle server."""

    metastore: Endpoint
    hs2: Mapping[ClusterName, Endpoint]
    views: Mapping[ClusterName, Endpoint]
    admin: Endpoint | None = None
    lifecycle: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class StackLayout:
    """The paths of the stack's files. `root` is absolute."""

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
        """The view's record of orphans: copies that a drop leaves behind."""
        return self.root / "leftovers.jsonl"

    @property
    def admin_token(self) -> Path:
        """The file with the operators' token for the proxy and the lifecycle server."""
        return self.root / "admin.token"

    @property
    def writes(self) -> Path:
        """The folder in which the proxy records running writes."""
        return self.root / "writes"

    @property
    def history(self) -> Path:
        """The database of ended statements, copies and instances."""
        return self.root / "history.db"

    @property
    def lifecycle_store(self) -> Path:
        """The database of feeds, processes and their instances."""
        return self.root / "lifecycle.db"

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
    """A process: its command, environment, working folder, log, and the addresses that it listens
    on once it is ready."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    listens: tuple[Endpoint, ...]


def metastore_service(
    java: Path, spark_home: Path, jar: Path | None, layout: StackLayout, ports: Ports
) -> Service:
    """The metastore. `jar` is causeway-guard.jar; without it, a Python program is started, which
    starts the JVM."""
    jars = [] if jar is None else [jar]
    classpath = class_path(spark_home, *jars, layout.conf(METASTORE))
    port = ports.metastore.port
    command = (
        *jvm(java, "512m", layout.scratch(METASTORE)),
        "-XX:TieredStopAtLevel=1",  # only the quick compiler: halves the time to start
        # Seconds until Derby looks for deadlocks between a reader and a writer and aborts one of
        # them. Clients give up before the default of 20.
        "-Dderby.locks.deadlockTimeout=1",
        # Number of compiled statements that Derby caches. The metastore uses more than the default
        # of 100, and each compilation generates a Java class.
        "-Dderby.language.statementCacheSize=2000",
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
    layout: StackLayout,
    ports: Ports,
) -> Service:
    guard = spec.guard_of(cluster)
    if cluster in spec.others:
        spark_home = spec.others[cluster].home
    jars = [jar for jar in (guard, *spec.jars) if jar is not None]
    classpath = class_path(spark_home, *jars, layout.conf(cluster))
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


def view_service(layout: StackLayout, ports: Ports) -> Service:
    argv = (
        *(*_CAUSEWAY, "metastore", "serve", "--conf", str(layout.settings)),
        *("--leftovers", str(layout.leftovers)),
    )
    return _service(VIEW, argv, {}, layout, tuple(ports.views.values()))


def proxy_service(listen: Endpoint, layout: StackLayout) -> Service:
    argv = (*_CAUSEWAY, "serve", "--conf", str(layout.settings))
    return _service(PROXY, argv, {}, layout, (listen,))


def console_service(listen: Endpoint, layout: StackLayout) -> Service:
    argv = (*_CAUSEWAY, "console", "--conf", str(layout.settings))
    return _service(CONSOLE, argv, {}, layout, (listen,))


def lifecycle_service(listen: Endpoint, layout: StackLayout) -> Service:
    argv = (*_LIFECYCLE_SERVER, str(layout.settings), str(layout.lifecycle_store))
    return _service(LIFECYCLE, argv, {}, layout, (listen,))


def jvm(java: Path, heap: str, scratch: Path) -> tuple[str, ...]:
    """The command `java` with its options: the heap's limit, a temporary folder and the opened
    packages."""
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


def class_path(spark_home: Path, *others: object) -> str:
    """A class path of Spark's jars, then the others, in the order that `spark.jars` gives, too. A
    class archive (tests/class_archive.py) needs the same prefix as its own class path."""
    return os.pathsep.join([f"{spark_home / 'jars'}/*", *map(str, others)])


def hadoop_uri(path: Path) -> str:
    """The path as a URI without percent-encoding: Hadoop reads %20 as three characters."""
    return f"file://{path}"


_CAUSEWAY = (sys.executable, "-m", "cli.main")
_LIFECYCLE_SERVER = (sys.executable, "-m", "cli.stack.lifecycle_server")
_LOCAL_METASTORE = "causeway.stack.LocalMetastore"
_WITHOUT_JAR = (sys.executable, "-m", "cli.stack.local_metastore")


def _service(
    name: str,
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    layout: StackLayout,
    listens: tuple[Endpoint, ...],
) -> Service:
    return Service(name, argv, environment, layout.scratch(name), layout.log(name), listens)
