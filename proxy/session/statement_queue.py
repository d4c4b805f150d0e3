"""Queues of statements whose users run as many as their quotas allow.

Each user has a queue. The statements of the session with the highest priority come first. Sessions
of the same priority take turns, so that a session with many statements does not block the others.
Within a session the oldest statement comes first. A session's priority is that of its newest
statement in the queue.
"""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from proxy.errors import LimitReached


@dataclass(eq=False, slots=True)
class Waiter:
    """A waiting statement; `priority` is its session's at the time when it arrived."""

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
        """Adds a statement. Raises LimitReached if `most` statements of the user wait."""
        sessions = self._users.get(waiter.user, {})
        if sum(map(len, sessions.values())) >= most:
            text = f"{most} statements of the user {waiter.user} wait, which is the limit."
            raise LimitReached(text)
        self._users.setdefault(waiter.user, sessions).setdefault(
            waiter.session, deque()
        ).append(waiter)  # fmt: skip
        self._count += 1

    def first(self, user: str) -> Waiter | None:
        """The user's statement that runs next; None: none waits."""
        sessions = self._users.get(user)
        return None if sessions is None else max(sessions.values(), key=_priority)[0]

    def ahead(self, waiter: Waiter) -> int:
        """The number of its user's statements that run before it, if no others arrive."""
        sessions = self._users[waiter.user]
        own_queue = sessions[waiter.session]
        own, priority = own_queue.index(waiter), _priority(own_queue)
        count, is_before = own, True
        for queue in sessions.values():
            if queue is own_queue:
                is_before = False
            elif _priority(queue) > priority:
                count += len(queue)
            elif _priority(queue) == priority:
                count += min(len(queue), own + is_before)
        return count

    def leave(self, waiter: Waiter) -> None:
        """Removes the statement if it waits. If it was the next one to run, its session's turn is
        over: the session comes after the user's other sessions."""
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
