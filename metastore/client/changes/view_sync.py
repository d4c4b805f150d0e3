"""Waits for changes that are pending in the views.

A view reads an object's facts, and writes them back with a client's alter. Facts that another
writer sets in between are lost. So a writer that does not use a view waits until the views have
ended their pending changes, and then reads the facts again. Later changes use the new facts.
"""

from collections import deque
from collections.abc import Iterable
from typing import Self

from conf.names import TableRef
from conf.settings.settings import Settings
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown, MetastoreRefused


class ViewSync:
    """Callable by several threads. Raises MetastoreDown if a view does not answer in time.

    A view that does not run, or that does not have this call, has no pending changes.
    """

    def __init__(self, views: Iterable[Endpoint], timeout: float) -> None:
        self._timeout = timeout
        self._idle: dict[Endpoint, deque[HmsClient]] = {view: deque() for view in views}
        self._busy: set[HmsClient] = set()
        self._closed = False

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """For every view that the settings name."""
        return cls(settings.views.values(), settings.metastore_timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, ref: TableRef) -> None:
        """Returns when all pending changes of the table in the views have ended."""
        for view, idle in self._idle.items():
            client = idle.pop() if idle else HmsClient((view,), self._timeout)
            self._busy.add(client)
            try:
                _wait_for_pending(client, ref)
            finally:
                self._busy.discard(client)
                if self._closed:
                    client.close()
                else:
                    idle.append(client)

    def close(self) -> None:
        """Closes the connections; running calls fail."""
        self._closed = True
        for client in tuple(self._busy):
            client.abort()
        for idle in self._idle.values():
            while idle:
                idle.pop().close()


def _wait_for_pending(client: HmsClient, ref: TableRef) -> None:
    try:
        client.wait_for_pending(ref)
    except MetastoreRefused:
        return
    except MetastoreDown as error:
        if not isinstance(error.__cause__, ConnectionRefusedError):
            raise
