"""Every setting, validated. docs/reference/settings.md lists them."""

from dataclasses import dataclass, field
from enum import Enum

from conf.names import ClusterName
from conf.settings.authentication import Identity
from conf.settings.operating import Operating
from conf.settings.restrictions import Restrictions
from conf.settings.transports import Doors
from conf.settings.upstream_auth import Login
from conf.settings.view_limits import ViewLimits
from conf.topology import Endpoint, Topology


class Coverage(Enum):
    """`router.coverage` (D1): which partitions of an input must be in the cluster."""

    READ = "read"
    TABLE = "table"


class Writers(Enum):
    """`snapshot.writers`: who changes the metastore, past Causeway's views or not."""

    ANY = "any"
    VIEWS = "views"


class Metadata(Enum):
    """`proxy.metadata`: who answers GetSchemas, GetTables and GetColumns where both give
    the same."""

    MEMORY = "memory"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a running Causeway needs to know. Times are in seconds.

    `metastores` are the real Hive Metastore's addresses in order of preference; `views` the
    addresses of the per-cluster view endpoints; `upstream` the Thrift Servers that everything
    goes to, unlooked at, while no cluster is configured (DC-N1), and `upstream_login` how we come
    in there; `logins` how into clusters that want more than a name; `snapshot_ttl` bounds the age
    of a cached fact and `snapshot_limit` the number of tables kept, `writers` tells whom to ask
    whether one is still true.
    """

    topology: Topology
    metastores: tuple[Endpoint, ...]
    listen: Endpoint = field(default_factory=lambda: Endpoint("127.0.0.1", 10000))
    coverage: Coverage = Coverage.READ
    upstream: tuple[Endpoint, ...] = ()
    upstream_login: Login = field(default_factory=Login)
    logins: dict[ClusterName, Login] = field(default_factory=dict)
    views: dict[ClusterName, Endpoint] = field(default_factory=dict)
    snapshot_ttl: float = 60.0
    snapshot_limit: int = 10_000
    metastore_timeout: float = 20.0
    writers: Writers = Writers.ANY
    metadata: Metadata = Metadata.MEMORY
    operating: Operating = field(default_factory=Operating)
    doors: Doors = field(default_factory=Doors)
    identity: Identity = field(default_factory=Identity)
    restrictions: Restrictions = field(default_factory=Restrictions)
    view_limits: ViewLimits = field(default_factory=ViewLimits)
