"""The permanent functions that were changed through this server, by all of its processes.

Each process writes its own part of the memory and reads all parts; nothing is locked. A part is a
counter and a ring of the last names: a name is written before the counter counts it.
"""

from collections.abc import Sequence

_SLOTS = 1024
_SLOT = 256  # bytes: the length, then `database\0name`
_HEAD = 8
_PART = _HEAD + _SLOTS * _SLOT

Position = tuple[int, ...]
"""How many changes each process had made."""


class FunctionChanges:
    """Which functions sessions have to look up again."""

    def __init__(
        self, memory: memoryview | None = None, number: int = 0, processes: int = 1
    ) -> None:
        """`memory` has `shared_size(processes)` bytes; None: this is the only process."""
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
        """The function was made, replaced or dropped, or may have been."""
        count = self._count(self._number)
        text = f"{database}\0{name}".encode()
        slot = self._slot(self._number, count)
        if len(text) > _SLOT - 2:
            text = b""  # any
        self._memory[slot : slot + 2] = len(text).to_bytes(2, "little")
        self._memory[slot + 2 : slot + 2 + len(text)] = text
        at = self._number * _PART
        self._memory[at : at + _HEAD] = (count + 1).to_bytes(_HEAD, "little")

    def since(self, position: Position) -> tuple[Sequence[tuple[str, str]] | None, Position]:
        """The functions changed since then, each once, and the position of now.

        None for functions that cannot be listed any more: any may have changed.
        """
        now = self.now()
        if now == position:
            return (), now
        found: dict[tuple[str, str], None] = {}
        for process, (before, after) in enumerate(zip(position, now, strict=True)):
            if not 0 <= after - before < _SLOTS:
                return None, now
            for count in range(before, after):
                slot = self._slot(process, count)
                end = slot + 2 + int.from_bytes(self._memory[slot : slot + 2], "little")
                database, _, name = bytes(self._memory[slot + 2 : end]).decode().partition("\0")
                if not name:
                    return None, now
                found[database, name] = None
        return tuple(found), now

    def _count(self, process: int) -> int:
        at = process * _PART
        return int.from_bytes(self._memory[at : at + _HEAD], "little")

    def _slot(self, process: int, count: int) -> int:
        return process * _PART + _HEAD + count % _SLOTS * _SLOT


def shared_size(processes: int) -> int:
    """Bytes of memory."""
    return processes * _PART
