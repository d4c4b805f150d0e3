"""A graph in layers."""

import os
import random

from console.drawing.graph import Edge, Node, graph
from console.drawing.layers import layers

SEED = int(os.environ.get("CAUSEWAY_SEED", "20"))


def test_a_node_stands_right_of_all_before_it() -> None:
    placed = layers("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
    assert placed == [["a"], ["b"], ["c"], ["d"]]


def test_a_circle_is_cut_and_every_node_is_placed() -> None:
    placed = layers("abc", [("a", "b"), ("b", "c"), ("c", "a"), ("b", "b")])
    assert placed == [["a"], ["b"], ["c"]]


def test_crossings_are_removed() -> None:
    placed = layers(["a", "b", "x", "y"], [("a", "y"), ("b", "x")])
    assert placed == [["a", "b"], ["y", "x"]]


def test_random_graphs_have_every_node_once_and_forward_edges_point_right() -> None:
    print("seed", SEED)
    chance = random.Random(SEED)
    for _ in range(100):
        nodes = list(range(chance.randrange(1, 30)))
        edges = [(chance.choice(nodes), chance.choice(nodes)) for _ in range(40)]
        forward = [(a, b) for a, b in edges if a < b]
        placed = layers(nodes, edges)
        assert sorted(node for layer in placed for node in layer) == nodes
        depth = {node: at for at, layer in enumerate(layers(nodes, forward)) for node in layer}
        assert all(depth[a] < depth[b] for a, b in forward)


def test_a_long_chain_needs_no_recursion() -> None:
    nodes = list(range(5_000))
    assert len(layers(nodes, [(a, a + 1) for a in nodes[:-1]])) == 5_000


def test_the_picture_says_in_words_what_flows() -> None:
    nodes = [Node("t", "table", "db.<t>", "in east", 0, "/x"), Node("u", "table", "db.u", "", None)]
    drawn = graph("Lineage", nodes, [Edge("t", "u", "3 statements"), Edge("t", "gone", "")])
    assert "table db.&lt;t&gt; to table db.u: 3 statements." in drawn
    assert drawn.count('class="edge"') == 1
    assert 'class="band c-0"' in drawn
    assert "style=" not in drawn
