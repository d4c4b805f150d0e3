"""What of changed settings a running proxy takes over, and what it is told to restart for."""

from dataclasses import dataclass, fields, replace

from conf.settings import operating, restrictions
from conf.settings.operating import Operating
from conf.settings.settings import Settings, Writers
from conf.topology import Cluster, Topology

# Of `Operating`. Everything else is built into what runs: sockets, threads, connections.
_LIVE = {
    "sessions_per_user": operating.PER_USER,
    "sessions_per_address": operating.PER_ADDRESS,
    "sessions_per_user_address": operating.PER_USER_ADDRESS,
    "connections": operating.CONNECTIONS,
    "connections_per_address": operating.CONNECTIONS_PER_ADDRESS,
    "new_connections": operating.NEW_CONNECTIONS,
    "new_connections_per_address": operating.NEW_CONNECTIONS_PER_ADDRESS,
    "buffered": operating.BUFFERED,
    "statements_per_user": operating.STATEMENTS_PER_USER,
    "statements_per_address": operating.STATEMENTS_PER_ADDRESS,
    "result_rows": operating.RESULT_ROWS,
    "result_bytes": operating.RESULT_BYTES,
    "statement_time": operating.STATEMENT_TIME,
    "idle_result": operating.IDLE_RESULT,
    "idle_session": operating.IDLE_SESSION,
    "idle_session_check": operating.IDLE_SESSION_CHECK,
    "idle_operation": operating.IDLE_OPERATION,
    "check_interval": operating.CHECK_INTERVAL,
    "health_interval": operating.HEALTH_INTERVAL,
    "health_timeout": operating.HEALTH_TIMEOUT,
    "drain_timeout": operating.DRAIN_TIMEOUT,
}
_CLUSTERS = "hive.cluster.properties"
_NAMES = {
    "metastores": "hive.metastore.uris",
    "listen": "hive.server2.thrift.bind.host and hive.server2.thrift.port",
    "identity": "hive.server2.authentication and what belongs to it",
    "logins": f"Authentication and what belongs to it in {_CLUSTERS}",
    "upstream_login": "proxy.login",
    "doors": "hive.server2.transport.mode and what belongs to it",
    "coverage": "router.coverage",
    "upstream": "proxy.upstream",
    "views": f"MetastoreView in {_CLUSTERS}",
    "snapshot_ttl": "snapshot.ttl",
    "snapshot_limit": "snapshot.limit",
    "metastore_timeout": "metastore.timeout",
    "writers": "snapshot.writers",
    "metadata": "proxy.metadata",
    "view_limits": "view.limit and what belongs to it",
    "audit_file": operating.AUDIT_FILE,
    "audit_size": operating.AUDIT_SIZE,
    "admin": operating.ADMIN_PORT,
    "admin_socket": operating.ADMIN_SOCKET,
    "admin_token": operating.ADMIN_TOKEN,
    "workers": operating.WORKERS,
    "zookeeper": f"{operating.QUORUM} and what belongs to it",
}


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The settings that hold from now on, what changed, and what changes with a restart alone."""

    settings: Settings
    changed: tuple[str, ...]
    restart: tuple[str, ...]


def reloaded(old: Settings, new: Settings) -> Reloaded:
    """What becomes of `old`. Pure."""
    topology, changed, restart = _topology(old, new)
    how, live, fixed = _operating(old.operating, new.operating)
    for field in fields(Settings):
        if field.name in ("topology", "operating", "restrictions"):
            continue
        if getattr(old, field.name) != getattr(new, field.name):
            restart.append(_NAMES.get(field.name, field.name))
    if old.restrictions != new.restrictions:
        live.append(f"{restrictions.RESTRICTED} and what belongs to it")
    settings = replace(old, topology=topology, operating=how, restrictions=new.restrictions)
    return Reloaded(settings, tuple(changed + live), tuple(restart + fixed))


def _operating(old: Operating, new: Operating) -> tuple[Operating, list[str], list[str]]:
    names = [each.name for each in fields(Operating)]
    differing = [name for name in names if getattr(old, name) != getattr(new, name)]
    live = [name for name in differing if name in _LIVE]
    taken = replace(old, **{name: getattr(new, name) for name in live})
    fixed = [_NAMES.get(name, name) for name in differing if name not in _LIVE]
    return taken, [_LIVE[name] for name in live], fixed


def _topology(old: Settings, new: Settings) -> tuple[Topology, list[str], list[str]]:
    """Clusters and endpoints come and go; a cluster that stays keeps its file system, for what is
    known of its tables stands on that."""
    mine, theirs, restart = old.topology, new.topology, list[str]()
    if mine == theirs:
        return mine, [], []
    if mine.default != theirs.default:
        restart.append("hive.default.cluster.name")
    if mine.use_default != theirs.use_default:
        restart.append("hive.use.default.cluster")
    known, told = set(mine.clusters), set(theirs.clusters)
    if mine.in_use != theirs.in_use or mine.default not in told:
        return mine, [], [*restart, _CLUSTERS]
    if old.writers is Writers.VIEWS and known != told:
        return mine, [], [*restart, f"{_CLUSTERS} (snapshot.writers = views)"]
    clusters, changed = {}, [f"{name} removed" for name in sorted(known - told)]
    for name, cluster in theirs.clusters.items():
        before = mine.clusters.get(name)
        clusters[name] = cluster
        if before is None:
            changed.append(f"{name} added")
        elif before != cluster:
            clusters[name] = Cluster(name, before.filesystem, cluster.hs2)
            if before.filesystem != cluster.filesystem:
                restart.append(f"FileSystem of {name} in {_CLUSTERS}")
            if before.hs2 != cluster.hs2:
                changed.append(f"JobTracker of {name}")
    return Topology(clusters, mine.default, mine.use_default), changed, restart
