"""A feed: a table or directories with a frequency, in several clusters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, timedelta, tzinfo
from enum import Enum

from conf.names import ClusterName
from pipeline.falcon.calendar import Calendar, Frequency
from pipeline.falcon.catalog_uri import TableUri
from pipeline.falcon.entities.agreements import Notification, Sla, Validity
from pipeline.falcon.entities.identity import Acl, EntityKey, Kind


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
    """A feed on one cluster. `storage` overrides the feed's. `retention` is how long an instance is
    kept (None: a whole table), `eviction` the time between two evictions (None: the default, D7).
    """

    name: ClusterName
    role: Role
    validity: Validity
    retention: Frequency | None
    eviction: Frequency | None = None
    storage: Storage | None = None
    partition: str | None = None
    delay: Frequency | None = None
    sla: Sla | None = None
    exchanges: tuple[Exchange, ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def kept(self) -> timedelta:
        """How long an instance is kept. Raises LookupError for a feed of a whole table."""
        if self.retention is None:
            raise LookupError(f"the feed has no retention on {self.name}")
        return self.retention.length


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed. `late_cutoff`: data of an instance may change until so long after its time."""

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

    @property
    def whole(self) -> bool:
        """Whether an instance is a whole table."""
        return isinstance(self.storage, Table) and self.storage.uri.whole

    def calendar_on(self, cluster: FeedCluster) -> Calendar:
        return Calendar(cluster.validity.start, self.frequency, self.zone)

    def with_role(self, role: Role) -> tuple[FeedCluster, ...]:
        return tuple(each for each in self.clusters if each.role is role)

    def property(self, name: str) -> str | None:
        return dict(self.properties).get(name)
