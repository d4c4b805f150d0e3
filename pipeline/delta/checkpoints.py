"""Reads checkpoints, which are Parquet files with a column for each kind of action. A checkpoint
may name sidecars, which are files with some of its actions.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from pipeline.delta.log_files import SIDECARS
from pipeline.delta.table_state import Action, parse_commit
from pipeline.errors import FilesNotEnough

_KINDS = ("add", "remove", "protocol", "metaData", "sidecar")
_FIELDS = {
    "path", "size", "deletionVector", "minReaderVersion", "minWriterVersion", "readerFeatures",
    "writerFeatures", "configuration",
}  # fmt: skip
_ROWS = 20_000  # rows that are Python objects at a time


def read_checkpoint(path: str, data: bytes) -> Iterator[Action]:
    """The actions in a file of a checkpoint, without statistics. Raises FilesNotEnough."""
    if path.endswith(".json"):
        yield from parse_commit(data.decode())
        return
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise FilesNotEnough(
            "has a checkpoint, which is read with pyarrow: install causeway[hudi]"
        ) from None
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data))
        columns = [
            f"{kind.name}.{part.name}"
            for kind in file.schema_arrow
            if kind.name in _KINDS
            for part in kind.type
            if part.name in _FIELDS
        ]
        for batch in file.iter_batches(_ROWS, columns=columns):
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise FilesNotEnough(f"has a checkpoint that cannot be read: {path}: {error}") from error


def sidecar_path(sidecar: Mapping[str, object]) -> str:
    """The path of a sidecar. Raises FilesNotEnough."""
    name = unquote(str(sidecar["path"]))
    if "/" in name:
        raise FilesNotEnough(f"has a part of a checkpoint outside {SIDECARS}")
    return f"{SIDECARS}/{name}"
