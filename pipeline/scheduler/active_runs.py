"""The runs that a lifecycle server has under way."""

import threading

from pipeline.scheduler.instance_lease import InstanceLease
from pipeline.scheduler.instances.instance import InstanceKey


class ActiveRuns:
    """The lease of each run and the places that no other run may use, by the key of the run's first
    instance. All threads of the server use it.
    """

    def __init__(self) -> None:
        self._leases: dict[InstanceKey, InstanceLease] = {}
        self._places: dict[InstanceKey, frozenset[str]] = {}
        self._lock = threading.Lock()

    def add(self, key: InstanceKey, lease: InstanceLease, places: frozenset[str]) -> None:
        with self._lock:
            self._leases[key] = lease
            self._places[key] = places

    def remove(self, key: InstanceKey) -> None:
        with self._lock:
            del self._leases[key], self._places[key]

    def places_of(self, key: InstanceKey) -> frozenset[str]:
        with self._lock:
            return self._places[key]

    def are_taken(self, places: frozenset[str]) -> bool:
        """Whether a run uses one of the places."""
        with self._lock:
            return any(places & each for each in self._places.values())

    def leases(self) -> list[InstanceLease]:
        with self._lock:
            return list(self._leases.values())
