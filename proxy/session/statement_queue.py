"""Statements that wait because their user runs as many as a quota allows.

Each user has a queue. The sessions with the highest priority come first. Those of the same priority
take turns, so that one with many statements does not keep the others from running theirs; within a
session the first statement comes first. A session's priority is that of its last statement here.
"""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from proxy.errors import LimitReached


@dataclass(eq=False, slots=True)
class Waiter:
    """A statement of a user's session, which had this priority when the statement came."""

    user: str
    session: Hashable
    priority: int = 0


@dataclass(slots=True)
class StatementQueue:
    """`_users` has each user's waiting statements by session: the next session comes first."""

    _users: dict[str, dict[Hashable, deque[Waiter]]] = field(default_factory=dict)
    _count: int = 0

    def __len__(self) -> int:
        return self._count

    def enter(self, waiter: Waiter, most: int) -> None:
        """Raises LimitReached when `most` statements of the user wait."""
        sessions = self._users.get(waiter.user, {})
        if sum(map(len, sessions.values())) >= most:
            text = f"{most} statements of the user {waiter.user} wait, which is the limit."
            raise LimitReached(text)
        self._users.setdefault(waiter.user, sessions).setdefault(
            waiter.session, deque()
        ).append(waiter)  # fmt: skip
        self._count += 1

    def first(self, user: str) -> Waiter | None:
        """The statement of the user that runs next; None if none waits."""
        sessions = self._users.get(user)
        return None if sessions is None else max(sessions.values(), key=_priority)[0]

    def ahead(self, waiter: Waiter) -> int:
        """How many statements of its user run before it, if no more come."""
        sessions = self._users[waiter.user]
        own_queue = sessions[waiter.session]
        own, priority = own_queue.index(waiter), _priority(own_queue)
        found, is_before = own, True
        for queue in sessions.values():
            if queue is own_queue:
                is_before = False
            elif _priority(queue) > priority:
                found += len(queue)
            elif _priority(queue) == priority:
                found += min(len(queue), own + is_before)
        return found

    def leave(self, waiter: Waiter) -> None:
        """Takes it out if it is there: its session is the user's last one then if it was first."""
        sessions = self._users.get(waiter.user, {})
        queue = sessions.get(waiter.session)
        if queue is None or waiter not in queue:
            return
        was_next = self.first(waiter.user) is waiter
        queue.remove(waiter)
        self._count -= 1
        if was_next or not queue:
            del sessions[waiter.session]
        if was_next and queue:
            sessions[waiter.session] = queue
        if not sessions:
            self._users.pop(waiter.user, None)


def _priority(queue: deque[Waiter]) -> int:
    return queue[-1].priority
