"""Sources with something for every screen, and the paths of the screens."""

from pathlib import Path
from typing import Any

from conf.names import TableRef
from tests.console.edges import made
from tests.console.fake_places import behind, entities, instance, parted, placed
from tests.console.fake_sources import fake_sources
from tests.pipeline.hudi.conftest import FakeTable

PATHS = (
    *("/freshness", "/freshness/w.visits", "/freshness/s.items", "/lag", "/feeds"),
    *("/feeds/feed/clicks", "/new?kind=cluster", "/new?kind=feed", "/new?kind=process"),
    *("/map", "/live", "/refusals", "/statements", "/where"),
    *("/lineage", "/lineage?table=s.daily", "/hudi", "/hudi/s.trips?since=earliest"),
)


def filled(folder: Path) -> Any:
    """Sources with something for every screen."""
    sources: Any = fake_sources()
    sources.metastore.put("s.items", placed(False, 7200))
    sources.metastore.put("s.orders", placed(True))
    sources.metastore.put("w.visits", placed(), parted(400, range(100, 120)))
    sources.metastore.put("s.trips", placed())
    sources.metastore.hudi = (TableRef("s", "trips"),)
    trips = FakeTable(folder / "trips", version=9)
    trips.commit("20260101000000000", [("ds=1", "a")])
    trips.commit("20260103000000000", state="inflight")
    sources.hudi.tables = {"file:/east/s.trips": trips.path}
    sources.lifecycle.stored = entities()
    sources.lifecycle.behind = [behind(20_000.0)]
    states = {0: "WAITING", 1: "RUNNING", 5: "FAILED", 7: "TIMEDOUT", 8: "KILLED", 9: "SUSPENDED"}
    sources.lifecycle.known = [
        instance(hours, states.get(hours, "SUCCEEDED")) for hours in range(60)
    ]
    edges = [made("s.orders", "s.daily", 40), made("s.items", "s.daily"), made("s.daily", "s.sum")]
    sources.history.answers["lineage"] = {"edges": edges, "more": False}
    return sources
