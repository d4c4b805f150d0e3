"""What the scheduler asks of those who move data, and what it gives them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.inputs import Need
from pipeline.falcon.model import Entity
from pipeline.lease import WorkLease
from pipeline.scheduler.instance import Instance
from pipeline.scheduler.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Task:
    """One instance's work. `owner` is the submitter, as whom it is done (FA-S1).

    `held(time)` says that an instance of the feed must not be evicted yet, because its
    replication has not ended.
    """

    entity: Entity
    schedule: Schedule
    instance: Instance
    owner: str
    entity_set: EntitySet
    now: datetime
    held: Callable[[datetime], bool] = field(default=lambda _: False)


class Actions(Protocol):
    """What can be done. Each is idempotent: it may be done again after it was cut off.

    A failure is any CausewayError; `ActionFailed` with `final` set is not tried again.
    Answers are one line on what was done.
    """

    def look(
        self, needs: Sequence[Need], entity_set: EntitySet, owner: str
    ) -> Mapping[Need, str | None]:
        """What each need's data looks like (any text that changes with it), None if absent."""
        ...

    def replicate(self, task: Task, lease: WorkLease) -> str: ...

    def evict(self, task: Task, lease: WorkLease) -> str: ...

    def process(self, task: Task, lease: WorkLease) -> str: ...
