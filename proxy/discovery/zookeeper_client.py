"""Keeps the server's nodes in ZooKeeper while it serves.

The nodes are ephemeral: ZooKeeper removes them when the server's session ends, even if the server
was killed. When the session expires, a new session with new nodes replaces it. While ZooKeeper is
down, clients that connect to the server's address are served as before.
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
from proxy.discovery.nodes import Node

_log = logging.getLogger(__name__)
_MAX_RETRY_DELAY = 10.0  # seconds between attempts to connect, at most
_CHECK_INTERVAL = 5.0  # seconds between checks that the nodes exist
_STOP_TIME = 5.0  # seconds for the thread to end


def registered(zookeeper: ZooKeeper, timeout: float) -> list[str] | None:
    """The names of the nodes in the namespace; None if there is no such namespace.

    Raises KazooException, and KazooTimeoutError if no server answers within `timeout` seconds.
    """
    client = KazooClient(zookeeper.quorum, timeout=timeout)
    try:
        client.start(timeout)
        return list(client.get_children(f"/{zookeeper.namespace}"))
    except NoNodeError:
        return None
    finally:
        client.stop()
        client.close()


class Registration:
    """Registers the nodes in a thread of its own. Call `start` and `stop` once each; neither
    raises."""

    def __init__(self, zookeeper: ZooKeeper, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._paths: list[str] = []  # of the nodes that were created
        self._stopping = threading.Event()
        self._changed = threading.Event()
        forever = KazooRetry(max_tries=-1, max_delay=_MAX_RETRY_DELAY)
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # this module logs what matters
        self._client = KazooClient(
            zookeeper.quorum, timeout=zookeeper.timeout, connection_retry=forever
        )
        self._client.add_listener(self._on_state)
        self._thread = threading.Thread(target=self._keep, name="zookeeper", daemon=True)

    def start(self) -> None:
        """Registers as soon as ZooKeeper answers."""
        self._client.start_async()
        self._thread.start()

    def stop(self) -> None:
        """Removes the nodes, so that no more clients find this server."""
        self._stopping.set()
        self._changed.set()
        self._thread.join(_STOP_TIME)

    def _on_state(self, state: str) -> None:
        if state == KazooState.LOST:
            self._paths = []
            if not self._stopping.is_set():
                _log.warning("the session with ZooKeeper expired; registering again")
        self._changed.set()

    def _keep(self) -> None:
        warned = False
        while not self._stopping.is_set():
            with suppress(KazooException, KazooTimeoutError):
                if self._client.connected and not self._nodes_exist():
                    self._register()
            changed = self._changed.wait(_CHECK_INTERVAL)
            self._changed.clear()
            if not (changed or warned or self._client.connected):
                warned = True
                _log.warning(
                    "ZooKeeper does not answer; clients do not find this server through it"
                )
        with suppress(KazooException, KazooTimeoutError):
            for path in self._paths:
                with suppress(NoNodeError):
                    self._client.delete(path)
        self._client.stop()
        self._client.close()

    def _nodes_exist(self) -> bool:
        return bool(self._paths) and all(self._client.exists(path) for path in self._paths)

    def _register(self) -> None:
        self._paths = []
        for node in self._nodes:
            with suppress(NodeExistsError):
                self._client.ensure_path(f"/{node.namespace}")
            path = f"/{node.namespace}/{node.prefix}"
            self._paths.append(self._client.create(path, node.data, ephemeral=True, sequence=True))
        _log.info("registered in ZooKeeper: %s", ", ".join(self._paths))
