"""The rules of a cluster's document."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.errors import DocumentProblem
from pipeline.falcon.rules.shared_rules import duplicates


def alone(cluster: Cluster) -> Iterator[DocumentProblem]:
    staging, working = cluster.locations.get("staging"), cluster.locations.get("working")
    if not staging:
        yield DocumentProblem(cluster.line, "locations", "location staging is missing")
    elif working is not None and staging.rstrip("/") == working.rstrip("/"):
        yield DocumentProblem(cluster.line, "locations", f"staging and working are both {staging}")
    yield from duplicates(cluster.line, "properties", (name for name, _ in cluster.properties))


def among(cluster: Cluster) -> Iterator[DocumentProblem]:
    registry = cluster.interfaces.get("registry")
    if registry and (reason := _registry_fault(registry.endpoint)):
        yield DocumentProblem(
            registry.line, "interface", f"registry {registry.endpoint!r} {reason}"
        )


def _registry_fault(endpoint: str) -> str | None:
    try:
        parts = urlsplit(endpoint)
        if parts.scheme == "thrift" and parts.hostname and parts.port:
            return None
    except ValueError:
        pass
    return "is not thrift://host:port"
