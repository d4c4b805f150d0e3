"""The seam to those who move data: what is asked of them, and what they are given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pipeline.falcon.model import Cluster, Entity, Feed
from pipeline.scheduler.instance import Instance
from pipeline.scheduler.schedule import Need, Schedule


@dataclass(frozen=True, slots=True)
class World:
    """The entities at one moment, by name."""

    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    feed_by_name: Mapping[str, Feed] = field(default_factory=dict)

    def cluster(self, name: str) -> Cluster | None:
        return self.clusters.get(name)

    def feed(self, name: str) -> Feed | None:
        return self.feed_by_name.get(name)

    def feeds(self) -> Sequence[Feed]:
        return tuple(self.feed_by_name.values())


class Ticket(Protocol):
    """The right to do an instance's work, for as long as `check` does not raise."""

    def check(self) -> None:
        """Raises LeaseLost once the instance was killed or taken over. Call before effects."""
        ...

    def log(self, line: str) -> None:
        """A line for `causeway instance logs`."""
        ...

    def on_loss(self, stop: Callable[[], None]) -> None:
        """`stop` is called, on another thread, when the right is lost."""
        ...


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
    world: World
    now: datetime
    held: Callable[[datetime], bool] = field(default=lambda _: False)


class Actions(Protocol):
    """What can be done. Each is idempotent: it may be done again after it was cut off.

    A failure is any CausewayError; `ActionFailed` with `final` set is not tried again.
    Answers are one line on what was done.
    """

    def look(self, needs: Sequence[Need], world: World, owner: str) -> Mapping[Need, str | None]:
        """What each need's data looks like (any text that changes with it), None if absent."""
        ...

    def replicate(self, task: Task, ticket: Ticket) -> str: ...

    def evict(self, task: Task, ticket: Ticket) -> str: ...

    def process(self, task: Task, ticket: Ticket) -> str: ...
