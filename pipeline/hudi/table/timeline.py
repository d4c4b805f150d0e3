"""The timeline: the actions of a table, and which of them are complete (HU-7).

Layout 1 (table version 6 and older) keeps `.hoodie/<requested>.<action>[.<state>]`; layout 2
(version 8 and newer) keeps `.hoodie/timeline/<requested>[_<completion>].<action>[.<state>]`.
One action has up to three files; the most advanced one has its state.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

# A running `commit` has the suffix `.inflight` alone, in both layouts.
_FILE = re.compile(r"^(\d+)(?:_(\d+))?(?:\.([a-z]+))?(?:\.(requested|inflight))?$")

COMMIT, DELTA_COMMIT, REPLACE_COMMIT = "commit", "deltacommit", "replacecommit"
CLUSTERING, COMPACTION, LOG_COMPACTION = "clustering", "compaction", "logcompaction"
SAVEPOINT, ROLLBACK, RESTORE = "savepoint", "rollback", "restore"
CLEAN = "clean"

# Actions that write files into partitions.
COMMIT_ACTIONS = frozenset({COMMIT, DELTA_COMMIT, REPLACE_COMMIT, CLUSTERING})
_KNOWN = COMMIT_ACTIONS | {
    COMPACTION, LOG_COMPACTION, SAVEPOINT, ROLLBACK, RESTORE,
    CLEAN, "indexing", "schemacommit",
}  # fmt: skip


class State(IntEnum):
    """The state of an action."""

    REQUESTED = 0
    INFLIGHT = 1
    COMPLETED = 2


@dataclass(frozen=True, slots=True)
class Instant:
    """One action. `requested` and `completion` are instants (digits), `file` is its file's name.

    `completion` is empty while the action runs, and always in layout 1.
    """

    requested: str
    action: str
    state: State
    completion: str
    file: str

    @property
    def completed(self) -> bool:
        return self.state is State.COMPLETED


@dataclass(frozen=True)
class Timeline:
    """All actions of the active timeline by request time. `by_completion`: layout 2."""

    instants: tuple[Instant, ...]
    by_completion: bool

    def key(self, instant: Instant) -> str:
        """The instant to compare with a bookmark: the completion time where the table records it.

        A commit may be requested early and complete late. A bookmark by request time could be
        later than its request, and the commit would be lost.
        """
        return instant.completion if self.by_completion else instant.requested

    @cached_property
    def commits(self) -> tuple[Instant, ...]:
        """Completed commits in the order of `key`."""
        done = (i for i in self.instants if i.completed and i.action in COMMIT_ACTIONS)
        return tuple(sorted(done, key=self.key))

    @property
    def undoings(self) -> tuple[Instant, ...]:
        """Completed rollbacks and restores in the order of `key`."""
        done = (i for i in self.instants if i.completed and i.action in (ROLLBACK, RESTORE))
        return tuple(sorted(done, key=self.key))

    @property
    def cleans(self) -> tuple[Instant, ...]:
        """Completed cleans by request time."""
        return tuple(i for i in self.instants if i.completed and i.action == CLEAN)

    @property
    def running_writes(self) -> tuple[Instant, ...]:
        """Running commits by request time, without table services of layout 2, which write no new
        rows.
        """
        writes = COMMIT_ACTIONS - {CLUSTERING}
        return tuple(i for i in self.instants if not i.completed and i.action in writes)

    @property
    def first_pending_compaction(self) -> Instant | None:
        return next((i for i in self.instants if i.action == COMPACTION and not i.completed), None)

    @cached_property
    def start(self) -> str:
        """Request time of the oldest commit without a savepoint; older files belong to archived,
        complete commits. Empty without commits.
        """
        saved = {i.requested for i in self.instants if i.action == SAVEPOINT}
        commits = [i.requested for i in self.instants if i.action in COMMIT_ACTIONS]
        return next((c for c in commits if c not in saved), commits[0] if commits else "")

    def committed(self) -> "Committed":
        done = frozenset(i.requested for i in self.commits)
        return Committed(done, frozenset(i.requested for i in self.instants), self.start)


@dataclass(frozen=True, slots=True)
class Committed:
    """The complete instants of data files, archived ones included (HU-7)."""

    done: frozenset[str]
    active: frozenset[str]
    start: str

    def __contains__(self, requested: object) -> bool:
        if requested in self.done:
            return True
        return requested not in self.active and str(requested) < self.start


def parse_timeline(names: Iterable[str], layout: int) -> Timeline:
    """The timeline from the file names of its directory; other names are skipped."""
    best: dict[tuple[str, str], Instant] = {}
    for name in _most_advanced(names):
        instant = parse_instant(name)
        if instant is None:
            continue
        key = (instant.requested, _family(instant))
        if key not in best or best[key].state < instant.state:
            best[key] = instant
    ordered = sorted(best.values(), key=lambda i: (i.requested, i.action))
    return Timeline(tuple(ordered), by_completion=layout >= 2)


def _most_advanced(names: Iterable[str]) -> list[str]:
    """The names without requests of actions that have completed: two thirds of a timeline.

    A savepoint has the instant of its commit, so its files stay.
    """
    names = list(names)
    running = [name for name in names if name.endswith((".requested", ".inflight"))]
    completed = list(set(names).difference(running))
    done = {name.partition(".")[0].partition("_")[0] for name in completed}
    return completed + [
        name for name in running if name.partition(".")[0] not in done or SAVEPOINT in name
    ]


def parse_instant(name: str) -> Instant | None:
    """The instant of a file name, or None when it is no action."""
    match = _FILE.match(name)
    if match is None:
        return None
    requested, completion, action, state = match.groups()
    if action in ("requested", "inflight") and state is None:
        # `<instant>.inflight` is a running commit; `<instant>.requested` does not occur.
        action, state = COMMIT, action
    if action not in _KNOWN:
        return None
    reached = State[state.upper()] if state else State.COMPLETED
    return Instant(requested, action, reached, completion or "", name)


def _family(instant: Instant) -> str:
    """The name under which an action completes: a compaction completes as a commit, a clustering as
    a replacecommit, a log compaction as a deltacommit.
    """
    return {
        COMPACTION: COMMIT,
        CLUSTERING: REPLACE_COMMIT,
        LOG_COMPACTION: DELTA_COMMIT,
    }.get(instant.action, instant.action)
