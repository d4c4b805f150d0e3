"""The main program of the embedded stack's lifecycle server.

Each start of the stack chooses new addresses for the clusters. So this program first updates the
clusters' definitions and waits until all clusters answer; then it runs instances. The first
instance that copies or evicts starts Spark, with a small heap.
"""

import getpass
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from cli.main import main as causeway
from cli.stack.lifecycle_documents import cluster_documents
from cli.stack.stack import answers
from conf.errors import CausewayError
from conf.settings.load import load
from conf.settings.settings import Settings
from conf.topology import Endpoint
from pipeline.falcon.documents import document
from pipeline.scheduler import entity_service
from pipeline.scheduler.clock import SystemClock
from pipeline.scheduler.store.store import Store

_STEP = 0.1  # seconds
_HEAP = "512m"


def main(settings_file: str, store: str) -> int:
    settings = load(Path(settings_file))
    write_clusters(Store(store), settings, getpass.getuser())
    _wait_for(_addresses(settings))
    return causeway(_command(settings_file, store, settings))


def write_clusters(store: Store, settings: Settings, user: str) -> None:
    """Submits the clusters, or updates definitions that differ. A definition that cannot be updated
    stays as it is, with a line in the log."""
    now = SystemClock().now()
    known = entity_service.read_catalog(store)
    for text in cluster_documents(settings):
        entity = document.read(text)
        try:
            if entity.key not in known.stored:
                entity_service.submit(store, text, user, now, lambda *_: ())
            elif known.entities[entity.key] != entity:
                entity_service.update(store, entity.key, text, user, now, lambda *_: ())
        except CausewayError as error:
            print(f"{entity.key} is not updated: {error}", file=sys.stderr, flush=True)


def _addresses(settings: Settings) -> list[Endpoint]:
    clusters = settings.topology.clusters.values()
    return [settings.listen, *(each for cluster in clusters for each in cluster.hs2)]


def _wait_for(addresses: Iterable[Endpoint]) -> None:
    """Waits without a limit: the stack ends this process if it does not answer in time."""
    for each in addresses:
        while not answers(each):
            time.sleep(_STEP)


def _command(settings_file: str, store: str, settings: Settings) -> list[str]:
    assert settings.topology.default is not None  # the stack's settings name it
    return [
        *("lifecycle", "serve", "--conf", settings_file, "--store", store),
        *("--default-cluster", settings.topology.default),
        *("--master", "local[1]", "--spark-conf", f"spark.driver.memory={_HEAP}"),
        *("--workers", "2", "--poll", "5"),
    ]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
