"""All settings of a running Causeway. docs/reference/settings.md describes them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from urllib.parse import urlsplit

from conf.errors import Problem
from conf.kinds import DURATION, ENDPOINTS, FLAG, PORT, POSITIVE, TEXT, SettingKind, choice
from conf.names import ClusterName
from conf.secrets import Sharing
from conf.settings import console, lifecycle, operating
from conf.settings.clusters import VIEW, Clusters, cluster_names, parse_clusters
from conf.settings.console import ConsoleSettings
from conf.settings.fetching import Fetching
from conf.settings.lifecycle import Lifecycle
from conf.settings.operating import Operating
from conf.settings.rows import LIVE, RESTART, Setting, SettingsReader, group, made_of, setting
from conf.settings.security import (
    access,
    authentication,
    metastore_login,
    restrictions,
    transports,
    view_access,
    view_tls,
)
from conf.settings.security.access import AccessSettings
from conf.settings.security.authentication import Identity
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.restrictions import SessionRestrictions
from conf.settings.security.transports import Transports
from conf.settings.security.upstream_auth import Login, parse_login, parse_logins
from conf.settings.security.view_access import ViewAccess
from conf.settings.security.view_tls import ViewTls
from conf.settings.telemetry import TelemetrySettings
from conf.settings.view_limits import ViewLimits
from conf.topology import Endpoint, Topology


class Coverage(Enum):
    """`router.coverage` (D1): which partitions of an input must be in the cluster."""

    READ = "read"
    TABLE = "table"


class ClusterChoice(Enum):
    """`router.choice`: which of several clusters that may run a read runs it."""

    SPECIFICATION = "specification"
    COST = "cost"


class Writes(Enum):
    """`router.writes`: whether INSERTs into one table wait for each other."""

    SERIALIZE = "serialize"
    ALLOW = "allow"


class LostReads(Enum):
    """`router.lost.reads`: whether a query moves or fails when its cluster is lost or down."""

    MOVE = "move"
    FAIL = "fail"


class Writers(Enum):
    """`snapshot.writers`: whether the metastore changes only through Causeway's views."""

    ANY = "any"
    VIEWS = "views"


class MetadataSource(Enum):
    """`proxy.metadata`: whether memory or the cluster answers questions about the catalog."""

    AUTOMATIC = "automatic"
    MEMORY = "memory"
    CLUSTER = "cluster"


def _thrift_uris(text: str) -> tuple[Endpoint, ...]:
    metastores = []
    for each in text.split(","):
        uri = urlsplit(each.strip())
        if uri.scheme != "thrift":
            raise ValueError(f"not thrift://host:port: {each.strip()!r}")
        metastores.append(Endpoint.parse(uri.netloc))
    return tuple(metastores)


_JSON = {"type": ["string", "object"]}
# fmt: off
CLUSTERS: Setting[Clusters] = Setting("hive.cluster.properties",
    SettingKind("JSON or TOML table", parse_clusters, _JSON, ({}, {})), "", LIVE,
    "The clusters: name to [keys](#the-keys-of-a-cluster). Without it Causeway changes nothing.")
_LOGINS: Setting[dict[ClusterName, Login]] = Setting(CLUSTERS.name,
    SettingKind("the same JSON", parse_logins, empty={}), "", RESTART,
    "The logins in the clusters.")
DEFAULT_CLUSTER: Setting[ClusterName | None] = Setting("hive.default.cluster.name",
    SettingKind("name of a cluster", ClusterName), "", RESTART,
    "The cluster that owns new tables, and all tables without cluster facts.",
    shown="required with clusters")
USE_DEFAULT = Setting("hive.use.default.cluster", FLAG, "false", RESTART,
    "`true`: the default cluster is tried before the primaries of the inputs.")
BIND_HOST = Setting("hive.server2.thrift.bind.host", TEXT, "127.0.0.1", RESTART,
    "The address that Causeway listens on.")
BIND_PORT = Setting("hive.server2.thrift.port", PORT, "10000", RESTART,
    "The port of the binary transport.")
LOGIN = Setting("proxy.login", SettingKind("JSON or TOML table", parse_login, _JSON, Login()), "",
    RESTART, "How Causeway logs in to the servers of `proxy.upstream`: the keys `Authentication` to"
    " `CaFile` of [a cluster](#the-keys-of-a-cluster).")
WRITERS = Setting("snapshot.writers", choice(Writers), "any", RESTART,
    "`views`: the metastore changes only through the views or by Causeway's own commands with"
    " these settings (`lifecycle serve` takes them by `--conf`), and each cluster has its"
    " `MetastoreView`. Causeway then learns from the views what changed instead of asking the"
    " metastore for each table ([why](../internals/snapshot.md)), and lists tables from memory.",
    shown="`any` (`views` in what `causeway up` writes)")
SECRET_FILES = Setting("proxy.secret.files", choice(Sharing), "private", RESTART,
    "`private`: a file with passwords, a token or keys is used only if no other user can read"
    " or change it ([which files, and containers](../guide/security.md#files-that-hold-secrets));"
    " `shared`: other users may read it.")


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in seconds.

    `metastores` are the addresses of the real Hive Metastore, in order of preference. `views` are
    the addresses of the metastore views by cluster, one for each process of the view. `upstream`
    are the Thrift Servers that receive all statements, unanalysed, while no cluster is configured
    (DC-N1). The proxy logs in there with `upstream_login`, and with `logins` in the clusters that
    need more than a user name.
    """

    topology: Topology = made_of(CLUSTERS, DEFAULT_CLUSTER, USE_DEFAULT, factory=Topology)
    metastores: tuple[Endpoint, ...] = setting("hive.metastore.uris",
        SettingKind("list of URIs", _thrift_uris, {"type": ["string", "array"]}, ()), "", RESTART,
        "The metastore: `thrift://host:port`, several separated by commas, in order of preference.")
    listen: Endpoint = made_of(
        BIND_HOST, BIND_PORT, factory=lambda: Endpoint("127.0.0.1", BIND_PORT.default_value)
    )
    coverage: Coverage = setting("router.coverage", choice(Coverage), "read", RESTART,
        "What a cluster must have of a table to read it: `read`, the partitions that the"
        " statement reads; `table`, all partitions.")
    cluster_choice: ClusterChoice = setting("router.choice", choice(ClusterChoice),
        "specification", RESTART,
        "Of several clusters that [may run a query](../reference/sql.md#how-a-cluster-is-chosen):"
        " `specification`, the first in the order of the inputs runs it; `cost`, the one where it"
        " is [expected to end first](../guide/operate.md#queries-that-several-clusters-may-run).")
    writes: Writes = setting("router.writes", choice(Writes), "serialize", RESTART,
        "INSERTs into one table that come at the same time: `serialize`, one after the other in"
        " the order in which they came; `allow`, all at once, although"
        " [Spark may lose rows](../guide/operate.md#writes-of-one-table-at-the-same-time).")
    lost_reads: LostReads = setting("router.lost.reads", choice(LostReads), "move", RESTART,
        "A query whose cluster is down, or is lost before its client has a row: `move`, it runs"
        " in another cluster that has [all it reads]"
        "(../guide/operate.md#queries-whose-cluster-is-lost), and its client does not notice;"
        " `fail`, it fails with CW201 or CW202.")
    upstream: tuple[Endpoint, ...] = setting("proxy.upstream", ENDPOINTS, "", RESTART,
        "The Thrift Servers that receive all statements, unanalysed, while no cluster is"
        " configured.")
    upstream_login: Login = made_of(LOGIN, factory=Login)
    logins: Mapping[ClusterName, Login] = made_of(factory=dict)
    views: Mapping[ClusterName, tuple[Endpoint, ...]] = made_of(factory=dict)
    snapshot_ttl: float = setting("snapshot.ttl", DURATION, "60s", RESTART,
        "How old a cached fact may be if others change the metastore too.")
    snapshot_limit: int = setting("snapshot.limit", POSITIVE, "10000", RESTART,
        "The number of tables that are kept in memory.")
    writers: Writers = made_of(WRITERS, factory=lambda: Writers.ANY)
    metadata: MetadataSource = setting("proxy.metadata", choice(MetadataSource), "automatic",
        RESTART,
        "What answers GetSchemas, GetTables, GetColumns, SHOW and DESCRIBE: `memory` where the"
        " result is certain ([when](../guide/sessions.md)), which needs `snapshot.writers ="
        " views`; `cluster` always, for metastores that show different tables to different users."
        " `automatic` is `cluster` where Causeway logs in to a cluster as a service"
        " (`Authentication`), because that cluster may check each user's rights, else `memory`.")
    metastore_login: MetastoreLogin = group(MetastoreLogin)
    metastore_timeout: float = setting("metastore.timeout", DURATION, "20s", RESTART,
        "How long a call to the metastore may take.")
    secret_files: Sharing = made_of(SECRET_FILES, factory=lambda: Sharing.PRIVATE)
    operating: Operating = group(Operating)
    transports: Transports = group(Transports)
    identity: Identity = group(Identity)
    restrictions: SessionRestrictions = group(SessionRestrictions)
    access: AccessSettings = group(AccessSettings)
    fetching: Fetching = group(Fetching)
    view_limits: ViewLimits = group(ViewLimits)
    view_access: ViewAccess = group(ViewAccess)
    view_tls: ViewTls = group(ViewTls)
    lifecycle: Lifecycle = group(Lifecycle)
    telemetry: TelemetrySettings = group(TelemetrySettings)
    console: ConsoleSettings = group(ConsoleSettings)

    @property
    def view_addresses(self) -> tuple[Endpoint, ...]:
        """The addresses of all processes of the view, of all clusters."""
        return tuple(dict.fromkeys(each for views in self.views.values() for each in views))

    @property
    def view_login(self) -> MetastoreLogin:
        """How Causeway logs in to its own views."""
        kerberos, own, login = self.view_access.kerberos, self.metastore_login, MetastoreLogin()
        if kerberos is not None:
            login = MetastoreLogin(True, kerberos.principal, own.user, own.keytab)
        return replace(login, tls=self.view_tls.use_tls, truststore=self.view_tls.ca)

    @property
    def view_logins(self) -> Mapping[Endpoint, MetastoreLogin]:
        """How Causeway logs in to each of its own views, by address."""
        return dict.fromkeys(self.view_addresses, self.view_login)


# fmt: on
def read_settings(values: Mapping[str, str]) -> tuple[Settings, list[Problem]]:
    """The settings as far as they are right, and the problems of all settings."""
    is_shared = SettingsReader(values).read(SECRET_FILES) is Sharing.SHARED
    reader = SettingsReader(values, is_shared)
    return _read(reader), reader.problems


def _read(reader: SettingsReader) -> Settings:
    topology, views, logins = _clusters(reader)
    operators = operating.read(reader)
    access_of_views = view_access.read(reader, topology.clusters)
    has_clusters = topology.in_use or reader.is_wrong(CLUSTERS)
    return reader.group(
        Settings,
        topology=topology,
        listen=Endpoint(reader.read(BIND_HOST), reader.read(BIND_PORT)),
        upstream_login=reader.read(LOGIN, lambda text: parse_login(text, reader.shared)),
        logins=logins,
        views=views,
        metastore_login=metastore_login.read(reader, access_of_views.kerberos is not None),
        operating=operators,
        transports=transports.read(reader),
        identity=authentication.read(reader),
        restrictions=restrictions.read(reader, "" if has_clusters else CLUSTERS.name),
        access=access.read(reader, "" if has_clusters else CLUSTERS.name),
        fetching=reader.group(Fetching),
        view_limits=reader.group(ViewLimits),
        view_access=access_of_views,
        view_tls=view_tls.read(reader),
        lifecycle=lifecycle.read(reader),
        telemetry=reader.group(TelemetrySettings),
        console=console.read(reader, operators.access.issuer),
    )


def _clusters(
    reader: SettingsReader,
) -> tuple[Topology, Mapping[ClusterName, tuple[Endpoint, ...]], Mapping[ClusterName, Login]]:
    """The clusters, the addresses of their metastore views, and the logins in them.

    A cluster with a wrong key or login is left out.
    """
    named, views = reader.read(CLUSTERS)
    logins = reader.read(_LOGINS, lambda text: parse_logins(text, reader.shared))
    clusters = {name: cluster for name, cluster in named.items() if name in logins}
    logins = {name: login for name, login in logins.items() if login != Login()}
    default, writers = reader.read(DEFAULT_CLUSTER), reader.read(WRITERS)
    names = cluster_names(reader.values.get(CLUSTERS.name, ""))
    if names and default not in names:
        reason = f"{default!r} is not" if default else "missing; it has to be"
        reader.report(DEFAULT_CLUSTER, f"{reason} one of {', '.join(names)}")
    without_view = ", ".join(name for name in clusters if name not in views)
    if (
        writers is Writers.VIEWS
        and (without_view or not clusters)
        and not reader.is_wrong(CLUSTERS)
    ):
        reader.report(
            WRITERS,
            f"what changes through {without_view or 'no view'} is not reported:"
            f" each cluster needs its {VIEW}",
        )
    return Topology(clusters, default, reader.read(USE_DEFAULT)), views, logins
