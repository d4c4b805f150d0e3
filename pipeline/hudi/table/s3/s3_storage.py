"""Hudi tables on S3, read by Arrow's client without Spark.

A list call is one request for every thousand entries of a folder; a read is three: the length, the
content, the length. Requests that fail or take too long are repeated a limited number of times. The
store's listings have to contain every object that was written before, as Amazon's do since 2020.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.fs as fs

from pipeline.hudi.errors import IncrementalError, MissingPath, StorageFault
from pipeline.hudi.table.storage import FileInfo

_READS = 3  # attempts to read an object that changes while it is read
_CHUNK = 16 << 20  # bytes of one request of `fetch`


class S3Storage:
    """The objects of S3. A path is a URI; its scheme is kept for its children.

    `arguments` as `s3_arguments` returns them.
    """

    def __init__(self, arguments: dict[str, Any]) -> None:
        options = dict(arguments)
        retries = fs.AwsStandardS3RetryStrategy(max_attempts=options.pop("max_attempts"))
        self._s3 = fs.S3FileSystem(**options, retry_strategy=retries)

    def list(self, path: str) -> list[FileInfo]:
        key = _key(path)
        try:
            found = self._s3.get_file_info(fs.FileSelector(key))
            return [_status(f"{path.rstrip('/')}/{info.base_name}", info) for info in found]
        except FileNotFoundError as missing:
            return [self._file(path, missing)]
        except (OSError, pa.ArrowException) as fault:
            raise StorageFault(f"cannot list {path}: {fault}.") from fault

    def names(self, path: str) -> Sequence[str]:
        return [entry.name for entry in self.list(path)]

    def read(self, path: str) -> bytes:
        for _ in range(_READS):
            try:
                with self._s3.open_input_stream(_key(path)) as stream:
                    content = bytes(stream.read())
            except (OSError, pa.ArrowException) as fault:
                raise _fault("read", path, fault) from fault
            # Arrow reads as many bytes as there were at first; the object may be another one now.
            if self._info(path).size == len(content):
                return content
        raise StorageFault(f"{path} changed while it was read.")

    def exists(self, path: str) -> bool:
        return bool(self._info(path).type != fs.FileType.NotFound)

    def fetch(self, path: str, into: str) -> None:
        try:
            with self._s3.open_input_stream(_key(path)) as stream, open(into, "wb") as file:
                while chunk := stream.read(_CHUNK):
                    file.write(chunk)
        except (OSError, pa.ArrowException) as fault:
            raise _fault("read", path, fault) from fault

    def open(self, path: str) -> pa.NativeFile:
        """A file that is read where it is, in ranges."""
        try:
            return self._s3.open_input_file(_key(path))
        except (OSError, pa.ArrowException) as fault:
            raise _fault("read", path, fault) from fault

    @property
    def region(self) -> str:
        return str(self._s3.region)

    def _file(self, path: str, missing: Exception) -> FileInfo:
        info = self._info(path)
        if info.type != fs.FileType.File:
            raise MissingPath(f"{path} does not exist.") from missing
        return _status(path, info)

    def _info(self, path: str) -> fs.FileInfo:
        try:
            return self._s3.get_file_info(_key(path))
        except (OSError, pa.ArrowException) as fault:
            raise StorageFault(f"cannot find {path}: {fault}.") from fault


def _key(path: str) -> str:
    """Bucket and key: the path without its scheme."""
    return path.partition("://")[2].rstrip("/")


def _status(path: str, info: fs.FileInfo) -> FileInfo:
    is_dir = info.type == fs.FileType.Directory
    modified = 0 if is_dir else (info.mtime_ns or 0) // 1_000_000
    return FileInfo(path, 0 if is_dir else info.size, modified, is_dir)


def _fault(action: str, path: str, fault: Exception) -> IncrementalError:
    if isinstance(fault, FileNotFoundError):
        return MissingPath(f"{path} does not exist.")
    return StorageFault(f"cannot {action} {path}: {fault}.")
