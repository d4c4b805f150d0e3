"""`Files` on Spark: executors' JVMs copy whole files, and the driver's JVM does all the rest."""

import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote_plus

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from conf.logs.log_fields import trace_id
from conf.progress import Progress, no_progress
from pipeline.copy.files import (
    CopyOptions,
    FileCopy,
    FileEntry,
    FileListing,
    FileResult,
    FileStatus,
    distribute,
)
from pipeline.errors import CopyError, KerberosFailed, SparkFailed
from pipeline.spark import java_classes

_BATCH_BYTES = 128 << 20
_BATCHES_A_CORE = 4
_MOST_BATCHES = 10_000
_POLL = 0.05
_PROGRESS_SECONDS = 0.5  # A report of progress makes a dozen calls into the driver's JVM.
_DRIVER_THREADS = 16
_REFUSED = "causeway.copy.KerberosRefused"
_NO_S3A = (
    "add org.apache.hadoop:hadoop-aws, in the version of Spark's Hadoop, to Spark's class path"
)


class SparkFiles:
    """All file systems of Spark's Hadoop. `endpoints` are settings by authority, as
    `read_endpoints` returns them. Raises JarMissing.
    """

    def __init__(
        self, session: SparkSession, endpoints: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self._context = session.sparkContext
        gateway: Any = self._context._gateway
        self._jvm = gateway.jvm
        self._endpoints = self._java_map(
            {k: self._java_map(v) for k, v in (endpoints or {}).items()}
        )
        self._driver_files = java_classes.new(
            self._context, "copy.DriverFiles", self._endpoints, _DRIVER_THREADS
        )

    def listings(self, locations: Sequence[str]) -> list[FileListing | None]:
        if not locations:
            return []
        reply: str = self._call("list", _lines(locations))
        found: list[list[FileEntry] | None] = [[] for _ in locations]
        for line in reply.splitlines():
            number, *rest = line.split("\t")
            entries = found[int(number)]
            if not rest:
                found[int(number)] = None
            elif entries is not None:
                entries.append(FileEntry(unquote_plus(rest[0]), int(rest[1]), int(rest[2])))
        return [None if each is None else FileListing(tuple(sorted(each))) for each in found]

    def copy_files(
        self, copies: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        return self._run_tasks(copies, options, progress, compare=False)

    def compare(
        self, copies: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        return self._run_tasks(copies, options, progress, compare=True)

    def _run_tasks(
        self, copies: Sequence[FileCopy], options: CopyOptions, progress: Progress, *, compare: bool
    ) -> list[FileResult]:
        if not copies:
            return []
        cores = int(self._context.defaultParallelism)
        tasks = options.parallelism or (cores if options.bandwidth else _tasks(copies, cores))
        batches = distribute(copies, tasks)
        parallel = min(len(batches.copies), options.parallelism or cores)
        task = java_classes.new(
            self._context,
            "copy.FileCopyTask",
            self._endpoints,
            compare,
            options.checksum or compare,
            options.keep_owner,
            self._long(max(1, options.bandwidth // parallel) if options.bandwidth else 0),
            options.attempts,
            self._long(int(options.pause * 1000)),
        )
        numbers = {id(copy): number for number, copy in enumerate(copies)}
        items = self._jvm.java.util.ArrayList()
        for batch in batches.copies:
            items.add("\n".join(_copy_line(numbers[id(copy)], copy) for copy in batch))
        lines = self._run(items, task, batches.loads, progress)
        return [_result(line, copies) for line in lines]

    def _run(self, items: Any, task: Any, loads: Sequence[int], progress: Progress) -> list[str]:
        total = sum(loads)
        progress(0, total)
        group = f"causeway-{time.monotonic_ns()}"
        self._context.setLocalProperty("spark.jobGroup.id", group)
        trace = trace_id()
        description = f"[{trace}] causeway copy" if trace else None
        self._context.setLocalProperty("spark.job.description", description)  # type: ignore[arg-type]
        try:
            future = self._context._jsc.parallelize(items, len(loads)).mapPartitions(task)
            future = future.collectAsync()
            try:
                reported = time.monotonic()
                while not future.isDone():
                    time.sleep(_POLL)
                    if time.monotonic() - reported >= _PROGRESS_SECONDS:
                        progress(total * self._tasks_done(group) // len(loads), total)
                        reported = time.monotonic()
                lines = [line for batch in future.get() for line in str(batch).splitlines()]
            except BaseException:
                future.cancel(True)
                raise
        except Py4JError as error:
            raise SparkFailed(f"the copy job failed: {_first_line(error)}") from error
        finally:
            self._context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        progress(total, total)
        return lines

    def _tasks_done(self, group: str) -> int:
        tracker = self._context.statusTracker()
        done = 0
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                stage_info = tracker.getStageInfo(stage)
                done += stage_info.numCompletedTasks if stage_info else 0
        return done

    def make_folders(self, likes: Mapping[str, str], keep_owner: bool) -> None:
        if likes:
            pairs = (f"{quote(each)}\t{quote(like)}" for each, like in likes.items())
            self._call("mkdirs", "\n".join(pairs), keep_owner)

    def move(self, moves: Mapping[str, str]) -> frozenset[str]:
        return self._moved("move", moves)

    def move_files(self, moves: Mapping[str, str]) -> frozenset[str]:
        return self._moved("moveFiles", moves)

    def _moved(self, method: str, moves: Mapping[str, str]) -> frozenset[str]:
        if not moves:
            return frozenset()
        pairs = (f"{quote(each)}\t{quote(to)}" for each, to in moves.items())
        moved: str = self._call(method, "\n".join(pairs))
        return frozenset(unquote_plus(line) for line in moved.splitlines())

    def delete(self, locations: Sequence[str]) -> None:
        if locations:
            self._call("delete", _lines(locations))

    def children(self, location: str) -> tuple[str, ...]:
        return self.folders([location])[0]

    def read_file(self, location: str) -> bytes | None:
        data = self._call("readFile", location)
        return None if data is None else bytes(data)

    def write_file(self, location: str, data: bytes) -> None:
        self._call("writeFile", location, data)

    def read_marker(self, location: str) -> str | None:
        return self.read_markers([location])[0]

    def folders(self, locations: Sequence[str]) -> list[tuple[str, ...]]:
        if not locations:
            return []
        found: list[list[str]] = [[] for _ in locations]
        for line in str(self._call("folders", _lines(locations))).splitlines():
            number, name = line.split("\t")
            found[int(number)].append(unquote_plus(name))
        return [tuple(names) for names in found]

    def read_markers(self, locations: Sequence[str]) -> list[str | None]:
        if not locations:
            return []
        found: list[str | None] = [None for _ in locations]
        for line in str(self._call("readMarkers", _lines(locations))).splitlines():
            number, _, text = line.partition("\t")
            if "\t" in line:
                found[int(number)] = unquote_plus(text)
        return found

    def write_marker(self, location: str, text: str) -> None:
        self._call("writeMarker", location, text)

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._driver_files, method)(*arguments)
        except Py4JError as error:
            line = _first_line(error)
            if _is_kerberos_failure(error):
                raise KerberosFailed(line) from error
            raise CopyError(f"{method}: {line}") from error

    def _java_map(self, values: Mapping[str, Any]) -> Any:
        result = self._jvm.java.util.HashMap()
        for key, value in values.items():
            result.put(key, value)
        return result

    def _long(self, value: int) -> Any:
        # py4j passes a small number as an Integer, which no `long` parameter accepts.
        return self._jvm.java.lang.Long.valueOf(str(value))


def _tasks(copies: Sequence[FileCopy], cores: int) -> int:
    count = sum(copy.entry.length for copy in copies) // _BATCH_BYTES
    return min(max(count, cores * _BATCHES_A_CORE), _MOST_BATCHES)


def _lines(locations: Sequence[str]) -> str:
    return "\n".join(quote(location) for location in locations)


def _copy_line(number: int, copy: FileCopy) -> str:
    """The line that causeway.copy.FileCopy parses."""
    path = copy.entry.path
    source, target = quote(f"{copy.source}/{path}"), quote(f"{copy.target}/{path}")
    return f"{number}\t{source}\t{target}\t{copy.entry.length}\t{copy.entry.modified}"


def _result(line: str, copies: Sequence[FileCopy]) -> FileResult:
    number, name, sent, checksum, message = line.split("\t")
    status = FileStatus(name)
    return FileResult(
        copies[int(number)],
        status,
        int(sent),
        checksum if status is FileStatus.SENT else "",
        unquote_plus(message),
    )


def _cause(error: Py4JError) -> Any:
    """The Java exception at the end of the chain of causes; None without one."""
    cause = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    return cause


def _is_kerberos_failure(error: Py4JError) -> bool:
    cause = _cause(error)
    return cause is not None and cause.getClass().getName() == _REFUSED


def _first_line(error: Py4JError) -> str:
    cause = _cause(error)
    text = str(error) if cause is None else str(cause.toString())
    line = text.splitlines()[0] if text else type(error).__name__
    return f"{line}; {_NO_S3A}" if "s3a.S3AFileSystem not found" in line else line
