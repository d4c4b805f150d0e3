"""A target on HDFS: a file appears by one rename, as on local disk.

HDFS has no locks, so a lease in the folder allows one pull at a time. A file of changes is named
after the bookmark that it continues, and HDFS renames no file over another one: so even a pull
that has lost its lease cannot continue a bookmark for the second time. A mirror is replaced by a
rename; the lease is checked before it.
"""

import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.copy.files import Files
from pipeline.hudi.errors import MissingPath, PullRunning, TargetMismatch
from pipeline.hudi.pull_lease import leased
from pipeline.hudi.spark_reader import HadoopStorage

_STAGED = ".causeway-staged-"  # Readers of folders skip names that begin with a dot.
_LEASES = ".causeway-pulls"


class HdfsFolder:
    """A `TargetFolder` at a URI."""

    def __init__(self, uri: str, storage: HadoopStorage, files: Files) -> None:
        self._uri = uri.rstrip("/")
        self._storage = storage
        self._files = files
        self._check: Callable[[], None] = lambda: None
        self._seen: set[str] = set()

    @property
    def path(self) -> str:
        return self._uri

    @contextmanager
    def locked(self) -> Iterator[None]:
        with leased(self._files, self._uri, _LEASES) as self._check:
            self._seen.clear()
            self._files.delete([f"{self._uri}/{n}" for n in self._all() if n.startswith(_STAGED)])
            yield

    def names(self) -> list[str]:
        return [name for name in self._all() if name.endswith(".parquet")]

    def _all(self) -> list[str]:
        try:
            return list(self._storage.names(self._uri))
        except MissingPath:
            return []

    def schema(self, name: str) -> pa.Schema:
        self._seen.add(name)
        with self._fetched(name) as file:
            return file.schema_arrow

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        with self._fetched(name) as file:
            yield from file.iter_batches()

    @contextmanager
    def _fetched(self, name: str) -> Iterator[pq.ParquetFile]:
        path = f"{self._uri}/{name}"
        with tempfile.NamedTemporaryFile() as local:
            self._storage.fetch(path, local.name)
            try:
                file = pq.ParquetFile(local.name)
            except pa.ArrowInvalid as fault:
                raise TargetMismatch(f"{path} is no complete parquet file: {fault}.") from fault
            with file:
                yield file

    def publish(self, name: str, write: Callable[[IO[bytes]], int]) -> int:
        staged = f"{self._uri}/{_STAGED}{secrets.token_hex(8)}"
        with tempfile.NamedTemporaryFile() as local:
            with Path(local.name).open("wb") as file:
                written = write(file)
            self._storage.put(local.name, staged)
        self._check()
        if not self._storage.rename(staged, f"{self._uri}/{name}", replace=name in self._seen):
            raise PullRunning(f"another pull into {self._uri} was first.")
        return written
