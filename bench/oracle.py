"""Scores the analysis against Hive's own read and write sets (`make oracle`).

`python -m bench.oracle [FOLDER]` prints one table; FOLDER (default ../shared/oracle, or
$CAUSEWAY_SHARED/oracle) has score.py, which reads the data and replays its catalogs.
"""

import importlib.util
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conf.catalog.tables import Column, TableInfo, TableKind, ViewText
from conf.names import TableRef, partition_name
from conf.partitions import PartitionKey, PartitionSet
from dialect.analyze import analyze as analyze_statement
from dialect.pruning.predicate import Matching
from dialect.statement import CreateTempTable, Known, Namespace, PartitionPredicate, Write

Entry = Mapping[str, Any]


class OracleCatalog:
    """Adapts the scorer's catalog to that of the analysis."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries

    def table(self, ref: TableRef) -> TableInfo | None:
        entry = self._entries.get(str(ref))
        return None if entry is None else table_info(ref, entry)

    def is_partitioned(self, ref: TableRef) -> bool:
        return bool(self._entries.get(str(ref), {}).get("partition_keys"))

    def partitions(self, ref: TableRef) -> PartitionSet:
        entry = self._entries.get(str(ref), {})
        names = entry.get("partition_keys") or []
        keys = [PartitionKey(*each) for each in zip(names, _key_types(entry), strict=True)]
        rows = ([row[name] for name in names] for row in entry.get("partitions") or [])
        return PartitionSet(keys, rows)


def _key_types(entry: Entry) -> list[str]:
    """The types of the keys; STRING, which can be compared with everything, if the data set has
    none."""
    names = entry.get("partition_keys") or []
    types = entry.get("partition_key_types") or [None] * len(names)
    return [kind or "string" for kind in types]


class _Masked(dict[str, str]):
    """Variables of Hive's test driver (its folders), whose values the data set lacks."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or str(name).startswith(("system:", "hive."))

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

    For a dynamic INSERT Hive reports only the static values; a MERGE is `changing`.
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
    if not catalog.is_partitioned(table):
        return
    partitions = catalog.partitions(table)
    for row in predicate.select(partitions):
        yield f"{table}@{partition_name(partitions.spec(row))}"


QUERY_KINDS = frozenset(
    ("select", "from_select", "insert", "from_insert", "multi_insert", "ctas", "update")
) | {"delete", "merge"}


@dataclass(slots=True)
class Measured:
    """Counts over the scored statements, of query kinds and of all; times in seconds."""

    queries: Counter[str] = field(default_factory=Counter)
    everything: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)


def folder() -> Path:
    """The default folder of the data set."""
    shared = os.environ.get("CAUSEWAY_SHARED", Path(__file__).parents[2] / "shared")
    return Path(shared) / "oracle"


def scorer(data: Path) -> Any:
    """The data set's own module that reads it."""
    spec = importlib.util.spec_from_file_location("score", data / "score.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(data / "score.py")
    score: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    return score


def entries_of(data: Path) -> Iterator[tuple[Entry, Entry]]:
    """Yields each row of the data set with the catalog for its analysis."""
    yield from scorer(data).iter_rows(str(data / "statements.jsonl.gz"))


def measure(data: Path) -> Measured:
    """Scores all statements of the data set that count."""
    score = scorer(data)
    measured = Measured()
    for row, catalog in entries_of(data):
        if not row["scored"]:
            continue
        start = time.perf_counter()
        got = analyze(row["sql"], catalog)
        middle = time.perf_counter()
        measured.times.append(middle - start)
        _repeat(row["sql"], catalog, measured.again)
        counts = _compared(score, row, catalog, got)
        measured.everything.update(counts)
        if row["kind"] in QUERY_KINDS:
            measured.queries.update(counts)
    return measured


def _repeat(sql: str, catalog: Mapping[str, Any], times: list[float]) -> None:
    """Times the statement again, with the catalog's objects in memory, as in a proxy."""
    session = catalog["__session__"]
    namespace = Namespace(session["db"], _Masked(session["settings"]))
    known = _Remembering(catalog)
    analyze_statement(sql, namespace, known)
    start = time.perf_counter()
    analyze_statement(sql, namespace, known)
    times.append(time.perf_counter() - start)


class _Remembering(OracleCatalog):
    """Makes each table's description once."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self._made: dict[TableRef, TableInfo | None] = {}

    def table(self, ref: TableRef) -> TableInfo | None:
        if ref not in self._made:
            self._made[ref] = super().table(ref)
        return self._made[ref]


def _compared(score: Any, row: Any, catalog: Any, got: Any) -> Counter[str]:
    if got is None:
        return Counter(n=1, declined=1)
    inputs, outputs = set(row["inputs"]), set(row["outputs"])
    truth = {score.truth_part(each) for each in row["input_partitions"]}
    ours = {score.norm_part(each) for each in got["input_partitions"]}
    written = {score.truth_part(each) for each in row["output_partitions"]}
    existing = sum(len(catalog.get(table, {}).get("partitions", [])) for table in inputs)
    scored = bool(row["partitions_scored"]) and (bool(truth) or existing > 0)
    prunable = scored and len(truth) < existing
    exact = got["inputs"] == inputs and got["outputs"] == outputs
    return Counter(
        n=1,
        missed_input=int(not got["inputs"] >= inputs - set(row["input_views"])),
        missed_output=int(not got["outputs"] >= outputs),
        missed_partition=int(scored and not ours >= truth),
        inputs=int(got["inputs"] == inputs),
        outputs=int(got["outputs"] == outputs),
        exact=int(exact and (not scored or ours == truth)),
        prunable=int(prunable),
        pruned=int(prunable and ours == truth),
        written=int(bool(written)),
        written_exact=int(
            bool(written) and written == {score.norm_part(x) for x in got["output_partitions"]}
        ),
    )


def _lines(measured: Measured) -> Iterable[str]:
    for name, counts in (("queries", measured.queries), ("all kinds", measured.everything)):
        n = counts["n"]
        yield f"{name}: {n} statements"
        for each in ("missed_input", "missed_output", "missed_partition"):
            yield f"  {each.replace('_', ' '):26}{counts[each]:8}"
        for title, part, whole in (
            ("declined as unknown", "declined", "n"),
            ("inputs exact", "inputs", "n"),
            ("outputs exact", "outputs", "n"),
            ("all exact", "exact", "n"),
            ("prunable partitions exact", "pruned", "prunable"),
            ("output partitions exact", "written_exact", "written"),
        ):
            yield f"  {title:26}{100 * counts[part] / (counts[whole] or 1):8.2f} %"
    for title, times in (("not kept", measured.times), ("kept by text", measured.again)):
        ordered = sorted(times)
        middle, late = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
        yield f"time {title}: p50 {1e3 * middle:.3f} ms, p99 {1e3 * late:.3f} ms"


def main() -> int:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else folder()
    if not data.exists():
        print(f"the oracle's data set is not at {data}", file=sys.stderr)
        return 1
    print("\n".join(_lines(measure(data))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
