"""Draws a graph of data, and of the work that makes it, from left to right. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from console.drawing.layers import layers
from console.drawing.svg import element, label, picture, tooltip

_WIDTH, _HEIGHT = 172, 34
_ACROSS, _DOWN, _EDGE = 64, 12, 8
_LETTERS = 24


@dataclass(frozen=True, slots=True)
class Node:
    """A node. `kind` is table, copy, feed, process, path or statement. `colour` is the number of
    its cluster, None without a cluster. `note` is the second line of text."""

    id: str
    kind: str
    label: str
    note: str
    colour: int | None = None
    link: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge. `words` describe it; `weight`, from 0 to 1, is drawn as its width."""

    source: str
    target: str
    words: str
    weight: float = 0.0


def graph(title: str, nodes: Sequence[Node], edges: Sequence[Edge]) -> str:
    """The picture. Edges to unknown nodes are left out."""
    known = {node.id: node for node in nodes}
    placed = layers(list(known), [(edge.source, edge.target) for edge in edges])
    tallest = max((len(layer) for layer in placed), default=0)
    height = tallest * (_HEIGHT + _DOWN) + _EDGE
    places: dict[str, tuple[float, float]] = {}
    for column, layer in enumerate(placed):
        top = (height - len(layer) * (_HEIGHT + _DOWN) + _DOWN) / 2
        for row, name in enumerate(layer):
            places[name] = (_EDGE + column * (_WIDTH + _ACROSS), top + row * (_HEIGHT + _DOWN))
    parts = [
        _edge(edge, places) for edge in edges if edge.source in places and edge.target in places
    ]
    parts += [_node(known[name], *places[name]) for name in places]
    return picture(
        max(len(placed) * (_WIDTH + _ACROSS) - _ACROSS, 0) + 2 * _EDGE,
        height + _EDGE,
        title,
        " ".join(sentences(known, edges)),
        parts,
        class_="graph",
        links=True,
    )


def sentences(nodes: Mapping[str, Node], edges: Iterable[Edge]) -> Iterator[str]:
    """Describes each edge by a sentence, for readers without the picture."""
    for edge in edges:
        if edge.source in nodes and edge.target in nodes:
            source, target = nodes[edge.source], nodes[edge.target]
            yield f"{source.kind} {source.label} to {target.kind} {target.label}: {edge.words}."


def _node(node: Node, x: float, y: float) -> str:
    colour = "c-none" if node.colour is None else f"c-{node.colour % 8}"
    shape = element(
        "rect", class_=f"node k-{node.kind} {colour}" + (" chosen" if node.chosen else ""),
        x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=_HEIGHT / 2 if node.kind == "statement" else 3,
    )  # fmt: skip
    band = element("rect", class_=f"band {colour}", x=x, y=y + 6, width=4, height=_HEIGHT - 12)
    text = label(x + 14, y + 14, _short(node.label), class_="name")
    text += label(x + 14, y + 27, _short(node.note, 27), class_="note")
    whole = tooltip(f"{node.kind} {node.label}: {node.note}") + shape + band + text
    return element("a", whole, href=node.link) if node.link else element("g", whole)


def _edge(edge: Edge, places: Mapping[str, tuple[float, float]]) -> str:
    (x, y), (to_x, to_y) = places[edge.source], places[edge.target]
    x, y, to_y = x + _WIDTH, y + _HEIGHT / 2, to_y + _HEIGHT / 2
    if to_x <= x:  # an edge that points back is drawn around the nodes
        x, to_x = x - _WIDTH / 2, to_x + _WIDTH / 2
        low = max(y, to_y) + _HEIGHT
        path = f"M{x:.0f} {y:.0f}C{x:.0f} {low:.0f} {to_x:.0f} {low:.0f} {to_x:.0f} {to_y:.0f}"
    else:
        middle = (x + to_x) / 2
        path = (
            f"M{x:.0f} {y:.0f}C{middle:.0f} {y:.0f} {middle:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
        )
    width = 1 + 4 * min(max(edge.weight, 0.0), 1.0)
    return element("path", tooltip(edge.words), class_="edge", d=path, stroke_width=round(width, 1))


def _short(words: str, most: int = _LETTERS) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"
