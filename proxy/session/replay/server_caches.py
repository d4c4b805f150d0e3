"""What CACHE TABLE left in the clusters' Thrift Servers, as all processes of the proxy know it.

Spark has one cache a server: a query of any session that contains a cached plan reads its rows.
Spark drops them when that server itself writes the table; of writes elsewhere, and of new copies,
it learns nothing. So each process remembers which tables were cached in which server, in which
version, and the first statement that reads one of them in another version clears the server's
cache first. CLEAR CACHE alone is sure to do it: Spark finds no cached plan by a table that only a
subquery of it reads, and no temporary view of another session.
"""

from collections import defaultdict
from collections.abc import Mapping
from hashlib import blake2b

from conf.names import TableRef
from conf.placement import Placement
from conf.topology import Endpoint
from dialect.statement import CacheTable, CreateTempTable, SessionEffect
from proxy.session.replay.function_changes import FunctionChanges

_ANY = "*"  # a version that is none when the table is read
_CLEARED = "cleared"
_BEGIN = 1  # the event that is the start of the proxy
Cached = Mapping[str, int]
"""Tables in their versions, and when each was last recorded."""


class ServerCaches:
    """Which tables a server may have cached. All methods are called in one thread."""

    def __init__(self, shared: FunctionChanges | None = None, used_before: bool = False) -> None:
        """`shared` is memory of all processes; None: this is the only one. `used_before`: servers
        may have cached rows when the first process began, until one process clears them."""
        self._shared = shared or FunctionChanges()
        self._at = (0,) * len(self._shared.now())
        self._events = _BEGIN
        self._cached: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._missed = _BEGIN if used_before else 0  # until then any table may be cached anywhere
        self._cleared: dict[str, int] = {}  # of what was missed until then, by server

    def record(self, endpoint: Endpoint, versions: Mapping[TableRef, object]) -> None:
        """A statement that caches rows of these tables begins, or has ended."""
        for table, version in versions.items():
            is_written = isinstance(version, Placement) and version.writing
            self._shared.record(str(endpoint), _key(table, _ANY if is_written else _text(version)))

    def stale(self, endpoint: Endpoint, versions: Mapping[TableRef, object]) -> Cached | None:
        """What to clear in this server before these tables are read; None: nothing."""
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
        """The server's cache was cleared after `stale` returned `cached`."""
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
        recorded, self._at = self._shared.since(self._at)
        if recorded == ():
            return
        self._events += 1
        if recorded is None:
            self._missed = self._events
            return
        for server, key in recorded:
            if key == _CLEARED:  # of what was there when the first process began
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
    """A short text, which has the same length for all tables."""
    return f"{_short(str(table))}/{version}"


def _text(version: object) -> str:
    """The same text in all processes for the same version."""
    if isinstance(version, Placement):
        opened = tuple(each.id for each in version.open)
        copies = tuple((each.cluster, each.location, each.of) for each in version.copies)
        version = version.primary, version.version, version.facts, copies, opened
    return _short(repr(version))


def _short(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()
