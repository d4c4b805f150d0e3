"""The tables that CACHE TABLE has cached in the clusters' Thrift Servers, in memory that all
processes of the proxy share.

A Thrift Server has one cache: a query of any session that contains a cached plan reads its rows.
Spark drops them when the same server writes the table, but not after a write in another server or
after a new copy. So the proxy records which tables were cached in which server and in which
version. Before the first statement that reads one of them in another version it clears the server's
cache. Only CLEAR CACHE is certain: by the name of a table Spark finds neither a cached plan that
reads the table in a subquery, nor temporary views of other sessions.
"""

from collections import defaultdict
from collections.abc import Mapping
from hashlib import blake2b

from conf.names import TableRef
from conf.placement import Placement
from conf.topology import Endpoint
from dialect.statement import CacheTable, CreateTempTable, SessionEffect
from proxy.session.replay.function_changes import FunctionChanges

_ANY = "*"  # a version that differs from all versions that are read
_CLEARED = "cleared"
_BEGIN = 1  # the number of the event that is the start of the proxy
Cached = Mapping[str, int]
"""Tables in their versions, with the number of the event that recorded each of them last."""


class ServerCaches:
    """The tables that each server may have cached. All methods are called in one thread."""

    def __init__(self, shared: FunctionChanges | None = None, used_before: bool = False) -> None:
        """`shared` is the memory of all processes; None: this is the only process. `used_before`:
        servers may have cached rows before the proxy started, until a process clears them."""
        self._shared = shared or FunctionChanges()
        self._at = (0,) * len(self._shared.now())
        self._events = _BEGIN
        self._cached: defaultdict[str, dict[str, int]] = defaultdict(dict)
        # The last event before which records may be lost: any table may be cached in any server.
        self._missed = _BEGIN if used_before else 0
        self._cleared: dict[str, int] = {}  # by server: the value of `_missed` at its last clearing

    def record(self, endpoint: Endpoint, versions: Mapping[TableRef, object]) -> None:
        """Records the tables of a statement that caches rows, before it runs and after its end."""
        for table, version in versions.items():
            is_written = isinstance(version, Placement) and version.writing
            self._shared.record(str(endpoint), _key(table, _ANY if is_written else _text(version)))

    def stale(self, endpoint: Endpoint, versions: Mapping[TableRef, object]) -> Cached | None:
        """The cached tables of the server if its cache has to be cleared before these tables are
        read; None: it has not. The result is the argument of `cleared`."""
        self._follow()
        server = str(endpoint)
        cached = self._cached.get(server, {})
        if versions and self._missed > self._cleared.get(server, 0):
            return {**cached, "": self._missed}
        if not cached:
            return None
        for table, version in versions.items():
            start, same = _key(table, ""), _key(table, _text(version))
            if any(each.startswith(start) and each != same for each in cached):
                return dict(cached)
        return None

    def cleared(self, endpoint: Endpoint, cached: Cached) -> None:
        """Removes `cached`, which `stale` returned: the server's cache was cleared after that."""
        self._follow()
        server = str(endpoint)
        missed = cached.get("", 0)
        if missed > self._cleared.get(server, 0):
            self._cleared[server] = missed
            self._shared.record(server, _CLEARED)
        kept = {
            key: event
            for key, event in self._cached.get(server, {}).items()
            if event != cached.get(key)
        }
        if kept:
            self._cached[server] = kept
        else:
            self._cached.pop(server, None)

    def _follow(self) -> None:
        """Reads the records that all processes have added since the last call."""
        recorded, self._at = self._shared.since(self._at)
        if recorded == ():
            return
        self._events += 1
        if recorded is None:
            self._missed = self._events
            return
        for server, key in recorded:
            if key == _CLEARED:  # of rows that were cached before the proxy started
                self._cleared.setdefault(server, _BEGIN)
            else:
                self._cached[server][key] = self._events


def caches_rows(effect: SessionEffect | None) -> bool:
    match effect:
        case CacheTable():
            return True
        case CreateTempTable(cached=cached):
            return cached is not None
    return False


def _key(table: TableRef, version: str) -> str:
    """A short text of the same length for all tables."""
    return f"{_short(str(table))}/{version}"


def _text(version: object) -> str:
    """A short text that is the same in all processes for the same version."""
    if isinstance(version, Placement):
        opened = tuple(each.id for each in version.open)
        copies = tuple((each.cluster, each.location, each.of) for each in version.copies)
        version = version.primary, version.version, version.facts, copies, opened
    return _short(repr(version))


def _short(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()
