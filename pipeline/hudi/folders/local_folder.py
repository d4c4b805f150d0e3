"""A target on this machine: a file appears by one rename."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pipeline.hudi.errors import PullRunning, StorageFault, TargetMismatch

_WORK = ".causeway-"


class LocalFolder:
    """A `TargetFolder`. A lock, which ends with its process, allows one pull at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def path(self) -> str:
        return str(self._folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with open(self._folder / f"{_WORK}lock", "w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise PullRunning(f"another pull into {self._folder} is running.") from None
                for unfinished in self._folder.glob(f"{_WORK}staged-*"):
                    unfinished.unlink()
                yield
        except OSError as fault:
            raise StorageFault(f"{self._folder}: {fault}.") from fault

    def names(self) -> list[str]:
        return [path.name for path in self._folder.glob("*.parquet")]

    def schema(self, name: str) -> pa.Schema:
        path = self._folder / name
        try:
            return pq.read_schema(path)
        except pa.ArrowInvalid as fault:
            raise TargetMismatch(f"{path} is no complete parquet file: {fault}.") from fault

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        yield from ds.dataset(self._folder / name).to_batches()

    def publish(self, name: str, write: Callable[[IO[bytes]], int]) -> int:
        staged = self._folder / f"{_WORK}staged-{os.getpid()}"
        with open(staged, "wb") as file:
            written = write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(staged, self._folder / name)
        self._sync()
        return written

    def _sync(self) -> None:
        """Makes the rename durable."""
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
