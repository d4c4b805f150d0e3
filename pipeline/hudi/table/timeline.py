"""The timeline: which actions a table went through, and which of them are complete (HU-7).

Layout 1 (table version 6 and older) keeps `.hoodie/<requested>.<action>[.<state>]`; layout 2
(version 8 and newer) keeps `.hoodie/timeline/<requested>[_<completion>].<action>[.<state>]`.
One action is up to three files; the most advanced one tells its state.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

# A running `commit` is the bare word `.inflight`, an old habit of both layouts.
_FILE = re.compile(r"^(\d+)(?:_(\d+))?(?:\.([a-z]+))?(?:\.(requested|inflight))?$")

COMMIT, DELTA_COMMIT, REPLACE_COMMIT = "commit", "deltacommit", "replacecommit"
CLUSTERING, COMPACTION, LOG_COMPACTION = "clustering", "compaction", "logcompaction"
SAVEPOINT, ROLLBACK, RESTORE = "savepoint", "rollback", "restore"

# Actions that put files into partitions, whatever their state.
COMMIT_ACTIONS = frozenset({COMMIT, DELTA_COMMIT, REPLACE_COMMIT, CLUSTERING})
_KNOWN = COMMIT_ACTIONS | {
    COMPACTION, LOG_COMPACTION, SAVEPOINT, ROLLBACK, RESTORE,
    "clean", "indexing", "schemacommit",
}  # fmt: skip


class State(IntEnum):
    """How far an action has come."""

    REQUESTED = 0
    INFLIGHT = 1
    COMPLETED = 2


@dataclass(frozen=True, slots=True)
class Instant:
    """One action. `requested` and `completion` are instants as digits, `file` its own file.

    `completion` is empty while it runs, and always in layout 1, which does not know it.
    """

    requested: str
    action: str
    state: State
    completion: str
    file: str

    @property
    def completed(self) -> bool:
        return self.state is State.COMPLETED


@dataclass(frozen=True, slots=True)
class Timeline:
    """All actions of the active timeline by request time; `by_completion` is layout 2."""

    instants: tuple[Instant, ...]
    by_completion: bool

    def key(self, instant: Instant) -> str:
        """What a bookmark is compared with: completion time where the table knows it.

        A commit may be requested early and complete late; by request time a puller that has
        gone past it would lose it.
        """
        return instant.completion if self.by_completion else instant.requested

    @property
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
    def first_running_write(self) -> Instant | None:
        """The earliest commit under way that can bring new rows; services bring none."""
        running = (i for i in self.instants if not i.completed)
        return next((i for i in running if i.action in COMMIT_ACTIONS - {CLUSTERING}), None)

    @property
    def first_pending_compaction(self) -> Instant | None:
        return next((i for i in self.instants if i.action == COMPACTION and not i.completed), None)

    @property
    def start(self) -> str:
        """Request time of the oldest commit that no savepoint holds back; files older than it
        belong to archived, complete commits. Empty when there is no commit."""
        saved = {i.requested for i in self.instants if i.action == SAVEPOINT}
        commits = [i.requested for i in self.instants if i.action in COMMIT_ACTIONS]
        return next((c for c in commits if c not in saved), commits[0] if commits else "")

    def committed(self) -> "Committed":
        done = frozenset(i.requested for i in self.commits)
        return Committed(done, frozenset(i.requested for i in self.instants), self.start)


@dataclass(frozen=True, slots=True)
class Committed:
    """Answers whether a data file's instant is complete, archived ones included (HU-7)."""

    done: frozenset[str]
    active: frozenset[str]
    start: str

    def __contains__(self, requested: object) -> bool:
        if requested in self.done:
            return True
        return requested not in self.active and str(requested) < self.start


def parse_timeline(names: Iterable[str], layout: int) -> Timeline:
    """The timeline from its directory's file names; names that are none of ours are skipped."""
    best: dict[tuple[str, str], Instant] = {}
    for name in names:
        instant = parse_instant(name)
        if instant is None:
            continue
        key = (instant.requested, _family(instant))
        if key not in best or best[key].state < instant.state:
            best[key] = instant
    ordered = sorted(best.values(), key=lambda i: (i.requested, i.action))
    return Timeline(tuple(ordered), by_completion=layout >= 2)


def parse_instant(name: str) -> Instant | None:
    """One file name of the timeline, or None when it is no action."""
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
    """Files of one action under its several names: a compaction completes as a commit, a
    clustering as a replacecommit, a log compaction as a deltacommit."""
    return {
        COMPACTION: COMMIT,
        CLUSTERING: REPLACE_COMMIT,
        LOG_COMPACTION: DELTA_COMMIT,
    }.get(instant.action, instant.action)
