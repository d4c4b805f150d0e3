"""The changed rows of a plan without Spark: for small changes the whole cost is the files'.

Base files are read by Arrow; slices with logs on top are merged by hudi-rs, which reads the
very files that the plan names.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from hudi import HudiTableBuilder

from pipeline.hudi.errors import StorageFault, UnsupportedTable
from pipeline.hudi.plan import Plan, RowFilter
from pipeline.hudi.table.slices import FileSlice
from pipeline.hudi.table.storage import local_path

COMMIT_TIME = "_hoodie_commit_time"


def changed_batches(plan: Plan) -> Iterator[pa.RecordBatch]:
    """Rows of the plan in Arrow batches of one schema, Hudi's meta columns in front.

    Raises UnsupportedTable, StorageFault; the latter also when a file has vanished since the
    plan was made: plan again.
    """
    check_readable(plan)
    return _batches(plan, schema_of(plan))


def changed_rows(plan: Plan) -> pa.Table:
    """All rows of the plan in memory. Raises as `changed_batches`."""
    check_readable(plan)
    schema = schema_of(plan)
    return pa.Table.from_batches(_batches(plan, schema), schema=schema)


def _batches(plan: Plan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    wanted = row_expression(plan.rows)
    plain = [part.base.path for part in plan.slices if part.base and not part.logs]
    with _translated(plan):
        if plain:
            files = ds.dataset([local_path(p) for p in plain], schema=schema, format="parquet")
            yield from (b for b in files.to_batches(filter=wanted) if b.num_rows)
        for part in plan.slices:
            if part.logs:
                yield from merge_slice(plan.table.base, part, plan.rows, schema)


def schema_of(plan: Plan) -> pa.Schema:
    """The table's schema with meta columns, as its newest base file in the plan has it."""
    bases = [part.base for part in plan.slices if part.base]
    with _translated(plan):
        if bases:
            newest = max(bases, key=lambda b: b.name.rpartition("_")[2])
            return pq.read_schema(local_path(newest.path)).remove_metadata()
        table = HudiTableBuilder.from_base_uri(local_path(plan.table.base)).build()
        return table.get_schema_with_meta_fields().remove_metadata()


def row_expression(rows: RowFilter | None) -> pc.Expression:
    """The filter as Arrow takes it."""
    if rows is None:
        return pc.scalar(True)
    time = pc.field(COMMIT_TIME)
    wanted = time.isin(sorted(rows.instants))
    if rows.older is not None:
        wanted = wanted | ((time > rows.older[0]) & (time < rows.older[1]))
    return wanted


def check_readable(plan: Plan) -> None:
    """Raises UnsupportedTable where changed rows cannot be told or rebuilt from the files."""
    table = plan.table
    if not table.has_commit_times:
        raise UnsupportedTable(
            f"{table.base} has no meta columns (hoodie.populate.meta.fields=false): "
            "its rows do not tell when they changed."
        )
    if table.drops_partition_columns:
        raise UnsupportedTable(f"{table.base} keeps partition columns out of its files.")
    odd = next((f for f in plan.files if f.name.endswith((".orc", ".hfile", ".lance"))), None)
    if odd is not None:
        raise UnsupportedTable(f"{odd.path} is no parquet file.")


def merge_slice(
    base: str, part: FileSlice, rows: RowFilter | None, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """One slice of the table at `base`, its logs merged, rows of the range alone."""
    root = local_path(base)
    reader = HudiTableBuilder.from_base_uri(root).build().create_file_group_reader_with_options()
    names = [local_path(f.path)[len(root) + 1 :] for f in part.files]
    first, logs = (names[0], names[1:]) if part.base else ("", names)
    merged = pa.table(reader.read_file_slice_from_paths(first, logs))
    yield from merged.filter(row_expression(rows)).select(schema.names).cast(schema).to_batches()


@contextmanager
def _translated(plan: Plan) -> Iterator[None]:
    try:
        yield
    except Exception as fault:
        # hudi-rs does not export its error's class.
        foreign = type(fault).__name__ == "HudiCoreError"
        if not foreign and not isinstance(fault, OSError | pa.ArrowException):
            raise
        raise StorageFault(f"cannot read {plan.table.base}: {fault}.") from fault
