"""An instance of a schedule and its state."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from pipeline.falcon.calendar import format_time
from pipeline.falcon.entities.identity import EntityKey
from pipeline.scheduler.instances.states import InstanceState


class InstanceAction(Enum):
    """The kind of work of an instance."""

    REPLICATE = "replicate"
    EVICT = "evict"
    WATCH = "watch"
    PROCESS = "process"
    IMPORT = "import"
    EXPORT = "export"


@dataclass(frozen=True, slots=True, order=True)
class ScheduleKey:
    """The key of a schedule: `action` of `entity` on `cluster`; for copies from `source`."""

    entity: EntityKey
    action: InstanceAction
    cluster: str
    source: str = ""

    def __str__(self) -> str:
        where = f"{self.source} to {self.cluster}" if self.source else self.cluster
        return f"{self.action.value} {self.entity.name} {where}"


@dataclass(frozen=True, slots=True)
class InstanceKey:
    """The key of an instance: its schedule and its nominal time."""

    schedule: ScheduleKey
    nominal: datetime

    def __str__(self) -> str:
        return f"{self.schedule} {format_time(self.nominal)}"


@dataclass(frozen=True, slots=True)
class Instance:
    """`run` counts reruns from 0, `attempt` the attempts of this run, `recoveries` the deaths of
    servers, or of Spark, that ran it. `fingerprint` is that of the inputs when the run began.
    `checks` counts checks for late data, -1: no further ones; `alerts` is the highest limit of the
    service level that was reported; `late` names the changed inputs that caused this run. `fence`
    grows with every change of state. `leader` is the nominal time of the first instance of a run
    of several instances.
    """

    key: InstanceKey
    state: InstanceState
    created: datetime
    run: int = 0
    attempt: int = 0
    recoveries: int = 0
    not_before: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    fingerprint: str = ""
    checks: int = 0
    alerts: int = 0
    fence: int = 0
    late: str = ""
    detail: str = ""
    leader: datetime | None = None

    @property
    def nominal(self) -> datetime:
        return self.key.nominal
