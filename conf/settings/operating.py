"""Settings of the proxy's operation: limits, time-outs, health checks, logs, history,
administration, processes and service discovery."""

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from conf.kinds import (
    COUNT,
    DURATION,
    DURATION_OR_NEVER,
    ENDPOINT,
    FLAG,
    HIVE_DURATION,
    PATH,
    PORT,
    POSITIVE,
    SECRET_PATH,
    SIZE,
    TEXT,
    SettingKind,
    choice,
    count,
    hive_seconds,
    size,
)
from conf.secrets import SecretFile
from conf.settings.rows import (
    LIVE,
    RESTART,
    Setting,
    SettingsReader,
    group,
    made_of,
    optional_group,
    setting,
)
from conf.settings.security import operator_access
from conf.settings.security.operator_access import OperatorAccess
from conf.topology import Endpoint

MOST_WORKERS = 64
_LARGEST_REQUEST = 66 << 20  # bytes


class LogFormat(Enum):
    """`log.format`: lines of text for people, or of JSON."""

    TEXT = "text"
    JSON = "json"


class LogLevel(Enum):
    """`log.level`: the lowest level of lines that are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def _workers(text: str) -> int:
    if count(text) > MOST_WORKERS:
        raise ValueError(f"more than {MOST_WORKERS}: {text!r}")
    return int(text)


def _request_bytes(text: str) -> int:
    if size(text) < _LARGEST_REQUEST:
        raise ValueError(f"less than the largest request, 66m: {text!r}")
    return size(text)


def _hive_seconds_or_never(text: str) -> float:
    return max(0.0, hive_seconds(text))


def _at_least_a_second(text: str) -> float:
    return max(1.0, hive_seconds(text))


def _quorum(text: str, port: int) -> str:
    hosts = [each.strip() for each in text.split(",")]
    return ",".join(
        str(Endpoint.parse(each if ":" in each else f"{each}:{port}")) for each in hosts
    )


def _znode(text: str) -> str:
    name = text.strip("/")
    if not name or any(not part or part in (".", "..") for part in name.split("/")):
        raise ValueError(f"not a path of ZooKeeper: {text!r}")
    return name


_HIVE_TIME = HIVE_DURATION.schema
# fmt: off
_PER_ADDRESS = Setting("proxy.limit.connections.per.ipaddress", COUNT, "2500", LIVE,
    "Connections from one address of clients that have logged in; `0`: no limit. All clients behind"
    " a load balancer or gateway have its address ([operations](../guide/operate.md#limits)).",
    shown="half of the total")
_ADMIN_HOST = Setting("proxy.admin.host", TEXT, "127.0.0.1", RESTART,
    "Where `causeway admin`, its REST API and the metrics are reached.")
_ADMIN_PORT: Setting[int | None] = Setting("proxy.admin.port", PORT, "", RESTART,
    "The port for operators of the proxy; without it there is none.")
_ADMIN_TOKEN: Setting[SecretFile | None] = Setting("proxy.admin.token.file",
    SECRET_PATH, "", RESTART,
    "A file with the tokens of administrators, one a line, as `TOKEN` or as `NAME TOKEN`"
    " ([who may do what](../guide/security.md#the-ports-for-operators)). `causeway admin` and the"
    " console send the first one; in their settings it may be that of an operator or viewer.",
    shown="required with a port")
_DISCOVERY = Setting("hive.server2.support.dynamic.service.discovery", FLAG, "false", RESTART,
    "`true`: register in ZooKeeper, for clients with `serviceDiscoveryMode=zooKeeper`.")
_QUORUM = Setting("hive.zookeeper.quorum", TEXT, "", RESTART,
    "ZooKeeper's servers: `host[:port]`, separated by commas.",
    shown="required with discovery", needed=f"{_DISCOVERY.name} needs it")
_QUORUM_PORT = Setting("hive.zookeeper.client.port", PORT, "2181", RESTART,
    "The port of ZooKeeper's servers that are named without one.")


@dataclass(frozen=True, slots=True)
class ZooKeeper:
    """The registration by which clients with `serviceDiscoveryMode=zooKeeper` find the proxy.
    `published` replaces the listener's own address, for a proxy that listens on every address or
    behind another one."""

    quorum: str = made_of(_QUORUM, _QUORUM_PORT, factory=str)
    namespace: str = setting("hive.server2.zookeeper.namespace",
        SettingKind("znode", _znode), "hiveserver2", RESTART,
        "The znode below which Causeway registers.")
    timeout: float = setting("hive.zookeeper.session.timeout", HIVE_DURATION, "120000ms", RESTART,
        "ZooKeeper removes the registration after this time without a heartbeat.")
    published: Endpoint | None = setting("hive.server2.zookeeper.publish.uri",
        ENDPOINT, "", RESTART, "The `host:port` that Causeway registers in ZooKeeper.",
        shown="the listener's")


@dataclass(frozen=True, slots=True)
class Operating:
    """Counts, where 0 is no limit, and times in seconds, where 0 is no time-out.

    As in HiveServer2, `hive.server2.limit.connections.*` count sessions, which over HTTP outlive
    connections. `new_connections` are those that have not logged in. `idle_operation` below 0: it
    also holds for running statements. `buffered` are the bytes that a process keeps of requests
    that arrive or wait. `audit_size` 0: Causeway does not rotate the file. `admin` needs
    `admin_token`. `workers` 0: one process a core.
    """

    sessions_per_user: int = setting("hive.server2.limit.connections.per.user", COUNT, "1000", LIVE,
        "Sessions that one user may have open; `0`: no limit. As in HiveServer2, the three limits"
        " `hive.server2.limit.connections.*` count sessions, which over HTTP are not connections.")
    sessions_per_address: int = setting("hive.server2.limit.connections.per.ipaddress",
        COUNT, "0", LIVE, "Sessions that clients of one address may have open; `0`: no limit.")
    sessions_per_user_address: int = setting("hive.server2.limit.connections.per.user.ipaddress",
        COUNT, "0", LIVE,
        "Sessions that one user may have open from one address; `0`: no limit.")
    connections: int = setting("proxy.limit.connections.total", POSITIVE, "5000", LIVE,
        "Connections of clients that have logged in.")
    connections_per_address: int = made_of(_PER_ADDRESS, factory=lambda: _PER_ADDRESS.default_value)
    new_connections: int = setting("proxy.limit.connections.new.total", POSITIVE, "2000", LIVE,
        "Connections of clients that have not logged in yet.")
    new_connections_per_address: int = setting("proxy.limit.connections.new.per.ipaddress",
        COUNT, "1000", LIVE,
        "Connections from one address of clients that have not logged in yet; `0`: no limit.")
    buffered: int = setting("proxy.limit.request.bytes",
        SettingKind("bytes", _request_bytes, SIZE.schema), "256m", LIVE,
        "Memory of one process for requests that arrive or wait for an earlier one; at least"
        " `66m`.")
    statements_per_user: int = setting("proxy.limit.statements.per.user", COUNT, "0", LIVE,
        "Statements of one user that may run at the same time; `0`: no limit.")
    statements_per_address: int = setting("proxy.limit.statements.per.ipaddress", COUNT, "0", LIVE,
        "Statements from one address that may run at the same time; `0`: no limit.")
    statement_time: float = setting("proxy.limit.statement.time",
        DURATION_OR_NEVER, "172800s", LIVE,
        "A statement that runs longer is cancelled (CW223); the default is two days, `0` is no"
        " limit.")
    write_wait: float = setting("proxy.limit.write.wait", DURATION, "3600s", LIVE,
        "How long a statement may wait for earlier writes of its table (CW225), with"
        " `router.writes = serialize`.")
    thread_wait: float = setting("proxy.limit.thread.wait", DURATION_OR_NEVER, "3600s", LIVE,
        "How long a statement may wait for a thread of its Thrift Server, which runs too many; then"
        " its client gets the server's refusal. `0`: at once.")
    result_rows: int = setting("proxy.limit.result.rows", COUNT, "100000000", LIVE,
        "Rows that may be read of one result; then it is closed (CW222). `0`: no limit.")
    result_bytes: int = setting("proxy.limit.result.bytes", SIZE, "32g", LIVE,
        "Bytes of one result that may be sent to the client; then it is closed (CW222). `0`: no"
        " limit.")
    idle_result: float = setting("proxy.idle.result.timeout", DURATION_OR_NEVER, "14400s", LIVE,
        "A result that no client has fetched from for this time is closed in its cluster, where"
        " a Thrift Server keeps it in its heap; `0`: never.")
    idle_session: float = setting("hive.server2.idle.session.timeout",
        SettingKind("Hive time", _hive_seconds_or_never, _HIVE_TIME), "7d", LIVE,
        "A session without a request for this time is closed, here and in the clusters; `0`:"
        " never.")
    idle_session_check: bool = setting("hive.server2.idle.session.check.operation",
        FLAG, "true", LIVE, "A session in which a statement runs is not idle.")
    idle_operation: float = setting("hive.server2.idle.operation.timeout",
        HIVE_DURATION, "5d", LIVE,
        "A statement that has ended is closed after this time without a request; a negative"
        " time holds for running statements too, `0` is never.")
    check_interval: float = setting("hive.server2.session.check.interval",
        SettingKind("Hive time", _at_least_a_second, _HIVE_TIME), "60s", LIVE,
        "How often Causeway looks for idle sessions.")
    health_interval: float = setting("proxy.health.interval", DURATION, "10s", LIVE,
        "How often the health of each Thrift Server is checked.")
    health_timeout: float = setting("proxy.health.timeout", DURATION, "60s", LIVE,
        "How long a statement or fetch waits for a Thrift Server that fails its health checks;"
        " then it ends with CW202.")
    workers: int = setting("proxy.workers", SettingKind("number", _workers, COUNT.schema), "0",
        RESTART, "Worker processes; `0`: one a core.")
    drain_timeout: float = setting("proxy.drain.timeout", DURATION, "30s", LIVE,
        "How long running statements may continue after SIGTERM.")
    writes_folder: Path | None = setting("proxy.writes.folder", PATH, "", RESTART,
        "A folder, for this proxy alone, in which each process keeps the writes that it runs. After"
        " a process was killed, the next one [removes their marks](../guide/operate.md#failures)."
        " Without it they stay until an operator ends them.")
    audit_file: Path | None = setting("proxy.audit.file", PATH, "", RESTART,
        "The audit log ([operations](../guide/operate.md)).")
    audit_size: int = setting("proxy.audit.size", SIZE, "0", RESTART,
        "Size, such as `64m`, at which Causeway renames the audit log and starts a new one;"
        " `0`: never.")
    history_store: str = setting("history.store", TEXT, "", RESTART,
        "The database with every statement, copy and instance that ended"
        " ([history](../guide/operate.md#history)): a SQLite file, or `postgresql://..`, which"
        " several proxies and lifecycle servers may share.", secret=True)
    history_age: float = setting("history.age", DURATION_OR_NEVER, "720h", RESTART,
        "Entries of the history that are older are deleted; `0`: none is.")
    history_size: int = setting("history.size", SIZE, "4g", RESTART,
        "The size of the history, about; above it the oldest entries are deleted; `0`: no limit.")
    log_format: LogFormat = setting("log.format", choice(LogFormat), "text", RESTART,
        "The form of the log on standard error; both have the ids of statement, session, client and"
        " cluster ([operations](../guide/operate.md#the-log)).")
    log_level: LogLevel = setting("log.level", choice(LogLevel), "info", LIVE,
        "The lowest level of lines in the log.")
    admin: Endpoint | None = made_of(_ADMIN_HOST, _ADMIN_PORT, factory=lambda: None)
    admin_token: SecretFile | None = made_of(_ADMIN_TOKEN, factory=lambda: None)
    admin_socket: Path | None = setting("proxy.admin.socket", PATH, "", RESTART,
        "A Unix socket with the API of `proxy.admin.port`, which only the user that Causeway runs"
        " as may use.")
    access: OperatorAccess = group(OperatorAccess)
    zookeeper: ZooKeeper | None = optional_group(ZooKeeper, _DISCOVERY)


# fmt: on
def read(reader: SettingsReader) -> Operating:
    admin_port = reader.read(_ADMIN_PORT)
    operating = reader.group(
        Operating,
        admin=admin_port and Endpoint(reader.read(_ADMIN_HOST), admin_port),
        access=operator_access.read(reader),
        zookeeper=_zookeeper(reader) if reader.read(_DISCOVERY) else None,
    )
    if operating.admin is not None and operating.admin_token is None:
        reader.report(_ADMIN_TOKEN, f"missing; {_ADMIN_PORT.name} needs it")
    if reader.is_set(_PER_ADDRESS):
        return operating
    half = max(1, operating.connections // 2)  # no address may keep the others out
    return replace(operating, connections_per_address=half)


def _zookeeper(reader: SettingsReader) -> ZooKeeper:
    port = reader.read(_QUORUM_PORT)
    return reader.group(ZooKeeper, quorum=reader.read(_QUORUM, lambda text: _quorum(text, port)))
