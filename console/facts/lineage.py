"""The graph of lineage: tables, their copies, and the feeds, processes and statements that make
them. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from conf.copies import TableCopies, cluster_copies
from console import shown
from console.drawing.graph import Edge, Node
from console.facts.instances import entity_path
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed, Paths, Role, Table
from pipeline.falcon.entities.process import Process

MAX_NODES = 150
UPSTREAM, DOWNSTREAM, BOTH = "upstream", "downstream", "both"
DIRECTIONS = (BOTH, UPSTREAM, DOWNSTREAM)


@dataclass(slots=True)
class Lineage:
    """All known nodes and edges, by the ids of nodes. `colours` has a number for each cluster."""

    colours: Mapping[str, int]
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)

    def add_tables(self, tables: Iterable[TableCopies]) -> None:
        """Adds tables, in the cluster of their primary, and their copies."""
        for each in tables:
            name = str(each.table)
            self.table(name, self._primary(each))
            for cluster, fresh in _copies(each).items():
                state = "fresh copy" if fresh else "stale copy"
                copy = f"copy {name} {cluster}"
                self.nodes[copy] = Node(
                    copy, "copy", name, f"{state} in {cluster}", self.colours.get(cluster),
                    f"/freshness/{quote(name)}",
                )  # fmt: skip
                self.edge(name_of_table(name), copy, f"copied to {cluster}")

    def table(self, name: str, cluster: str | None = None) -> str:
        """The id of a table's node. Adds the node if it is missing: a statement may name a table
        that was dropped."""
        known = self.nodes.get(name_of_table(name))
        if known is None or cluster is not None:
            note = f"primary in {cluster}" if cluster else "a table"
            colour = self.colours.get(cluster) if cluster else None
            link = f"/freshness/{quote(name)}"
            self.nodes[name_of_table(name)] = Node(
                name_of_table(name), "table", name, note, colour, link
            )
        return name_of_table(name)

    def add_statements(self, edges: Iterable[Mapping[str, Any]]) -> None:
        """Adds statements that read one table and wrote another, as one node for each written
        table."""
        flows = [each for each in edges if each["source"] != each["target"]]
        totals, lasts = Counter[str](), dict[str, str]()
        most = max((each["statements"] for each in flows), default=1)
        for each in flows:
            source, target = self.table(each["source"]), self.table(each["target"])
            count = each["statements"]
            node = f"statements {each['target']}"
            totals[node] += count
            link = f"/statements/{quote(each['example'])}" if each.get("example") else ""
            lasts[node] = max(each["last"], lasts.get(node, ""))
            label = shown.count(totals[node], "statement")
            note = f"last {lasts[node][:10]}"
            self.nodes[node] = Node(node, "statement", label, note, None, link)
            self.edge(source, node, f"{shown.number(count)} read it", count / most)
            self.edge(node, target, "written by statements", count / most)

    def add_entities(self, entities: Iterable[Entity]) -> None:
        """Adds feeds with the tables that they copy, and processes with those that they use."""
        known = list(entities)
        feeds = {each.name: each for each in known if isinstance(each, Feed)}
        for feed in feeds.values():
            self._feed(feed)
        for process in known:
            if isinstance(process, Process):
                self._process(process, feeds)

    def edge(self, source: str, target: str, words: str, weight: float = 0.0) -> None:
        self.edges[source, target] = Edge(source, target, words, weight)

    def _primary(self, copies: TableCopies) -> str:
        counts: dict[str, int] = {}
        for placement in copies.objects or (copies.placement,):
            counts[placement.primary] = counts.get(placement.primary, 0) + 1
        return max(counts, key=lambda cluster: counts[cluster])

    def _feed(self, feed: Feed) -> None:
        targets = feed.with_role(Role.TARGET)
        if not targets:
            return
        name = f"feed {feed.name}"
        self.nodes[name] = Node(
            name, "feed", feed.name, f"feed, every {feed.frequency}", None,
            entity_path("feed", feed.name),
        )  # fmt: skip
        for source in feed.with_role(Role.SOURCE):
            self.edge(self._data(feed, source.name), name, f"copied from {source.name}")
        for target in targets:
            data = self._data(feed, target.name)
            if (data, name) in self.edges:  # source and target are copies of the same table
                data = f"copy {self.nodes[data].label} {target.name}"
                if data not in self.nodes:
                    continue
                table = name_of_table(self.nodes[data].label)
                self.edges.pop((table, data), None)  # the edges through the feed replace it
            self.edge(name, data, f"copies to {target.name}")

    def _process(self, process: Process, feeds: Mapping[str, Feed]) -> None:
        name = f"process {process.name}"
        cluster = process.clusters[0].name
        self.nodes[name] = Node(
            name, "process", process.name, f"process in {cluster}", self.colours.get(cluster),
            entity_path("process", process.name),
        )  # fmt: skip
        for read in process.inputs:
            if (feed := feeds.get(read.feed)) is not None:
                self.edge(self._data(feed, cluster), name, f"read as {read.name}")
        for written in process.outputs:
            if (feed := feeds.get(written.feed)) is not None:
                self.edge(name, self._data(feed, cluster), f"written as {written.name}")

    def _data(self, feed: Feed, cluster: str) -> str:
        """The id of the node of a feed's data in a cluster: its table or its directory."""
        place = feed.on(cluster)
        storage = feed.storage_on(place) if place else feed.storage
        if isinstance(storage, Table):
            return self.table(str(storage.uri.table))
        path = storage.locations.get("data", "") if isinstance(storage, Paths) else ""
        node = f"path {cluster} {path}"
        note = f"directory in {cluster}"
        self.nodes[node] = Node(node, "path", path, note, self.colours.get(cluster))
        return node


def name_of_table(name: str) -> str:
    """The id of a table's node."""
    return f"table {name}"


def part_of(lineage: Lineage, table: str, direction: str) -> tuple[list[Node], list[Edge], int]:
    """The nodes and edges to draw, and the number of nodes left out. For a table, these are its
    sources, its results or both, the nearest first; without a table, all nodes with edges."""
    after: dict[str, list[str]] = {}
    before: dict[str, list[str]] = {}
    for source, target in lineage.edges:
        after.setdefault(source, []).append(target)
        before.setdefault(target, []).append(source)
    chosen: list[str]
    start = name_of_table(table)
    if table:
        chosen = [start] if start in lineage.nodes else []
        if direction in (UPSTREAM, BOTH):
            chosen += _reached(start, before)
        if direction in (DOWNSTREAM, BOTH):
            chosen += _reached(start, after)
        chosen = list(dict.fromkeys(chosen))
    else:
        chosen = _connected(lineage.edges) or [*lineage.nodes]
    kept = set(chosen[:MAX_NODES])
    nodes = [_marked(lineage.nodes[name], name == start) for name in chosen[:MAX_NODES]]
    edges = [edge for key, edge in lineage.edges.items() if kept.issuperset(key)]
    return nodes, edges, len(chosen) - len(nodes)


def _connected(edges: Iterable[tuple[str, str]]) -> list[str]:
    """The nodes that statements, feeds and processes connect, and the copies of these tables. Other
    tables have only copies."""
    makers = [edge for edge in edges if not edge[1].startswith("copy ")]
    data = {name for edge in makers for name in edge}
    copies = [edge for edge in edges if edge[1].startswith("copy ") and edge[0] in data]
    return list(dict.fromkeys(name for edge in [*makers, *copies] for name in edge))


def _reached(start: str, neighbours: Mapping[str, Sequence[str]]) -> list[str]:
    """The nodes that can be reached from `start`, the nearest first."""
    found = {start: None}
    queue = [start]
    for node in queue:
        for each in neighbours.get(node, ()):
            if each not in found:
                found[each] = None
                queue.append(each)
    return queue[1:]


def _marked(node: Node, chosen: bool) -> Node:
    if not chosen:
        return node
    return Node(node.id, node.kind, node.label, node.note, node.colour, node.link, chosen=True)


def _copies(copies: TableCopies) -> dict[str, bool]:
    """The clusters with copies of a table's objects, and whether all copies there are fresh."""
    found: dict[str, bool] = {}
    for placement in copies.objects:
        for state in cluster_copies(placement):
            found[state.cluster] = found.get(state.cluster, True) and state.fresh
    return found
