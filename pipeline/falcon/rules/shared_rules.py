"""What the rules of several kinds of documents share."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from pipeline.falcon.catalog_uri import TableUri
from pipeline.falcon.entities.agreements import Sla
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.datasource import Datasource
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.errors import DocumentProblem


class Surroundings(Protocol):
    """The other entities, by name; None for an unknown name."""

    def cluster(self, name: str) -> Cluster | None: ...

    def feed(self, name: str) -> Feed | None: ...

    def datasource(self, name: str) -> Datasource | None: ...

    def feeds(self) -> Iterable[Feed]: ...


def duplicates(line: int, element: str, names: Iterable[str]) -> Iterator[DocumentProblem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield DocumentProblem(line, element, f"{name} is there {count} times")


def sla_fault(sla: Sla, low: str, high: str) -> str | None:
    if sla.low and sla.high and sla.low.length > sla.high.length:
        return f"{low} {sla.low} exceeds {high} {sla.high}"
    return None


def keys_text(keys: frozenset[str]) -> str:
    return ", ".join(sorted(keys)) or "(none)"


def not_one_partition(uri: TableUri) -> str:
    """Why a URI with free keys cannot be used where one partition is needed."""
    return f"{uri} is not one partition: {keys_text(uri.free)} has any value"
