"""Locks tables in the views for writers that do not use a view, and waits for the views' changes.

A view reads an object's facts and writes them back with a client's alter. So does every other
writer of facts. From reading to writing each of them locks the table in all processes of the view
(`metastore.view.locks`), so that no change is lost. A writer that does not use a view also reports
its change to the views and reads the facts again: a view may have added the mark of a running
write. Views of older versions have no locks; the second reading shows if one has written old facts
back.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Self, TypeVar
from uuid import uuid4

from conf.names import TableRef
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.settings import Settings
from conf.topology import Endpoint
from metastore.client.catalog_client import Holds
from metastore.client.connecting import PLAIN
from metastore.client.connection import UNKNOWN_METHOD, Connection
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown, MetastoreRefused

T = TypeVar("T")

TRIES, PAUSE = 4, 0.05
"""Attempts of a call whose connection is lost, and the seconds between two of them. The view may
have been restarted, and a view that ends may still accept connections for a moment."""

GRACE = 1.0
"""Seconds after which the metastore has finished a call whose sender was lost."""


class ViewSync:
    """May be used by several threads. Raises MetastoreDown if a view does not answer in time.

    A view that does not run, or whose version does not have the calls, has no pending changes.
    """

    def __init__(
        self,
        views: Iterable[Endpoint],
        timeout: float,
        grace: float = GRACE,
        logins: Mapping[Endpoint, MetastoreLogin] | None = None,
    ) -> None:
        """`logins` has the log-ins of the views that need one."""
        self._timeout = timeout
        self._logins = logins or {}
        self._grace = grace
        self._idle: dict[Endpoint, deque[HmsClient]] = {
            view: deque() for view in sorted(set(views), key=str)
        }
        self._busy: set[HmsClient] = set()
        # The id of the process at the other end of a client's connection, with that connection.
        self._known: dict[HmsClient, tuple[Connection | None, str]] = {}
        self._closed = False
        self._mine = threading.local()  # `locks`: what the thread has locked
        self._none_runs_since: float | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """A ViewSync for every view in the settings."""
        return cls(settings.view_addresses, settings.metastore_timeout, logins=settings.view_logins)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, ref: TableRef) -> None:
        """Reports a change of the table, and returns when the views' pending changes of it have
        ended."""
        lock = self._locks().get(ref)
        if lock is not None:
            for granted in lock.granted.values():
                _wait_for_pending(granted.client, ref, lock.owner)
        for view in self._idle:
            if lock is not None and (view in lock.granted or view in lock.covered):
                continue
            client = self._take(view)
            try:
                _wait_for_pending(client, ref, "")
            finally:
                self._give_back(view, client)

    @contextmanager
    def exclusive(self, ref: TableRef) -> Iterator[Holds]:
        """Locks the table in every view that runs. A thread may nest it.

        Yields a function that returns whether the lock still keeps other writers out. If no view
        runs, other processes are not kept out.
        """
        locks = self._locks()
        if ref in locks:
            yield locks[ref].holds
            return
        lock = locks[ref] = self._lock(ref)
        try:
            yield lock.holds
        except MetastoreDown:  # the metastore may still carry out what was sent
            lock.abandon()
            raise
        finally:
            del locks[ref]
            self._unlock(lock)

    def close(self) -> None:
        """Closes the connections; running calls fail."""
        self._closed = True
        for client in tuple(self._busy):
            client.abort()
        for idle in self._idle.values():
            while idle:
                idle.pop().close()

    def _locks(self) -> "dict[TableRef, _Lock]":
        known: dict[TableRef, _Lock] | None = getattr(self._mine, "locks", None)
        if known is None:
            known = self._mine.locks = {}
        return known

    def _lock(self, ref: TableRef) -> "_Lock":
        """The lock in all views that run. If none runs, waits until the changes of a view that has
        just ended are certainly finished."""
        while True:
            lock = _Lock(uuid4().hex)
            try:
                runs = [self._lock_in(view, ref, lock) for view in self._idle]
            except BaseException:
                self._unlock(lock)
                raise
            if any(runs) or not runs:
                self._none_runs_since = None
                return lock
            now = monotonic()
            if self._none_runs_since is None:
                self._none_runs_since = now
            left = self._none_runs_since + self._grace - now
            if left <= 0:
                return lock
            sleep(left)

    def _lock_in(self, view: Endpoint, ref: TableRef, lock: "_Lock") -> bool:
        """Adds the view's grant to the lock. Returns whether a process listens there."""
        client = self._take(view)
        connection, process = self._known.get(client, (None, ""))
        if process in lock.processes and client.open_connection is connection is not None:
            self._give_back(view, client)
            lock.covered.add(view)
            return True
        try:
            process = _again(lambda: client.lock(ref, lock.owner))
        except MetastoreRefused as refused:
            self._give_back(view, client)
            if refused.kind == UNKNOWN_METHOD:
                return True
            raise MetastoreDown(f"{view}: {refused}") from refused
        except MetastoreDown as error:
            self._give_back(view, client)
            if isinstance(error.__cause__, ConnectionRefusedError):
                return False
            raise
        connection = client.open_connection
        self._known[client] = connection, process
        lock.processes.add(process)
        lock.granted[view] = _Granted(client, connection)
        return True

    def _unlock(self, lock: "_Lock") -> None:
        for view, granted in lock.granted.items():
            try:
                if granted.holds():
                    granted.client.unlock()
            except (MetastoreDown, MetastoreRefused):
                granted.client.close()
            finally:
                self._give_back(view, granted.client)

    def _take(self, view: Endpoint) -> HmsClient:
        idle = self._idle[view]
        client = idle.pop() if idle else self._new_client(view)
        self._busy.add(client)
        return client

    def _new_client(self, view: Endpoint) -> HmsClient:
        return HmsClient((view,), self._timeout, login=self._logins.get(view, PLAIN))

    def _give_back(self, view: Endpoint, client: HmsClient) -> None:
        self._busy.discard(client)
        if self._closed:
            client.close()
        else:
            self._idle[view].append(client)


@dataclass(frozen=True, slots=True)
class _Granted:
    """The lock of one process, which keeps it while the client's connection is open."""

    client: HmsClient
    connection: Connection | None

    def holds(self) -> bool:
        open_one = self.client.open_connection
        return open_one is not None and open_one is self.connection


@dataclass(slots=True)
class _Lock:
    """The lock of one table. `granted` has one address of each process that granted it, `covered`
    their other addresses, and `processes` their ids.
    """

    owner: str
    granted: dict[Endpoint, _Granted] = field(default_factory=dict)
    processes: set[str] = field(default_factory=set)
    covered: set[Endpoint] = field(default_factory=set)

    def holds(self) -> bool:
        """Whether one of the views that granted the lock still runs, or none granted it."""
        granted = self.granted.values()
        return not granted or any(each.holds() for each in granted)

    def abandon(self) -> None:
        """Closes the connections. The views keep the lock for `GRACE` seconds."""
        for each in self.granted.values():
            each.client.close()


def _wait_for_pending(client: HmsClient, ref: TableRef, owner: str) -> None:
    try:
        _again(lambda: client.wait_for_pending(ref, owner))
    except MetastoreRefused as refused:
        if refused.kind != UNKNOWN_METHOD:
            raise MetastoreDown(str(refused)) from refused
    except MetastoreDown as error:
        if not isinstance(error.__cause__, ConnectionRefusedError):
            raise


def _again(call: Callable[[], T]) -> T:
    """Makes the call, and repeats it if the connection is lost."""
    for _ in range(TRIES - 1):
        try:
            return call()
        except MetastoreDown as error:
            if not isinstance(error.__cause__, ConnectionError):
                raise
            if isinstance(error.__cause__, ConnectionRefusedError):
                raise
            sleep(PAUSE)
    return call()
