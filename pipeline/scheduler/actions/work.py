"""The interface between the scheduler and the code that moves data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from conf.errors import CausewayError
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.inputs import Need
from pipeline.lease import WorkLease
from pipeline.scheduler.instances.instance import Instance
from pipeline.scheduler.instances.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Task:
    """The work of an instance, done as `owner`, the submitter (FA-S1).

    `is_needed(time)` returns whether open work needs the feed's instance of that time, so that it
    must not be evicted yet.
    """

    entity: Entity
    schedule: Schedule
    instance: Instance
    owner: str
    entity_set: EntitySet
    now: datetime
    is_needed: Callable[[datetime], bool] = field(default=lambda _: False)


@dataclass(frozen=True, slots=True)
class WorkSummary:
    """A line of text about the work, and the number of bytes that it copied."""

    text: str
    bytes: int


Result = str | WorkSummary | CausewayError
"""A line of text about the work, or the reason why it failed."""


class Actions(Protocol):
    """The work of instances. Each method is idempotent: it can be repeated after an interruption.

    Methods return a line of text about the work, or raise a CausewayError. There is no retry after
    an `ActionFailed` with `final`.
    """

    def read_fingerprints(
        self, needs: Sequence[Need], entity_set: EntitySet, owner: str
    ) -> Mapping[Need, str | None]:
        """The fingerprint of each need's data; None if it is missing."""
        ...

    def exclusive_places(self, task: Task) -> frozenset[str]:
        """The names of tables, partitions and directories that no other task of any server may
        write during this one."""
        ...

    def replicate(self, tasks: Sequence[Task], lease: WorkLease) -> list[Result]:
        """Copies several instances of one schedule in one run. Returns their results in order."""
        ...

    def evict(self, task: Task, lease: WorkLease) -> str: ...

    def process(self, task: Task, lease: WorkLease) -> str: ...

    def exchange(self, task: Task, lease: WorkLease) -> str:
        """Imports an instance from another database, or exports it to one."""
        ...
