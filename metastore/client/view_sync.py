"""Waiting for what is under way through the views.

A view reads an object's facts, then sends them back with a client's alter. Facts that somebody
writes in between are lost. Whoever writes facts at the metastore itself waits afterwards until the
views have ended what they had begun, and looks again: what begins later reads the new facts.
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
    """Callable by several threads. Raises MetastoreDown when a view does not answer in time.

    A view that nobody runs, or one without this call, has nothing under way that is known of.
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
        """Returns when each change of the table that a view had begun is over."""
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
        """Ends the connections; a call under way fails soon."""
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
