"""How the proxy is run: who may have how much, what is idle, who watches, where it is written."""

import re
from dataclasses import dataclass
from pathlib import Path

from conf import secrets
from conf.secrets import SecretFile
from conf.settings.parse import Reader, flag, port, positive, seconds
from conf.topology import Endpoint

PER_USER = "hive.server2.limit.connections.per.user"
PER_ADDRESS = "hive.server2.limit.connections.per.ipaddress"
PER_USER_ADDRESS = "hive.server2.limit.connections.per.user.ipaddress"
CONNECTIONS = "proxy.limit.connections.total"
CONNECTIONS_PER_ADDRESS = "proxy.limit.connections.per.ipaddress"
NEW_CONNECTIONS = "proxy.limit.connections.new.total"
NEW_CONNECTIONS_PER_ADDRESS = "proxy.limit.connections.new.per.ipaddress"
BUFFERED = "proxy.limit.request.bytes"
STATEMENTS_PER_USER = "proxy.limit.statements.per.user"
STATEMENTS_PER_ADDRESS = "proxy.limit.statements.per.ipaddress"
RESULT_ROWS = "proxy.limit.result.rows"
RESULT_BYTES = "proxy.limit.result.bytes"
STATEMENT_TIME = "proxy.limit.statement.time"
IDLE_RESULT = "proxy.idle.result.timeout"
IDLE_SESSION = "hive.server2.idle.session.timeout"
IDLE_SESSION_CHECK = "hive.server2.idle.session.check.operation"
IDLE_OPERATION = "hive.server2.idle.operation.timeout"
CHECK_INTERVAL = "hive.server2.session.check.interval"
HEALTH_INTERVAL = "proxy.health.interval"
HEALTH_TIMEOUT = "proxy.health.timeout"
DRAIN_TIMEOUT = "proxy.drain.timeout"
AUDIT_FILE = "proxy.audit.file"
AUDIT_SIZE = "proxy.audit.size"
ADMIN_HOST = "proxy.admin.host"
ADMIN_PORT = "proxy.admin.port"
ADMIN_SOCKET = "proxy.admin.socket"
ADMIN_TOKEN = "proxy.admin.token.file"
WORKERS = "proxy.workers"
DISCOVERY = "hive.server2.support.dynamic.service.discovery"
QUORUM = "hive.zookeeper.quorum"
QUORUM_PORT = "hive.zookeeper.client.port"
NAMESPACE = "hive.server2.zookeeper.namespace"
ZOOKEEPER_TIMEOUT = "hive.zookeeper.session.timeout"
PUBLISHED = "hive.server2.zookeeper.publish.uri"

NAMES = (
    PER_USER,
    PER_ADDRESS,
    PER_USER_ADDRESS,
    CONNECTIONS,
    CONNECTIONS_PER_ADDRESS,
    NEW_CONNECTIONS,
    NEW_CONNECTIONS_PER_ADDRESS,
    BUFFERED,
    STATEMENTS_PER_USER,
    STATEMENTS_PER_ADDRESS,
    RESULT_ROWS,
    RESULT_BYTES,
    STATEMENT_TIME,
    IDLE_RESULT,
    IDLE_SESSION,
    IDLE_SESSION_CHECK,
    IDLE_OPERATION,
    CHECK_INTERVAL,
    HEALTH_INTERVAL,
    HEALTH_TIMEOUT,
    DRAIN_TIMEOUT,
    AUDIT_FILE,
    AUDIT_SIZE,
    ADMIN_HOST,
    ADMIN_PORT,
    ADMIN_SOCKET,
    ADMIN_TOKEN,
    WORKERS,
    DISCOVERY,
    QUORUM,
    QUORUM_PORT,
    NAMESPACE,
    ZOOKEEPER_TIMEOUT,
    PUBLISHED,
)

DAY = 86_400.0
_LARGEST_REQUEST = 66 << 20  # bytes
MOST_WORKERS = 64
_HIVE_TIME = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-z]*)")
_HIVE_UNITS = {"": 1e-3, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
_HIVE_UNITS |= {"m": 60.0, "min": 60.0, "minutes": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600}
_HIVE_UNITS |= {"d": DAY, "day": DAY, "days": DAY, "seconds": 1.0}
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True)
class ZooKeeper:
    """Where `serviceDiscoveryMode=zooKeeper` finds us. `published` replaces the listener's own
    address, for who listens on every one or behind another."""

    quorum: str
    namespace: str = "hiveserver2"
    timeout: float = 120.0
    published: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class Operating:
    """Counts, where 0 is any number, and times in seconds, where 0 is for ever.

    As HiveServer2 does, `hive.server2.limit.connections.*` count sessions: with HTTP they outlive
    connections. `idle_operation` below 0 means that a statement may also be idle while it runs.
    `new_connections` are those that have not logged in. `buffered` is the bytes of requests that a
    process keeps while they come in or wait.
    `result_rows` and `result_bytes` are what may be read of one result, `statement_time` how long
    a statement may run, `idle_result` how long a result in a cluster may wait to be read.
    `audit_size` is in bytes, 0: the file is not rotated by us. `admin_token` is needed beside
    `admin`; a `admin_socket` is its owner's alone. `workers` are processes, 0: one a core.
    """

    sessions_per_user: int = 1_000
    sessions_per_address: int = 0
    sessions_per_user_address: int = 0
    connections: int = 5_000
    connections_per_address: int = 2_500
    new_connections: int = 2_000
    new_connections_per_address: int = 1_000
    buffered: int = 256 << 20
    statements_per_user: int = 0
    statements_per_address: int = 0
    result_rows: int = 100_000_000
    result_bytes: int = 32 << 30
    statement_time: float = 2 * DAY
    idle_result: float = DAY / 6
    idle_session: float = 7 * DAY
    idle_session_check: bool = True
    idle_operation: float = 5 * DAY
    check_interval: float = 60.0
    health_interval: float = 10.0
    health_timeout: float = 60.0
    drain_timeout: float = 30.0
    audit_file: Path | None = None
    audit_size: int = 0
    admin: Endpoint | None = None
    admin_socket: Path | None = None
    admin_token: SecretFile | None = None
    workers: int = 0
    zookeeper: ZooKeeper | None = None


def read(reader: Reader) -> Operating:
    """The group's settings. Raises BadSetting."""
    get, default = reader.read, Operating()
    admin_port = get(ADMIN_PORT, port, None)
    token = secrets.read(reader, ADMIN_TOKEN)
    if admin_port is not None and token is None:
        raise reader.bad(ADMIN_TOKEN, f"missing; who knows what it holds may use {ADMIN_PORT}")
    host = get(ADMIN_HOST, str, "127.0.0.1")
    return Operating(
        sessions_per_user=get(PER_USER, count, default.sessions_per_user),
        sessions_per_address=get(PER_ADDRESS, count, 0),
        sessions_per_user_address=get(PER_USER_ADDRESS, count, 0),
        connections=get(CONNECTIONS, positive, default.connections),
        connections_per_address=_per_address(reader),
        new_connections=get(NEW_CONNECTIONS, positive, default.new_connections),
        new_connections_per_address=get(
            NEW_CONNECTIONS_PER_ADDRESS, count, default.new_connections_per_address
        ),
        buffered=get(BUFFERED, _buffered, default.buffered),
        statements_per_user=get(STATEMENTS_PER_USER, count, 0),
        statements_per_address=get(STATEMENTS_PER_ADDRESS, count, 0),
        result_rows=get(RESULT_ROWS, count, default.result_rows),
        result_bytes=get(RESULT_BYTES, size, default.result_bytes),
        statement_time=get(STATEMENT_TIME, _seconds_or_never, default.statement_time),
        idle_result=get(IDLE_RESULT, _seconds_or_never, default.idle_result),
        idle_session=max(0.0, get(IDLE_SESSION, hive_time, default.idle_session)),
        idle_session_check=get(IDLE_SESSION_CHECK, flag, True),
        idle_operation=get(IDLE_OPERATION, hive_time, default.idle_operation),
        check_interval=_at_least_a_second(reader, default.check_interval),
        health_interval=get(HEALTH_INTERVAL, seconds, default.health_interval),
        health_timeout=get(HEALTH_TIMEOUT, seconds, default.health_timeout),
        drain_timeout=get(DRAIN_TIMEOUT, seconds, default.drain_timeout),
        audit_file=get(AUDIT_FILE, Path, None),
        audit_size=get(AUDIT_SIZE, size, 0),
        admin=None if admin_port is None else Endpoint(host, admin_port),
        admin_socket=get(ADMIN_SOCKET, Path, None),
        admin_token=token,
        workers=get(WORKERS, _workers, 0),
        zookeeper=_zookeeper(reader),
    )


def _workers(text: str) -> int:
    if count(text) > MOST_WORKERS:
        raise ValueError(f"more than {MOST_WORKERS}: {text!r}")
    return int(text)


def _seconds_or_never(text: str) -> float:
    return 0.0 if text == "0" else seconds(text)


def _per_address(reader: Reader) -> int:
    """Half of all connections, so that no address keeps the others out."""
    every = reader.read(CONNECTIONS, positive, Operating().connections)
    return reader.read(CONNECTIONS_PER_ADDRESS, count, max(1, every // 2))


def _buffered(text: str) -> int:
    if size(text) < _LARGEST_REQUEST:
        raise ValueError(f"less than the largest request, 66m: {text!r}")
    return size(text)


def _at_least_a_second(reader: Reader, default: float) -> float:
    return max(1.0, reader.read(CHECK_INTERVAL, hive_time, default))


def _zookeeper(reader: Reader) -> ZooKeeper | None:
    if not reader.read(DISCOVERY, flag, False):
        return None
    default = ZooKeeper("")
    at = reader.read(QUORUM_PORT, port, 2181)
    quorum = reader.read(QUORUM, lambda text: _quorum(text, at), "")
    if not quorum:
        raise reader.bad(QUORUM, f"missing; {DISCOVERY} needs it")
    return ZooKeeper(
        quorum,
        reader.read(NAMESPACE, _namespace, default.namespace),
        reader.read(ZOOKEEPER_TIMEOUT, hive_time, default.timeout),
        reader.read(PUBLISHED, Endpoint.parse, None),
    )


def _quorum(text: str, at: int) -> str:
    hosts = [each.strip() for each in text.split(",")]
    return ",".join(str(Endpoint.parse(each if ":" in each else f"{each}:{at}")) for each in hosts)


def _namespace(text: str) -> str:
    name = text.strip("/")
    if not name or any(not part or part in (".", "..") for part in name.split("/")):
        raise ValueError(f"not a path of ZooKeeper: {text!r}")
    return name


def count(text: str) -> int:
    """Raises ValueError."""
    if not text.isdigit():
        raise ValueError(f"not a number: {text!r}")
    return int(text)


def size(text: str) -> int:
    """Bytes, as `64m` or a number. Raises ValueError."""
    number, unit = (text[:-1], text[-1].lower()) if text[-1:].isalpha() else (text, "")
    if not number.isdigit() or unit not in _SIZES:
        raise ValueError(f"not a size such as 1000000, 64m or 1g: {text!r}")
    return int(number) * _SIZES[unit]


def hive_time(text: str) -> float:
    """A time as Hive writes it, in seconds; one without a unit is in milliseconds.

    Raises ValueError.
    """
    match = _HIVE_TIME.fullmatch(text.lower())
    if match is None or match[2] not in _HIVE_UNITS:
        raise ValueError(f"not a time such as 3600000, 30min or 7d: {text!r}")
    return float(match[1]) * _HIVE_UNITS[match[2]]
