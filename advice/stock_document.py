"""Reads a stock from a JSON document (docs/guide/assess.md)."""

import json
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from advice.errors import BadStock
from advice.stock import Stock, TableStock
from conf.names import ClusterName, TableRef, parse_partition_name
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts
from conf.settings.settings import Coverage
from dialect.errors import NotUnderstood
from dialect.grammar.definitions.described_table import described_table

_TABLE = frozenset(
    ["ddl", "primary", "copies", "bytes", "written_a_day", "partitions", "days", "database"]
)
_DOCUMENT = frozenset(["clusters", "default", "use_default", "coverage", "tables"])


def read_stock(text: str) -> Stock:
    """The stock in the document. Raises BadStock, which names the wrong place."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadStock(f"the description of the tables is no JSON: {error}") from None
    _check(document, _DOCUMENT, "the description of the tables")
    clusters = document.get("clusters")
    if isinstance(clusters, list) and all(isinstance(each, str) for each in clusters):
        clusters = dict.fromkeys(clusters, "")
    if not isinstance(clusters, dict) or not clusters:
        raise BadStock("`clusters` names no cluster")
    names = tuple(map(ClusterName, clusters))
    default = ClusterName(document.get("default", names[0]))
    if default not in names:
        raise BadStock(f"`default` is {default}, which is none of the clusters")
    tables = document.get("tables")
    if not isinstance(tables, list):
        raise BadStock("`tables` is no list")
    read = [_Table(each, number, names, default).read() for number, each in enumerate(tables, 1)]
    return Stock(
        names,
        default,
        {each.ref: each for each in read},
        bool(document.get("use_default", False)),
        Coverage(document.get("coverage", Coverage.READ.value)),
        {ClusterName(name): str(where) for name, where in clusters.items() if where},
    )


class _Table:
    def __init__(
        self, document: Any, number: int, clusters: tuple[ClusterName, ...], default: ClusterName
    ) -> None:
        self._place = f"table {number}"
        _check(document, _TABLE, self._place)
        self._document = document
        self._clusters = clusters
        self._default = default

    def read(self) -> TableStock:
        try:
            info = described_table(self._text("ddl"), self._document.get("database", "default"))
        except NotUnderstood as error:
            raise BadStock(f"{self._place}: `ddl` is not understood: {error.why}") from None
        self._place = str(info.ref)
        replicas = self._replicas(self._document, Replicas(self._default, frozenset()))
        placed: PlacedPartitions | None = None
        sizes: list[float | None] = []
        if info.partition_keys:
            placed, sizes = self._partitions(info.ref, info.partition_keys, replicas)
        facts = TableFacts(replicas, placed)
        size, written = self._number("bytes"), self._number("written_a_day")
        return TableStock(info, facts, size, written, sizes)

    def _partitions(
        self, ref: TableRef, keys: tuple[PartitionKey, ...], table: Replicas
    ) -> tuple[PlacedPartitions, list[float | None]]:
        rows, groups, sizes = [], [], []
        numbers: dict[Replicas, int] = {}
        for document in self._listed(keys):
            spec = dict(parse_partition_name(document["name"]))
            if list(spec) != [key.name for key in keys]:
                raise BadStock(f"{ref}: {document['name']} is no partition of its keys")
            rows.append(tuple(spec.values()))
            groups.append(numbers.setdefault(self._replicas(document, table), len(numbers)))
            size = document.get("bytes")
            sizes.append(None if size is None else float(size))
        return PlacedPartitions(PartitionSet(keys, rows), tuple(numbers), groups), sizes

    def _listed(self, keys: tuple[PartitionKey, ...]) -> Iterator[Mapping[str, Any]]:
        days = self._document.get("days")
        if days is not None:
            if len(keys) != 1:
                raise BadStock(f"{self._place}: `days` is for tables with one partition key")
            try:
                first, last = (date.fromisoformat(days[name]) for name in ("first", "last"))
            except (KeyError, TypeError, ValueError):
                raise BadStock(f"{self._place}: `days` needs the dates first and last") from None
            for number in range((last - first).days + 1):
                yield {"name": f"{keys[0].name}={first + timedelta(number)}"}
        for each in self._document.get("partitions", ()):
            document = {"name": each} if isinstance(each, str) else each
            if not isinstance(document, dict) or not isinstance(document.get("name"), str):
                raise BadStock(f"{self._place}: a partition has no name")
            try:
                parse_partition_name(document["name"])
            except ValueError as error:
                raise BadStock(f"{self._place}: {error}") from None
            yield document

    def _replicas(self, document: Mapping[str, Any], otherwise: Replicas) -> Replicas:
        primary = ClusterName(document.get("primary", otherwise.primary))
        copies = frozenset(map(ClusterName, document.get("copies", otherwise.fresh)))
        unknown = sorted({primary, *copies} - set(self._clusters))
        if unknown:
            raise BadStock(f"{self._place}: there is no cluster {unknown[0]}")
        return Replicas(primary, copies - {primary})

    def _text(self, name: str) -> str:
        value = self._document.get(name)
        if not isinstance(value, str):
            raise BadStock(f"{self._place}: `{name}` is no text")
        return value

    def _number(self, name: str) -> float | None:
        value = self._document.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise BadStock(f"{self._place}: `{name}` is no number")
        return float(value)


def _check(document: Any, known: frozenset[str], place: str) -> None:
    if not isinstance(document, dict):
        raise BadStock(f"{place} is no JSON object")
    unknown = sorted(document.keys() - known)
    if unknown:
        names = ", ".join(sorted(known))
        raise BadStock(f"{place} has {unknown[0]!r}, but may have {names}")
