"""A small catalog for tests, and results of analyses written as one line."""

from collections.abc import Iterable

from conf.catalog.tables import Column, NotLoaded, TableInfo, TableKind, ViewText
from conf.names import TableRef, partition_name
from conf.partitions import PartitionKey, PartitionSet
from dialect.statement import Analysis, Known, Needs, PartitionPredicate, Unknown

DS, HR = PartitionKey("ds", "string"), PartitionKey("hr", "int")
PARTITIONS = {
    "d.p": PartitionSet(
        [DS, HR], [(ds, hr) for ds in ("2020-01-01", "2020-01-02") for hr in ("0", "11")]
    ),
    "d.q": PartitionSet([DS], [("2020-01-01",), ("2020-01-02",), ("__HIVE_DEFAULT_PARTITION__",)]),
}


def _table(name: str, columns: str, keys: tuple[PartitionKey, ...] = ()) -> TableInfo:
    return TableInfo(
        TableRef.parse(name),
        TableKind.TABLE,
        tuple(Column(column, "string") for column in columns.split()),
        keys,
    )


def _view(name: str, sql: str, db: str, *columns: str) -> TableInfo:
    return TableInfo(TableRef.parse(name), TableKind.VIEW, view=ViewText(sql, db, columns))


TABLES = {
    str(info.ref): info
    for info in (
        _table("d.a", "x y"),
        _table("d.b", "x z"),
        _table("e.a", "x w"),
        _table("d.p", "k v", (DS, HR)),
        _table("d.q", "k v", (DS,)),
        _view("d.v", "SELECT k, ds FROM p WHERE hr = 11", "d"),
        _view("e.w", "SELECT key, day FROM d.v2", "e", "key", "day"),
        _view("d.v2", "SELECT * FROM v", "d", "key", "day"),
        _view("d.loop", "SELECT * FROM loop", "d"),
        # Made when p had the columns v, ds and hr; `*` gives k too by now.
        TableInfo(
            TableRef("d", "grown"),
            TableKind.VIEW,
            view=ViewText("SELECT * FROM p", "d", ("w", "day", "hour"), ("v", "ds", "hr")),
        ),
    )
}


class TestCatalog:
    """The catalog of TABLES. Tables of the database `unloaded` have to be loaded first."""

    __test__ = False

    def table(self, ref: TableRef) -> TableInfo | None:
        if ref.db == "unloaded":
            raise NotLoaded(ref)
        return TABLES.get(str(ref))


def written(answer: Analysis) -> str:
    """The result of an analysis as one line."""
    if isinstance(answer, Unknown):
        return f"unknown{'' if answer.writing else ' (reads only)'}: {answer.why}"
    if isinstance(answer, Needs):
        return f"needs {', '.join(sorted(map(str, answer.tables)))}"
    return "; ".join(_parts(answer))


def _parts(known: Known) -> Iterable[str]:
    yield ("explain " if known.explain else "") + known.kind
    if known.reads:
        yield "reads " + _listed((r.table, r.partitions) for r in known.reads)
    if known.defined:
        yield "defines " + _listed((r.table, r.partitions) for r in known.defined)
    if known.views:
        yield f"views {', '.join(map(str, known.views))}"
    for write in known.writes:
        named = " named " + " ".join(map(partition_name, write.named)) if write.named else ""
        yield (
            f"{'' if write.exists else 'new '}{write.action.value} "
            + _listed([(write.table, write.partitions)])
            + named
            + (" dynamic" if write.dynamic else "")
        )
    for name in ("paths_read", "paths_written", "database_written", "temps", "effect"):
        value = getattr(known, name)
        if value:
            yield f"{name} {', '.join(value) if isinstance(value, tuple) else value}"


def _listed(items: Iterable[tuple[TableRef, PartitionPredicate]]) -> str:
    return ", ".join(f"{table}{_selected(str(table), predicate)}" for table, predicate in items)


def _selected(table: str, predicate: PartitionPredicate) -> str:
    partitions = PARTITIONS.get(table)
    if partitions is None:
        return ""
    rows = predicate.select(partitions)
    if len(rows) == len(partitions):
        return "@*"
    return "@[" + " ".join(partition_name(partitions.spec(row)) for row in rows) + "]"
