"""Cluster, feed and process as values.

`line` is the element's line in its document, for messages; it does not count for equality.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import Enum

from conf.names import ClusterName
from pipeline.falcon.calendar import Calendar, Frequency
from pipeline.falcon.catalog_uri import TableUri
from pipeline.falcon.expression import Expression

_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+", re.ASCII)


class Kind(Enum):
    """The kind of an entity; the value is its element and its name on the command line."""

    CLUSTER = "cluster"
    FEED = "feed"
    PROCESS = "process"
    DATASOURCE = "datasource"


@dataclass(frozen=True, slots=True, order=True)
class EntityKey:
    """An entity's identity."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name}"


@dataclass(frozen=True, slots=True)
class Acl:
    """Who owns an entity; `permission` is free text (0755, 0x755, *)."""

    owner: str | None = None
    group: str | None = None
    permission: str = "*"


@dataclass(frozen=True, slots=True)
class Validity:
    """From `start`, inclusive, to `end`, exclusive."""

    start: datetime
    end: datetime
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Sla:
    """After `low` a warning, after `high` a missed agreement, both from the nominal time."""

    low: Frequency | None
    high: Frequency | None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Interface:
    endpoint: str
    version: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster. Interfaces by type: registry = metastore, write = file system, execute =
    HiveServer2 endpoint of its Thrift Server, spark = Spark's master."""

    name: ClusterName
    colo: str
    interfaces: Mapping[str, Interface]
    locations: Mapping[str, str]
    acl: Acl = field(default_factory=Acl)
    properties: tuple[tuple[str, str], ...] = ()
    tags: str = ""
    description: str = ""
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> EntityKey:
        return EntityKey(Kind.CLUSTER, self.name)

    def endpoint(self, interface: str) -> str | None:
        found = self.interfaces.get(interface)
        return found.endpoint if found else None


class Role(Enum):
    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Paths:
    """A feed's directories by type (data, stats, meta, tmp)."""

    locations: Mapping[str, str] = field(hash=False)
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Table:
    """A feed's table."""

    uri: TableUri
    line: int = field(default=0, compare=False)


Storage = Paths | Table


@dataclass(frozen=True, slots=True)
class Notification:
    """Who gets a mail when an instance ends, and at the level `attempt` also for each attempt that
    fails.
    """

    to: tuple[str, ...]
    level: str = "instance"

    @property
    def addresses(self) -> tuple[str, ...]:
        """Those of `to` to which mail can be sent."""
        return tuple(each for each in self.to if _ADDRESS.fullmatch(each))


class Direction(Enum):
    """The value is the element's name."""

    IMPORT = "import"
    EXPORT = "export"


@dataclass(frozen=True, slots=True)
class Exchange:
    """The import of a feed's instances from a table of another database, or their export to it.

    Of an import `extract` is full or incremental, with its `delta` column and the `merge` policy;
    of an export `load` is updateonly or allowinsert. `includes` are the columns to exchange, if
    any are named, without the `excludes`.
    """

    direction: Direction
    datasource: str
    table: str
    extract: str = ""
    delta: str = ""
    merge: str = ""
    load: str = ""
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    line: int = field(default=0, compare=False)

    def argument(self, name: str) -> str | None:
        return dict(self.arguments).get(name)


@dataclass(frozen=True, slots=True)
class FeedCluster:
    """A feed on one cluster. `storage` overrides the feed's own. `retention` is how long an
    instance is kept, `eviction` how often old ones are looked for; None: the usual (D7).
    """

    name: ClusterName
    role: Role
    validity: Validity
    retention: Frequency
    eviction: Frequency | None = None
    storage: Storage | None = None
    partition: str | None = None
    delay: Frequency | None = None
    sla: Sla | None = None
    exchanges: tuple[Exchange, ...] = ()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed. `late_cutoff` is how long after its time an instance may still change."""

    name: str
    frequency: Frequency
    clusters: tuple[FeedCluster, ...]
    storage: Storage
    zone: tzinfo = UTC
    late_cutoff: Frequency | None = None
    sla: Sla | None = None
    groups: tuple[str, ...] = ()
    availability_flag: str | None = None
    partitions: tuple[str, ...] | None = None
    acl: Acl = field(default_factory=Acl)
    properties: tuple[tuple[str, str], ...] = ()
    notification: Notification | None = None
    tags: str = ""
    description: str = ""
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> EntityKey:
        return EntityKey(Kind.FEED, self.name)

    def on(self, cluster: str) -> FeedCluster | None:
        return next((each for each in self.clusters if each.name == cluster), None)

    def storage_on(self, cluster: FeedCluster) -> Storage:
        return cluster.storage or self.storage

    def calendar_on(self, cluster: FeedCluster) -> Calendar:
        return Calendar(cluster.validity.start, self.frequency, self.zone)

    def with_role(self, role: Role) -> tuple[FeedCluster, ...]:
        return tuple(each for each in self.clusters if each.role is role)

    def property(self, name: str) -> str | None:
        return dict(self.properties).get(name)


class Order(Enum):
    FIFO = "FIFO"
    LIFO = "LIFO"
    LAST_ONLY = "LAST_ONLY"


class Policy(Enum):
    """Gaps between attempts: periodic = equal; exp-backoff = delay, 2x, 4x (D6); final = one
    check at the end (for late data), no second attempt (for retries)."""

    PERIODIC = "periodic"
    EXP_BACKOFF = "exp-backoff"
    FINAL = "final"


class Engine(Enum):
    OOZIE = "oozie"
    PIG = "pig"
    HIVE = "hive"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class ProcessCluster:
    name: ClusterName
    validity: Validity
    sla: Sla | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Input:
    """Instances of `feed` from `start` to `end`, both inclusive."""

    name: str
    feed: str
    start: Expression
    end: Expression
    partition: str | None = None
    optional: bool = False
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Output:
    name: str
    feed: str
    instance: Expression
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Workflow:
    engine: Engine
    path: str
    lib: str | None = None
    name: str | None = None
    version: str = "1.0"
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SparkAttributes:
    """How spark-submit is called. `jar` may be a Python file; `options` are its own options."""

    name: str
    jar: str
    master: str | None = None
    mode: str | None = None
    main_class: str | None = None
    options: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retry:
    """At most `attempts` more after the first."""

    policy: Policy
    delay: Frequency
    attempts: int
    on_timeout: bool = False


@dataclass(frozen=True, slots=True)
class LateProcess:
    """The policy of checks for late data, and the late workflow of each input."""

    policy: Policy
    delay: Frequency
    workflows: Mapping[str, str]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    clusters: tuple[ProcessCluster, ...]
    parallel: int
    order: Order
    frequency: Frequency
    workflow: Workflow
    zone: tzinfo = UTC
    timeout: Frequency | None = None
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    spark: SparkAttributes | None = None
    retry: Retry | None = None
    late: LateProcess | None = None
    sla: Sla | None = None
    acl: Acl = field(default_factory=Acl)
    notification: Notification | None = None
    tags: str = ""
    pipelines: str = ""
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> EntityKey:
        return EntityKey(Kind.PROCESS, self.name)

    def calendar_on(self, cluster: ProcessCluster) -> Calendar:
        return Calendar(cluster.validity.start, self.frequency, self.zone)

    def on(self, cluster: str) -> ProcessCluster | None:
        return next((each for each in self.clusters if each.name == cluster), None)


@dataclass(frozen=True, slots=True)
class Credential:
    """A user of a database. `kind` says where the password is; only `password-file` has one."""

    kind: str
    user: str
    file: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Driver:
    """A JDBC driver: its class, and the jars that it is in."""

    name: str
    jars: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatasourceInterface:
    """How a database is read, or written: `endpoint` is a JDBC URL."""

    endpoint: str
    credential: Credential | None
    driver: Driver
    properties: tuple[tuple[str, str], ...] = ()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Datasource:
    """Another database. Interfaces by type: readonly is for imports, write for exports; each has
    the datasource's own credential and driver where its element has none.
    """

    name: str
    interfaces: Mapping[str, DatasourceInterface]
    acl: Acl = field(default_factory=Acl)
    tags: str = ""
    description: str = ""
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> EntityKey:
        return EntityKey(Kind.DATASOURCE, self.name)


Entity = Cluster | Feed | Process | Datasource
