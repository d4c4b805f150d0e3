"""The timeline: the actions of a table, and which of them are complete (HU-7).

Layout 1 (table version 6 and older) keeps `.hoodie/<requested>.<action>[.<state>]`; layout 2
(version 8 and newer) keeps `.hoodie/timeline/<requested>[_<completion>].<action>[.<state>]`.
One action has up to three files: requested, in flight, completed. The last of them has its state.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

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


class InstantState(IntEnum):
    """The state of an action."""

    REQUESTED = 0
    INFLIGHT = 1
    COMPLETED = 2


# A running `commit` has the suffix `.inflight` alone, in both layouts.
_SUFFIXES = {
    "requested": (COMMIT, InstantState.REQUESTED),
    "inflight": (COMMIT, InstantState.INFLIGHT),
    **{action: (action, InstantState.COMPLETED) for action in _KNOWN},
    **{f"{action}.requested": (action, InstantState.REQUESTED) for action in _KNOWN},
    **{f"{action}.inflight": (action, InstantState.INFLIGHT) for action in _KNOWN},
}
_UNFINISHED = (".requested", ".inflight")


class Instant(NamedTuple):
    """One action. `requested` and `completion` are instants (digits), `file` is its file's name.

    `completion` is empty while the action runs, and always in layout 1.
    """

    requested: str
    action: str
    state: InstantState
    completion: str
    file: str

    @property
    def completed(self) -> bool:
        return self.state is InstantState.COMPLETED


@dataclass(frozen=True)
class Timeline:
    """All actions of the active timeline by request time. `by_completion`: layout 2."""

    instants: tuple[Instant, ...]
    by_completion: bool

    def key(self, instant: Instant) -> str:
        """The instant to compare with a bookmark: the completion time where the table records it.

        A commit may be requested early and complete late. Compared by request time, it could be
        before a bookmark from before its completion, and would be lost.
        """
        return instant.completion if self.by_completion else instant.requested

    @cached_property
    def commits(self) -> tuple[Instant, ...]:
        """Completed commits in the order of `key`."""
        finished = InstantState.COMPLETED
        done = [i for i in self.instants if i.state is finished and i.action in COMMIT_ACTIONS]
        return tuple(sorted(done, key=attrgetter("completion")) if self.by_completion else done)

    def commits_between(
        self,
        since: str,
        upto: str | None,
        known: Collection[str] = (),
        blocking: Instant | None = None,
    ) -> tuple[tuple[Instant, ...], str | None]:
        """The completed commits of a range that are not `known` (request times). Those after the
        running commit `blocking`, if any, are left out; its request time is returned if there are
        some, else None.
        """
        between = (i for i in self.commits if is_between(self.key(i), since, upto))
        commits = [i for i in between if i.requested not in known]
        if blocking is None:
            return tuple(commits), None
        # By request time, a bookmark after a running commit would lose that commit's rows.
        before = [i for i in commits if i.requested < blocking.requested]
        return tuple(before), blocking.requested if len(before) < len(commits) else None

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
        """Running commits by request time. Table services of layout 2 are left out: they write no
        new rows.
        """
        writes = COMMIT_ACTIONS - {CLUSTERING}
        return tuple(i for i in self.instants if not i.completed and i.action in writes)

    @property
    def first_pending_compaction(self) -> Instant | None:
        return next((i for i in self.instants if i.action == COMPACTION and not i.completed), None)

    @cached_property
    def start(self) -> str:
        """The request time of the oldest commit without a savepoint; empty without commits. Older
        data files are of archived commits, which are complete.
        """
        saved = {i.requested for i in self.instants if i.action == SAVEPOINT}
        commits = [i.requested for i in self.instants if i.action in COMMIT_ACTIONS]
        return next((c for c in commits if c not in saved), commits[0] if commits else "")

    def committed(self) -> "Committed":
        done = frozenset(i.requested for i in self.commits)
        return Committed(done, frozenset(i.requested for i in self.instants), self.start)


@dataclass(frozen=True, slots=True)
class Committed:
    """The set of complete commits by request time, archived ones included (HU-7). `done` are those
    of the active timeline, `active` all its actions, `start` is its start.
    """

    done: frozenset[str]
    active: frozenset[str]
    start: str

    def __contains__(self, requested: object) -> bool:
        if requested in self.done:
            return True
        return requested not in self.active and str(requested) < self.start


def is_between(instant: str, since: str, upto: str | None) -> bool:
    """Whether an instant is in the range (since, upto]; `upto` None is no end."""
    return instant > since and (upto is None or instant <= upto)


def parse_timeline(names: Iterable[str], layout: int) -> Timeline:
    """The timeline from the file names of its directory; other names are skipped. Requests of
    completed actions, two thirds of a timeline, are not parsed.
    """
    running: list[str] = []
    completed: list[str] = []
    for name in names:
        (running if name.endswith(_UNFINISHED) else completed).append(name)
    instants = [i for name in completed if (i := parse_instant(name)) is not None]
    done = {instant.requested for instant in instants if instant.action != SAVEPOINT}
    saved = {instant.requested for instant in instants if instant.action == SAVEPOINT}
    best: dict[tuple[str, str], Instant] = {}
    for name in running:
        requested = name.partition(".")[0]
        # A savepoint has the instant of its commit.
        if requested in (saved if SAVEPOINT in name else done):
            continue
        instant = parse_instant(name)
        if instant is not None:
            key = (requested, _family(instant))
            best[key] = max(best.get(key, instant), instant, key=lambda i: i.state)
    return Timeline(tuple(sorted([*instants, *best.values()])), by_completion=layout >= 2)


def parse_instant(name: str) -> Instant | None:
    """The instant in the name of a timeline file; None when the file is of no action."""
    times, _, suffix = name.partition(".")
    known = _SUFFIXES.get(suffix)
    requested, underscore, completion = times.partition("_")
    is_time = requested.isdecimal() and (completion.isdecimal() or not underscore)
    if known is None or not is_time:
        return None
    return Instant(requested, *known, completion, name)


def _family(instant: Instant) -> str:
    """The name under which an action completes: a compaction completes as a commit, a clustering as
    a replacecommit, a log compaction as a deltacommit.
    """
    return {
        COMPACTION: COMMIT,
        CLUSTERING: REPLACE_COMMIT,
        LOG_COMPACTION: DELTA_COMMIT,
    }.get(instant.action, instant.action)
