"""Limits of the number of clients of the view, in all and for each address.

A client is silent until its first call. At a limit, a new client replaces the silent client that
has been connected for longest: of its own address, or of any address at the limit of all clients.
If there is none, the new client is refused.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from conf.settings.view_limits import ViewLimits


@dataclass(slots=True, eq=False)
class ClientSlot:
    """The slot of a client; `silent` until its first call. `close` ends the connection."""

    address: str
    close: Callable[[], object]
    silent: bool = True


class ClientLimits:
    """The clients of a process, in the order of their connections."""

    def __init__(self, limits: ViewLimits) -> None:
        self._limits = limits
        self._slots: dict[ClientSlot, None] = {}
        self._of_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._slots)

    def admit(self, address: str, close: Callable[[], object]) -> ClientSlot | None:
        """A slot for a new client; None if it is refused. `close` disconnects it later."""
        if self._of_address[address] >= self._limits.clients_per_address:
            if not self._make_room(lambda slot: slot.address == address):
                return None
        elif len(self._slots) >= self._limits.clients and not self._make_room(lambda _: True):
            return None
        slot = ClientSlot(address, close)
        self._slots[slot] = None
        self._of_address[address] += 1
        return slot

    def leave(self, slot: ClientSlot) -> None:
        """Frees the slot. A second call has no effect."""
        if slot not in self._slots:
            return
        del self._slots[slot]
        self._of_address[slot.address] -= 1
        if not self._of_address[slot.address]:
            del self._of_address[slot.address]

    def _make_room(self, wanted: Callable[[ClientSlot], bool]) -> bool:
        oldest = next((each for each in self._slots if each.silent and wanted(each)), None)
        if oldest is not None:
            self.leave(oldest)
            oldest.close()
        return oldest is not None
