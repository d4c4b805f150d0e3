"""Files of position deletes. Each row has the path of a data file and the number of a row in it."""

from pipeline.errors import FilesNotEnough
from pipeline.iceberg.paths import spellings

_PATH = "file_path"
_ROWS = 1 << 16
_ARROW_SCHEMA = b"ARROW:schema"  # Arrow's own record of types, which Iceberg does not read


def moved_deletes(data: bytes, folder: str, target: str) -> bytes:
    """The Parquet file for a copy in the folder `target`. Raises FilesNotEnough.

    The ids of columns and the metadata in the footer are kept, because Iceberg needs them.
    """
    try:
        import pyarrow
        import pyarrow.compute as compute
        import pyarrow.parquet as parquet
    except ImportError:
        raise FilesNotEnough(
            "has deletes that are read with pyarrow: install causeway[hudi]"
        ) from None
    out, before = pyarrow.BufferOutputStream(), None
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data))
        schema = file.schema_arrow
        at = schema.names.index(_PATH)
        with parquet.ParquetWriter(
            out, schema, compression=_compression(file), store_schema=False
        ) as writer:
            facts = file.metadata.metadata or {}
            writer.add_key_value_metadata({k: v for k, v in facts.items() if k != _ARROW_SCHEMA})
            for batch in file.iter_batches(_ROWS):
                paths = batch.column(at)
                if before is None and len(paths):
                    before = _spelling(paths[0].as_py(), folder)
                if not compute.all(compute.starts_with(paths, f"{before}/")).as_py():
                    raise FilesNotEnough("has deletes of rows in a file outside of its folder")
                ends = compute.utf8_slice_codeunits(paths, len(before or ""))
                new = compute.binary_join_element_wise(target, ends, "")
                columns = list(batch.columns)
                columns[at] = new.cast(schema.field(at).type)
                writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise FilesNotEnough(f"has deletes that cannot be read: {error}") from error
    moved: bytes = out.getvalue().to_pybytes()
    return moved


def _spelling(path: str, folder: str) -> str | None:
    """The spelling of the folder in a path. Where all rows have the same one, the order of paths is
    kept, and so are the bounds that a manifest has of them.
    """
    return next((each for each in spellings(folder) if path.startswith(f"{each}/")), None)


def _compression(file: object) -> str:
    facts = file.metadata  # type: ignore[attr-defined]
    if facts.num_row_groups == 0:
        return "NONE"
    name = str(facts.row_group(0).column(0).compression)
    return "NONE" if name == "UNCOMPRESSED" else name
