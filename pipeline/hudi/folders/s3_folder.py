"""A target on S3: a file appears by one conditional PUT.

S3 has no locks and no rename. The condition is that nothing was published since the pull read the
bookmark. A mirror is replaced by `If-Match` with the ETag that it had before its bookmark was read.
A file of changes is named after the bookmark that it continues, and `If-None-Match` allows one pull
only to continue it. So one of several pulls publishes and the others are refused, even a pull that
was suspended for hours.
"""

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.hudi.errors import MissingPath, PullRunning, StorageFault, TargetMismatch
from pipeline.hudi.table.s3.s3_objects import S3Objects
from pipeline.hudi.table.s3.s3_storage import S3Storage

_PROBE = ".causeway-target"  # Readers of folders skip names that begin with a dot.
_NO_ETAG = '"0"'


class S3Folder:
    """A `TargetFolder` at a URI, for one pull after the other."""

    def __init__(self, uri: str, storage: S3Storage, objects: S3Objects) -> None:
        self._uri = uri.rstrip("/")
        self._storage = storage
        self._objects = objects
        self._seen: dict[str, tuple[str | None, pa.Schema]] = {}

    @property
    def path(self) -> str:
        return self._uri

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks nothing: `publish` fails if another pull has published meanwhile."""
        self._seen.clear()
        yield

    def names(self) -> list[str]:
        try:
            entries = self._storage.list(self._uri)
        except MissingPath:
            return []
        return [e.name for e in entries if not e.is_dir and e.name.endswith(".parquet")]

    def schema(self, name: str) -> pa.Schema:
        """The ETag is read before the footer, and once: so the footer is of the ETag's version or a
        newer one.
        """
        if name not in self._seen:
            etag = self._objects.etag(self._key(name))
            self._seen[name] = (etag, self._footer(f"{self._uri}/{name}"))
        return self._seen[name][1]

    def _footer(self, path: str) -> pa.Schema:
        try:
            with self._storage.open(path) as file:
                return pq.read_schema(file)
        except pa.ArrowInvalid as fault:
            raise TargetMismatch(f"{path} is no complete parquet file: {fault}.") from fault
        except OSError as fault:
            raise StorageFault(f"cannot read {path}: {fault}.") from fault

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        try:
            with self._storage.open(f"{self._uri}/{name}") as file:
                yield from pq.ParquetFile(file).iter_batches()
        except (OSError, pa.ArrowException) as fault:
            raise StorageFault(f"cannot read {self._uri}/{name}: {fault}.") from fault

    def publish(self, name: str, write: Callable[[IO[bytes]], int]) -> int:
        with tempfile.TemporaryFile() as staged:
            written = write(staged)
            if not self._seen:
                self._check_conditions()
            etag = self._seen[name][0] if name in self._seen else None
            if not self._objects.put(self._key(name), staged, etag):
                raise PullRunning(f"another pull into {self._uri} was first.")
        return written

    def _check_conditions(self) -> None:
        """Raises StorageFault when the store ignores conditions. Called before the first pull."""
        probe = self._key(_PROBE)
        created = self._objects.put(probe, io.BytesIO(), None)
        if (created and self._objects.put(probe, io.BytesIO(), None)) or self._objects.put(
            probe, io.BytesIO(), _NO_ETAG
        ):
            raise StorageFault(f"{self._uri}: the store ignores If-None-Match or If-Match.")

    def _key(self, name: str) -> str:
        return f"{self._uri.partition('://')[2].partition('/')[2]}/{name}".lstrip("/")
