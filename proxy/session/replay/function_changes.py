"""The permanent functions that were changed through this server, in memory that all of its
processes share.

Each process writes its own part of the memory and reads all parts, without locks. A part is a
counter of changes and a ring of the last names. A name is written before the counter is increased.
"""

from collections.abc import Sequence

_SLOTS = 1024
_SLOT = 256  # bytes: the length, then `database\0name`
_HEAD = 8
_PART = _HEAD + _SLOTS * _SLOT

Position = tuple[int, ...]
"""A point in time, as the number of changes by each process."""


class FunctionChanges:
    """The list of changed functions, which sessions have to look up again."""

    def __init__(
        self, memory: memoryview | None = None, number: int = 0, processes: int = 1
    ) -> None:
        """`memory` has `shared_size(processes)` bytes; None: this is the only process. `number` is
        that of this process."""
        self._memory = memoryview(bytearray(_PART * processes)) if memory is None else memory
        self._number = number
        self._processes = processes

    def now(self) -> Position:
        return tuple(self._count(process) for process in range(self._processes))

    def with_own(self, position: Position) -> Position:
        """The position after one more change by this process."""
        number = self._number
        return (*position[:number], position[number] + 1, *position[number + 1 :])

    def record(self, database: str, name: str) -> None:
        """Adds a function that was, or may have been, created, replaced or dropped."""
        count = self._count(self._number)
        text = f"{database}\0{name}".encode()
        slot = self._slot(self._number, count)
        if len(text) > _SLOT - 2:
            text = b""  # stands for any function
        self._memory[slot : slot + 2] = len(text).to_bytes(2, "little")
        self._memory[slot + 2 : slot + 2 + len(text)] = text
        at = self._number * _PART
        self._memory[at : at + _HEAD] = (count + 1).to_bytes(_HEAD, "little")

    def since(self, position: Position) -> tuple[Sequence[tuple[str, str]] | None, Position]:
        """The functions changed since the position, each once, and the present position.

        None instead of the functions: the list is incomplete, and any function may have changed.
        """
        now = self.now()
        if now == position:
            return (), now
        changed: dict[tuple[str, str], None] = {}
        for process, (before, after) in enumerate(zip(position, now, strict=True)):
            if not 0 <= after - before < _SLOTS:
                return None, now
            for count in range(before, after):
                slot = self._slot(process, count)
                end = slot + 2 + int.from_bytes(self._memory[slot : slot + 2], "little")
                database, _, name = bytes(self._memory[slot + 2 : end]).decode().partition("\0")
                if not name:
                    return None, now
                changed[database, name] = None
        return tuple(changed), now

    def _count(self, process: int) -> int:
        at = process * _PART
        return int.from_bytes(self._memory[at : at + _HEAD], "little")

    def _slot(self, process: int, count: int) -> int:
        return process * _PART + _HEAD + count % _SLOTS * _SLOT


def shared_size(processes: int) -> int:
    """The size of the shared memory, in bytes."""
    return processes * _PART
