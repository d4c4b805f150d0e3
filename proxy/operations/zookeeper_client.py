"""Keeps our nodes in ZooKeeper while we serve.

The nodes live as long as our session there, so that they go when we do, however we end. A lost
session is followed by a new one and new nodes, for as long as we serve; ZooKeeper being away keeps
nobody from being served who knows where we are.
"""

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from conf.settings.operating import ZooKeeper
from proxy.operations.discovery import Node

_log = logging.getLogger(__name__)
_AGAIN = 10.0  # seconds at most between attempts to connect
_LOOK = 5.0  # seconds between looks at whether our nodes are there
_GOODBYE = 5.0


class Registration:
    """`start` and `stop`, once each; neither raises. All of it happens in threads of its own."""

    def __init__(self, zookeeper: ZooKeeper, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._made: list[str] = []
        self._over = threading.Event()
        self._changed = threading.Event()
        forever = KazooRetry(max_tries=-1, max_delay=_AGAIN)
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # what matters is said here
        self._client = KazooClient(
            zookeeper.quorum, timeout=zookeeper.timeout, connection_retry=forever
        )
        self._client.add_listener(self._hear)
        self._thread = threading.Thread(target=self._keep, name="zookeeper", daemon=True)

    def start(self) -> None:
        """Registers as soon as ZooKeeper is there."""
        self._client.start_async()
        self._thread.start()

    def stop(self) -> None:
        """Takes the nodes away, so that nobody is sent here any more."""
        self._over.set()
        self._changed.set()
        self._thread.join(_GOODBYE)

    def _hear(self, state: str) -> None:
        if state == KazooState.LOST:
            self._made = []
            if not self._over.is_set():
                _log.warning("ZooKeeper does not know us any more; nobody finds us there for now")
        self._changed.set()

    def _keep(self) -> None:
        quiet = False
        while not self._over.is_set():
            with suppress(KazooException, KazooTimeoutError):
                if self._client.connected and not self._are_there():
                    self._register()
            heard = self._changed.wait(_LOOK)
            self._changed.clear()
            if not (heard or quiet or self._client.connected):
                quiet = True
                _log.warning("ZooKeeper does not answer; nobody finds us there until it does")
        with suppress(KazooException, KazooTimeoutError):
            for path in self._made:
                with suppress(NoNodeError):
                    self._client.delete(path)
        self._client.stop()
        self._client.close()

    def _are_there(self) -> bool:
        return bool(self._made) and all(self._client.exists(path) for path in self._made)

    def _register(self) -> None:
        self._made = []
        for node in self._nodes:
            with suppress(NodeExistsError):
                self._client.ensure_path(f"/{node.namespace}")
            path = f"/{node.namespace}/{node.prefix}"
            self._made.append(self._client.create(path, node.data, ephemeral=True, sequence=True))
        _log.info("registered in ZooKeeper: %s", ", ".join(self._made))
