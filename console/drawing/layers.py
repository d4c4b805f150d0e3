"""Places the nodes of a directed graph in layers from left to right. Pure.

A node's layer is one more than the highest layer of its predecessors. Edges that would close a
cycle are ignored. Within a layer, nodes are sorted by the mean position of their neighbours in the
previous layer, then in the next one, a few times; that removes most crossings.
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
    order = _without_cycles(nodes, after)
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


def _without_cycles(nodes: Iterable[N], after: dict[N, list[N]]) -> list[N]:
    """A topological order of the nodes. Removes the edges from `after` that close cycles."""
    done: list[N] = []
    state: dict[N, bool] = {}  # False: on the path, True: done
    for root in nodes:
        if root in state:
            continue
        state[root] = False
        path = [(root, iter(list(after[root])))]
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in state:
                    state[target] = False
                    path.append((target, iter(list(after[target]))))
                    break
                if not state[target]:
                    after[node].remove(target)
            else:
                state[node] = True
                done.append(node)
                path.pop()
    return done[::-1]


def _sweep(placed: Sequence[list[N]], neighbours: Mapping[N, Sequence[N]]) -> None:
    """Sorts each layer by the mean positions of its nodes' neighbours."""
    place: dict[N, float] = {}
    for layer in placed:
        own = {node: index / max(len(layer), 1) for index, node in enumerate(layer)}

        def middle(node: N, own: Mapping[N, float] = own) -> float:
            found = [place[each] for each in neighbours[node] if each in place]
            return sum(found) / len(found) if found else own[node]

        layer.sort(key=middle)
        place.update({node: index / max(len(layer), 1) for index, node in enumerate(layer)})
