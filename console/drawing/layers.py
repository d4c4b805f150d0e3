"""Places the nodes of a directed graph in layers from left to right. Pure.

A node's layer is one more than that of the last node before it. Edges that would close a circle do
not count for layers. Within a layer, nodes are ordered by the mean place of their neighbours in
the layer before, then in the layer after, a few times: that removes most crossings.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)
_SWEEPS = 6


def layers(nodes: Sequence[N], edges: Iterable[tuple[N, N]]) -> list[list[N]]:
    """The nodes of each layer, from top to bottom. Edges between other nodes are left out."""
    known = set(nodes)
    after: dict[N, list[N]] = {node: [] for node in nodes}
    for source, target in dict.fromkeys(edges):
        if source in known and target in known and source != target:
            after[source].append(target)
    order = _without_circles(nodes, after)
    depth = dict.fromkeys(nodes, 0)
    before: dict[N, list[N]] = {node: [] for node in nodes}
    for node in order:
        for target in after[node]:
            before[target].append(node)
            depth[target] = max(depth[target], depth[node] + 1)
    placed: list[list[N]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in nodes:
        placed[depth[node]].append(node)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        _sweep(placed if forward else placed[::-1], before if forward else after)
    return placed


def _without_circles(nodes: Iterable[N], after: dict[N, list[N]]) -> list[N]:
    """An order in which every edge points forward; removes the edges that point back."""
    done: list[N] = []
    state: dict[N, bool] = {}  # False: on the way, True: done
    for root in nodes:
        if root in state:
            continue
        state[root] = False
        way = [(root, iter(list(after[root])))]
        while way:
            node, targets = way[-1]
            for target in targets:
                if target not in state:
                    state[target] = False
                    way.append((target, iter(list(after[target]))))
                    break
                if not state[target]:
                    after[node].remove(target)
            else:
                state[node] = True
                done.append(node)
                way.pop()
    return done[::-1]


def _sweep(placed: Sequence[list[N]], neighbours: Mapping[N, Sequence[N]]) -> None:
    """Orders each layer by the places of its nodes' neighbours."""
    place: dict[N, float] = {}
    for layer in placed:
        own = {node: index / max(len(layer), 1) for index, node in enumerate(layer)}

        def middle(node: N, own: Mapping[N, float] = own) -> float:
            found = [place[each] for each in neighbours[node] if each in place]
            return sum(found) / len(found) if found else own[node]

        layer.sort(key=middle)
        place.update({node: index / max(len(layer), 1) for index, node in enumerate(layer)})
