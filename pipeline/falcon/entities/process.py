"""A process: work that reads instances of feeds and writes others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from enum import Enum

from conf.names import ClusterName
from pipeline.falcon.calendar import Calendar, Frequency
from pipeline.falcon.entities.agreements import Notification, Sla, Validity
from pipeline.falcon.entities.identity import Acl, EntityKey, Kind
from pipeline.falcon.expression import Expression


class Order(Enum):
    FIFO = "FIFO"
    LIFO = "LIFO"
    LAST_ONLY = "LAST_ONLY"


class PolicyType(Enum):
    """The pauses between attempts. periodic: always the delay; exp-backoff: one, two, four times
    the delay (D6); final: no second attempt, and of checks for late data only one, at the cut-off.
    """

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
    """At most `attempts` further attempts after the first."""

    policy: PolicyType
    delay: Frequency
    attempts: int
    on_timeout: bool = False


@dataclass(frozen=True, slots=True)
class LateProcess:
    """The policy of checks for late data, and the late workflow of each input."""

    policy: PolicyType
    delay: Frequency
    workflows: Mapping[str, str]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Process:
    """A process. At most `parallel` of its instances run at a time, in the `order` of their times;
    an instance waits for its inputs for at most `timeout`.
    """

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
