"""The runs that a lifecycle server has under way."""

import threading

from pipeline.scheduler.instance_lease import InstanceLease


class ActiveRuns:
    """The runs by their leases, with the places that no other run may use. All threads of the
    server use it.
    """

    def __init__(self) -> None:
        self._places: dict[InstanceLease, frozenset[str]] = {}
        self._lock = threading.Lock()

    def add(self, lease: InstanceLease, places: frozenset[str]) -> None:
        with self._lock:
            self._places[lease] = places

    def remove(self, lease: InstanceLease) -> None:
        with self._lock:
            del self._places[lease]

    def places_of(self, lease: InstanceLease) -> frozenset[str]:
        with self._lock:
            return self._places[lease]

    def are_taken(self, places: frozenset[str]) -> bool:
        """Whether a run uses one of the places."""
        with self._lock:
            return any(places & each for each in self._places.values())

    def leases(self) -> list[InstanceLease]:
        with self._lock:
            return list(self._places)
