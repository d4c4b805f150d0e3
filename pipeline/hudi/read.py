"""Reads the changed rows of a plan without Spark.

Arrow reads base files. hudi-rs merges slices with logs; it reads exactly the files of the plan.
Files of other machines are fetched first, slice by slice.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from hudi import HudiTableBuilder

from pipeline.hudi.errors import StorageFault, UnsupportedTable
from pipeline.hudi.plan import Plan, RowFilter
from pipeline.hudi.table.fetched_slices import LocalSlice, fetched_slices
from pipeline.hudi.table.payloads import merge_options
from pipeline.hudi.table.schema import conform
from pipeline.hudi.table.slices import FileSlice
from pipeline.hudi.table.storage import FileInfo, is_local, local_path

COMMIT_TIME = "_hoodie_commit_time"


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """The rows of a plan, which can be read once. All `batches` have the schema: the columns of the
    table with Hudi's meta columns in front.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]

    def table(self) -> pa.Table:
        """All rows in memory."""
        return pa.Table.from_batches(self.batches, schema=self.schema)


def changed_rows(plan: Plan) -> pa.Table:
    """All rows of the plan in memory. Raises as `open_rows`."""
    return open_rows(plan).table()


def open_rows(plan: Plan) -> ChangedRows:
    """The rows of the plan, to be read while they are used. Raises UnsupportedTable, and
    StorageFault also when a file was deleted since the plan was made: then a new plan is needed.
    """
    options = merge_options_of(plan)
    schema = schema_of(plan)
    return ChangedRows(schema, _batches(plan, options, schema))


def _batches(plan: Plan, options: Mapping[str, str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    base, rows = plan.table.base, plan.rows
    slices: Iterator[LocalSlice]
    with _storage_faults(plan):
        if is_local(base):
            yield from plain_rows([part for part in plan.slices if not part.logs], rows, schema)
            slices = (LocalSlice(base, part) for part in plan.slices if part.logs)
        else:
            slices = fetched_slices(plan.table, plan.slices)
        for each in slices:
            if each.part.logs:
                yield from merge_slice(each.root, options, each.part, rows, schema)
            else:
                yield from plain_rows([each.part], rows, schema)


def schema_of(plan: Plan) -> pa.Schema:
    """The table's columns with meta columns in front. If no commit records them, they are those of
    the newest base file of the plan.
    """
    schema = plan.table.schema()
    if schema is not None:
        return schema
    bases = [part.base for part in plan.slices if part.base]
    if any(part.base is None for part in plan.slices):
        raise UnsupportedTable(f"{plan.table.base} does not record its schema.")
    if not bases:
        return pa.schema([(COMMIT_TIME, pa.string())])
    with _storage_faults(plan):
        newest = max(bases, key=lambda b: b.name.rpartition("_")[2])
        if is_local(newest.path):
            return _footer(newest)
        [fetched] = (
            _footer(each.part.files[0])
            for each in fetched_slices(plan.table, [FileSlice(("", ""), newest)])
        )
        return fetched


def _footer(base: FileInfo) -> pa.Schema:
    return pq.read_schema(local_path(base.path)).remove_metadata()


def row_expression(rows: RowFilter | None) -> pc.Expression:
    """The filter as an Arrow expression."""
    if rows is None:
        return pc.scalar(True)
    time = pc.field(COMMIT_TIME)
    selected = time.isin(pa.array(sorted(rows.instants), pa.string()))
    if rows.older is not None:
        selected = selected | ((time > rows.older[0]) & (time < rows.older[1]))
    return selected


def merge_options_of(plan: Plan) -> Mapping[str, str]:
    """The options with which hudi-rs merges the plan's logs. Raises UnsupportedTable when the files
    do not show which rows changed, or how rows merge.
    """
    table = plan.table
    if not table.has_commit_times:
        raise UnsupportedTable(
            f"{table.base} has no meta columns (hoodie.populate.meta.fields=false): "
            "its rows do not show when they changed."
        )
    if table.drops_partition_columns:
        raise UnsupportedTable(f"{table.base} keeps partition columns out of its files.")
    options = merge_options(table) if any(part.logs for part in plan.slices) else {}
    other = next((f for f in plan.files if f.name.endswith((".orc", ".hfile", ".lance"))), None)
    if other is not None:
        raise UnsupportedTable(f"{other.path} is no parquet file.")
    return options


def plain_rows(
    parts: Sequence[FileSlice], rows: RowFilter | None, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows of slices without logs that the filter selects."""
    paths = [local_path(part.base.path) for part in parts if part.base]
    if paths:
        files = ds.dataset(paths, schema=schema, format="parquet")
        yield from (b for b in files.to_batches(filter=row_expression(rows)) if b.num_rows)


def merge_slice(
    base: str,
    options: Mapping[str, str],
    part: FileSlice,
    rows: RowFilter | None,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """The rows of one slice of the table at `base`, logs merged, that the filter selects."""
    root = local_path(base)
    table = HudiTableBuilder.from_base_uri(root).with_hudi_options(dict(options)).build()
    reader = table.create_file_group_reader_with_options()
    names = [local_path(f.path)[len(root) + 1 :] for f in part.files]
    first, logs = (names[0], names[1:]) if part.base else ("", names)
    merged = pa.table(reader.read_file_slice_from_paths(first, logs))
    for batch in merged.filter(row_expression(rows)).to_batches():
        yield conform(batch, schema)


@contextmanager
def _storage_faults(plan: Plan) -> Iterator[None]:
    try:
        yield
    except Exception as fault:
        # hudi-rs does not export the class of its errors.
        foreign = type(fault).__name__ == "HudiCoreError"
        if not foreign and not isinstance(fault, OSError | pa.ArrowException):
            raise
        raise StorageFault(f"cannot read {plan.table.base}: {fault}.") from fault
