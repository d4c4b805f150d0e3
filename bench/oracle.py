"""Score the analyser against Hive's own read and write sets (`make oracle`)."""

from collections.abc import Iterable, Mapping
from typing import Any

from conf.names import TableRef, partition_name
from conf.partitions import PartitionKey, PartitionSet
from conf.tables import Column, TableInfo, TableKind, ViewText
from dialect.analyze import analyze as analyze_statement
from dialect.predicate import Matching
from dialect.statement import CreateTempTable, Known, Namespace, PartitionPredicate, Write

Entry = Mapping[str, Any]


class OracleCatalog:
    """The scorer's catalog as ours."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries

    def table(self, ref: TableRef) -> TableInfo | None:
        entry = self._entries.get(str(ref))
        return None if entry is None else table_info(ref, entry)

    def partitions(self, ref: TableRef) -> PartitionSet:
        entry = self._entries.get(str(ref), {})
        names = entry.get("partition_keys") or []
        keys = [PartitionKey(*each) for each in zip(names, _key_types(entry), strict=True)]
        rows = ([row[name] for name in names] for row in entry.get("partitions") or [])
        return PartitionSet(keys, rows)


def _key_types(entry: Entry) -> list[str]:
    """The keys' types; where the data set has none, text is what compares like anything."""
    names = entry.get("partition_keys") or []
    types = entry.get("partition_key_types") or [None] * len(names)
    return [kind or "string" for kind in types]


class _Masked(dict[str, str]):
    """The test driver's own variables (its folders), which the data set does not keep."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or str(name).startswith(("system:", "hiveconf:"))

    def __missing__(self, name: str) -> str:
        return f"/masked/{name}"


def table_info(ref: TableRef, entry: Entry) -> TableInfo:
    view = entry.get("view_sql")
    kind = TableKind.TABLE
    text = None
    if entry.get("materialized_view"):
        kind = TableKind.MATERIALIZED_VIEW
    elif view:
        kind = TableKind.VIEW
        text = ViewText(view, entry.get("view_db") or ref.db, tuple(entry.get("columns") or ()))
    keys = entry.get("partition_keys") or []
    types = _key_types(entry)
    columns = () if entry.get("columns_unordered") else entry.get("columns") or ()
    return TableInfo(
        ref,
        kind,
        tuple(Column(name, "") for name in columns if name not in keys),
        tuple(PartitionKey(name, each) for name, each in zip(keys, types, strict=True)),
        text,
    )


def analyze(sql: str, catalog: Mapping[str, Any]) -> dict[str, Any] | None:
    """The scorer's contract: names as "db.table", partitions as "db.table@k=v/k2=v2"."""
    ours = OracleCatalog(catalog)
    session = catalog["__session__"]
    answer = analyze_statement(sql, Namespace(session["db"], _Masked(session["settings"])), ours)
    if not isinstance(answer, Known):
        return None
    made = answer.effect
    temporary = {f"{session['db']}.{made.name}"} if isinstance(made, CreateTempTable) else set()
    reads = [*answer.reads, *answer.defined]
    return {
        "inputs": {str(read.table) for read in reads} | {str(view) for view in answer.views},
        "outputs": {str(write.table) for write in answer.writes} | temporary,
        "input_partitions": [
            name for read in reads for name in _names(ours, read.table, read.partitions)
        ],
        "output_partitions": [
            name
            for each in answer.writes
            for name in _written(ours, each, changing=answer.kind == "merge")
        ],
    }


def _written(catalog: OracleCatalog, write: Write, changing: bool) -> Iterable[str]:
    """The partitions that a write names, or the existing ones that it changes.

    Of a dynamic INSERT Hive tells only what is static; a MERGE is `changing`.
    """
    for spec in write.named:
        yield f"{write.table}@{partition_name(spec)}"
    if write.named:
        return
    if write.dynamic and isinstance(write.partitions, Matching):
        yield f"{write.table}@{partition_name(write.partitions.spec)}"
    elif changing or not write.dynamic:
        yield from _names(catalog, write.table, write.partitions)


def _names(catalog: OracleCatalog, table: TableRef, predicate: PartitionPredicate) -> Iterable[str]:
    partitions = catalog.partitions(table)
    for row in predicate.select(partitions):
        yield f"{table}@{partition_name(partitions.spec(row))}"
