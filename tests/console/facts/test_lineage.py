"""What tables are made of."""

from typing import Any

from console.facts.lineage import BOTH, DOWNSTREAM, MAX_NODES, UPSTREAM, Lineage, part_of
from tests.console.browser import Browser, opened
from tests.console.edges import made
from tests.console.fake_places import entities, placed
from tests.console.fake_sources import fake_sources, open_app


def lineage(*edges: tuple[str, str]) -> Lineage:
    found = Lineage({"east": 0, "west": 1})
    found.add_statements([made(source, target) for source, target in edges])
    return found


def names(found: Lineage, table: str, direction: str) -> set[str]:
    nodes, _, _ = part_of(found, table, direction)
    return {node.label for node in nodes if node.kind == "table"}


def test_upstream_and_downstream_of_a_table() -> None:
    found = lineage(("s.a", "s.b"), ("s.b", "s.c"), ("s.x", "s.c"), ("s.c", "s.d"))
    assert names(found, "s.b", UPSTREAM) == {"s.a", "s.b"}
    assert names(found, "s.b", DOWNSTREAM) == {"s.b", "s.c", "s.d"}
    assert names(found, "s.b", BOTH) == {"s.a", "s.b", "s.c", "s.d"}
    assert names(found, "", BOTH) == {"s.a", "s.b", "s.c", "s.d", "s.x"}
    assert names(found, "s.none", BOTH) == set()


def test_statements_that_write_one_table_are_one_node() -> None:
    found = Lineage({})
    found.add_statements([made("s.a", "s.c", 40), made("s.b", "s.c", 2), made("s.c", "s.c", 9)])
    [node] = [node for node in found.nodes.values() if node.kind == "statement"]
    assert node.label == "42 statements"
    assert node.link == "/statements/a1"


def test_a_large_graph_is_cut_near_the_table() -> None:
    found = lineage(*((f"s.t{number}", f"s.t{number + 1}") for number in range(200)))
    nodes, edges, left_out = part_of(found, "s.t0", DOWNSTREAM)
    assert len(nodes) == MAX_NODES
    assert left_out == 401 - MAX_NODES
    assert nodes[0].chosen
    assert {"table s.t0", "statements s.t1"} <= {node.id for node in nodes}
    known = {node.id for node in nodes}
    assert all(edge.source in known and edge.target in known for edge in edges)


def filled() -> Browser:
    sources = fake_sources()
    fake: Any = sources
    fake.metastore.put("s.orders", placed(True))
    fake.metastore.put("s.daily", placed())
    fake.metastore.put("s.alone", placed(True))
    fake.lifecycle.stored = entities()
    fake.history.answers["lineage"] = {"edges": [made("s.orders", "s.daily")], "more": False}
    return opened(open_app(sources))


def test_the_page_has_tables_copies_feeds_processes_and_statements() -> None:
    text = filled().get("/lineage").text
    for kind in ("table", "copy", "feed", "process", "statement"):
        assert f"k-{kind} " in text, kind
    assert "s.alone" not in text.split("<svg")[-1]  # it has a copy alone
    assert "table s.orders to statement 1 statement" in text
    chosen = filled().get("/lineage?table=S.Orders&direction=downstream").text
    assert "chosen" in chosen
    assert "clicks" not in chosen.split("<svg")[-1].split("</svg>")[0]


def test_a_feed_makes_the_table_of_its_target() -> None:
    page = filled()
    text = page.get("/lineage?table=tgt.clicks&direction=upstream").text
    assert "src.clicks to feed clicks" in text


def test_empty_states_say_what_to_do() -> None:
    page = opened(open_app())
    assert "Run a statement" in page.get("/lineage").text
    assert "There is no table s.none" in page.get("/lineage?table=s.none").text


def test_sources_that_are_down_are_named() -> None:
    sources = fake_sources()
    fake: Any = sources
    fake.lifecycle.down = fake.metastore.down = True
    fake.history.answers["lineage"] = {"edges": [made("s.a", "s.b")], "more": False}
    answer = opened(open_app(sources)).get("/lineage")
    assert answer.status == 200
    assert "the lifecycle: " in answer.text
    assert "the metastore: " in answer.text
    assert "s.b" in answer.text
