"""Causeway's own handles for clients: they cannot be guessed, and are bound to a user.

A Thrift Server does not bind handles to users: any client that has a handle may use it. Here
another user's handle is unknown, like one that was never issued.
"""

import secrets
import uuid
from collections import Counter
from dataclasses import dataclass
from hmac import compare_digest
from typing import Generic, TypeVar

from proxy.errors import Failure, LimitReached, ThriftServerError
from proxy.protocol.requests import Handle
from proxy.protocol.status import NO_SESSION
from proxy.protocol.types import OperationType

T = TypeVar("T")


def new_handle(worker: int = 0) -> Handle:
    """A random handle of a session that this worker keeps; `worker` is below 256."""
    return Handle(bytes((worker,)) + secrets.token_bytes(15), secrets.token_bytes(16))


def worker_of(handle: Handle) -> int:
    """The number of the worker that keeps the handle's session."""
    return handle.guid[0] if handle.guid else 0


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    handle: Handle
    owner: str
    item: T


class Registry(Generic[T]):
    """Items by handle. One user may have at most `per_owner` (0: any number). `what` names the
    items in error messages."""

    def __init__(self, what: str, per_owner: int) -> None:
        self._what = what
        self._per_owner = per_owner
        self._entries: dict[bytes, _Entry[T]] = {}
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> list[T]:
        return [entry.item for entry in self._entries.values()]

    def add(self, handle: Handle, owner: str, item: T) -> None:
        """Adds an item of the user `owner`. Raises LimitReached."""
        if self._per_owner and self._counts[owner] >= self._per_owner:
            raise LimitReached(f"{owner} has {self._per_owner} {self._what} open.")
        self._counts[owner] += 1
        self._entries[handle.guid] = _Entry(handle, owner, item)

    def find(self, handle: Handle, user: str) -> T | None:
        """The item, if the handle has the right secret and belongs to the user; else None."""
        entry = self._entries.get(handle.guid)
        if entry is None or entry.owner != user:
            return None
        return entry.item if compare_digest(entry.handle.secret, handle.secret) else None

    def remove(self, handle: Handle) -> bool:
        """Removes the item. Returns whether there was one."""
        entry = self._entries.pop(handle.guid, None)
        if entry is None:
            return False
        self._counts[entry.owner] -= 1
        if not self._counts[entry.owner]:
            del self._counts[entry.owner]
        return True


def no_such_session(handle: Handle) -> ThriftServerError:
    return ThriftServerError(Failure(f"{NO_SESSION}: SessionHandle [{_uuid(handle)}]"))


def no_such_operation(handle: Handle, kind: int) -> ThriftServerError:
    try:
        name = OperationType(kind).name
    except ValueError:
        name = OperationType.UNKNOWN.name
    words = f"OperationHandle [opType={name}, getHandleIdentifier()={_uuid(handle)}]"
    return ThriftServerError(Failure(f"Invalid OperationHandle: {words}"))


def _uuid(handle: Handle) -> str:
    raw = handle.guid
    return str(uuid.UUID(bytes=raw)) if len(raw) == 16 else raw.hex()
