"""The map: health, load and lag of the clusters, and drain."""

from pathlib import Path
from typing import Any

from console.pages.map import box_of, cluster_rows, flow_of, worst_lags
from tests.console.browser import Browser
from tests.console.fake_sources import (
    PASSWORD,
    app_with_passwords,
    fake_sources,
    open_app,
    statement,
)

METRICS = """# HELP causeway_copy_lag_seconds How far a copy lags
# TYPE causeway_copy_lag_seconds gauge
causeway_copy_lag_seconds{table="s.orders",cluster="west"} 7000
causeway_copy_lag_seconds{table="s.visits",cluster="west"} 3
causeway_copy_lag_seconds{table="s.visits",cluster="east"} 0
causeway_sessions 4
"""


def cluster(name: str, *up: bool | None, **more: Any) -> dict[str, Any]:
    """A row of GET /v1/clusters."""
    endpoints = [
        {"endpoint": f"{name}{n}:1", "up": each, "reason": "refused", "sessions": 2}
        for n, each in enumerate(up)
    ]
    return {"name": name, "drained": False, "endpoints": endpoints} | more


def test_the_worst_lag_of_each_cluster_is_in_the_metrics() -> None:
    assert worst_lags(METRICS) == {"west": (7000.0, "s.orders"), "east": (0.0, "s.visits")}
    assert worst_lags("") == {}


def test_a_cluster_is_one_row_for_all_proxies() -> None:
    seen = [cluster("west", True, False), cluster("west", False, False, drained=True)]
    runs = statement("a", cluster="west", state="RUNNING")
    ended = [statement("a", cluster="west"), statement("b", cluster="west"), statement("c")]
    [row] = cluster_rows(seen, [runs], ended, worst_lags(METRICS))
    assert (row.health, row.servers, row.drained) == ("partly up", "1 of 2", True)
    assert (row.rate, row.running, row.sessions) == (2 / 60, 1, 8)
    assert row.problems == ("west1:1: refused",)
    assert (row.lag, row.table) == (7000.0, "s.orders")


def test_the_box_has_the_level_of_the_worst_lag() -> None:
    for lag, level in (
        (None, "none"),
        (0.0, "fresh"),
        (60, "minutes"),
        (7000, "hours"),
        (1e6, "days"),
    ):
        lags = {} if lag is None else {"west": (lag, "s.t")}
        [row] = cluster_rows([cluster("west", True)], [], [], lags)
        assert box_of(row).level == level


def test_a_cluster_that_was_not_tried_is_not_up() -> None:
    [row] = cluster_rows([cluster("west", None)], [], [], {})
    assert row.health == "unknown"


def test_a_flow_says_its_bytes_and_failures() -> None:
    found = flow_of({"from": "a", "to": "b", "copies": 3, "failed": 1, "bytes": 4_000_000})
    assert (found.words, found.failed) == ("4.0 MB in 3 copies, 1 failed", True)


def test_the_page_has_all_clusters_and_what_was_copied() -> None:
    sources: Any = fake_sources()
    sources.proxies.found = [cluster("east", True), cluster("west", False)]
    sources.proxies.measured = METRICS
    flow = {"from": "east", "to": "west", "copies": 1, "failed": 0, "bytes": 5}
    sources.history.answers = {"traffic": {"traffic": [flow]}}
    text = Browser(open_app(sources)).get("/map").text
    for words in ("5 B in 1 copy", "west0:1: refused", "s.orders", "1.9 h behind"):
        assert words in text


def test_an_administrator_drains_and_an_operator_does_not(tmp_path: Path) -> None:
    sources: Any = fake_sources()
    app = app_with_passwords(tmp_path, sources)
    olga, ada = Browser(app), Browser(app)
    olga.log_in("olga", PASSWORD)
    ada.log_in("ada", PASSWORD)
    assert olga.post("/clusters/west/drain").status == 403
    assert ada.post("/clusters/west/drain").status == 303
    assert ada.post("/clusters/west/resume").status == 303
    assert sources.proxies.drained == [("west", False), ("west", True)]
