"""Which clients of the view stay: in all, and of one address.

Who connects and says nothing costs little, yet has a place. So a newcomer takes the place of the
client of the same address (or of all, where they are too many in all) that has been silent for
longest; only when all of them have made a call is the newcomer turned away.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from conf.settings.view_limits import ViewLimits


@dataclass(slots=True, eq=False)
class Place:
    """A client's place; `silent` until its first call. `let_go` ends it."""

    address: str
    let_go: Callable[[], object]
    silent: bool = True


class ClientLimits:
    """The clients of one process, in the order in which they came."""

    def __init__(self, limits: ViewLimits) -> None:
        self._limits = limits
        self._places: dict[Place, None] = {}
        self._of_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._places)

    def admit(self, address: str, let_go: Callable[[], object]) -> Place | None:
        """A place for a newcomer; None when there is none."""
        if self._of_address[address] >= self._limits.clients_per_address:
            if not self._make_room(lambda place: place.address == address):
                return None
        elif len(self._places) >= self._limits.clients and not self._make_room(lambda _: True):
            return None
        place = Place(address, let_go)
        self._places[place] = None
        self._of_address[address] += 1
        return place

    def leave(self, place: Place) -> None:
        """The client is gone. May be said again."""
        if place not in self._places:
            return
        del self._places[place]
        self._of_address[place.address] -= 1
        if not self._of_address[place.address]:
            del self._of_address[place.address]

    def _make_room(self, wanted: Callable[[Place], bool]) -> bool:
        oldest = next((each for each in self._places if each.silent and wanted(each)), None)
        if oldest is not None:
            self.leave(oldest)
            oldest.let_go()
        return oldest is not None
