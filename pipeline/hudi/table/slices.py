"""Names of data files, and the newest files of each file group.

A file group holds a set of rows. Each commit that rewrites it writes a base file
`<file id>_<write token>_<instant>.parquet`; on merge-on-read tables updates go to log files,
`.<file id>_<instant>.log.<version>_<write token>` beside it.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.hudi.table.metadata import FileGroup
from pipeline.hudi.table.storage import FileInfo

_BASE = re.compile(r"^([^._][^_]*)_([^_]*)_(\d+)(?:_hudiext)?\.(parquet|orc|hfile|lance)$")
# Files that end with `.cdc` do not match: they log changed data, not rows of the table.
_LOG = re.compile(r"^\.(.+?)_(\d+)\.log\.(\d+)(?:_([\d-]+))?$")


@dataclass(frozen=True, slots=True)
class BaseFile:
    """A base file: `instant` is the request time of the commit that wrote it."""

    group: FileGroup
    instant: str
    status: FileInfo


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file. `instant` is its base file's (layout 1) or its own commit's (layout 2)."""

    group: FileGroup
    instant: str
    version: int
    status: FileInfo


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A file group at a moment: its base file, if any, and the logs on top of it."""

    group: FileGroup
    base: FileInfo | None
    logs: tuple[FileInfo, ...] = ()

    @property
    def files(self) -> tuple[FileInfo, ...]:
        return ((self.base,) if self.base else ()) + self.logs


def parse_base(partition: str, status: FileInfo) -> BaseFile | None:
    match = _BASE.match(status.name)
    return BaseFile((partition, match[1]), match[3], status) if match else None


def parse_log(partition: str, status: FileInfo) -> LogFile | None:
    match = _LOG.match(status.name)
    return LogFile((partition, match[1]), match[2], int(match[3]), status) if match else None


def latest_base_files(
    partition: str, files: Iterable[FileInfo], counts: Callable[[str], bool]
) -> dict[FileGroup, BaseFile]:
    """The newest base file of each file group among those whose instants count (HU-4)."""
    latest: dict[FileGroup, BaseFile] = {}
    for status in files:
        base = parse_base(partition, status)
        if base is None or not counts(base.instant):
            continue
        known = latest.get(base.group)
        if known is None or known.instant < base.instant:
            latest[base.group] = base
    return latest


@dataclass(frozen=True, slots=True)
class Moment:
    """The commits that count. `completions` maps their request times to their completion times
    (request times in layout 1). Commits requested before `archived_before` count, too.
    """

    completions: Mapping[str, str]
    archived_before: str
    by_completion: bool

    def completion(self, instant: str) -> str | None:
        """The time when the files of a commit (request time) became visible; None when they are not
        visible at this moment. Commits from before the active timeline are complete.
        """
        if instant in self.completions:
            return self.completions[instant]
        return instant if instant < self.archived_before else None


def file_slices(
    partition: str, files: Iterable[FileInfo], moment: Moment
) -> dict[FileGroup, FileSlice]:
    """The slices of one partition at a moment."""
    bases: dict[FileGroup, list[tuple[str, FileInfo]]] = {}
    logs: dict[FileGroup, list[LogFile]] = {}
    for status in files:
        if (base := parse_base(partition, status)) is not None:
            if moment.completion(base.instant) is not None:
                bases.setdefault(base.group, []).append((base.instant, status))
        elif (log := parse_log(partition, status)) is not None:
            logs.setdefault(log.group, []).append(log)
    slices = {}
    for group in bases.keys() | logs.keys():
        instant, newest = max(bases.get(group, []), default=("", None), key=lambda b: b[0])
        on_top = [log for log in logs.get(group, []) if _belongs(log, instant, moment)]
        on_top.sort(key=lambda log: (log.instant, log.version, log.status.name))
        if newest is not None or on_top:
            slices[group] = FileSlice(group, newest, tuple(log.status for log in on_top))
    return slices


def _belongs(log: LogFile, base_instant: str, moment: Moment) -> bool:
    """Whether a log has changes on top of the base file of `base_instant`.

    In layout 1 the log's name has the instant of its base file, and readers check the commits of
    its blocks. In layout 2 it has its own commit, which must be complete, and must have completed
    after the base file was requested: a compaction includes what was complete then.
    """
    if not moment.by_completion:
        return log.instant >= base_instant
    completion = moment.completion(log.instant)
    return completion is not None and completion > base_instant


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file of a group that its partition lacks. `newer` are the instants of the group's base
    files that are newer than it.
    """

    group: FileGroup
    name: str
    newer: tuple[str, ...]


def select_slices(
    partition: str,
    files: Sequence[FileInfo],
    later: Container[str],
    wanted: Mapping[FileGroup, str],
    moment: Moment,
) -> list[FileSlice] | MissingFile:
    """The slices of some groups of one partition at a moment, or the first file that is missing.

    `wanted` has the name of the file that each group's last commit until the moment wrote. `later`
    are names of files that commits after the moment wrote, which are left out.
    """
    present = [file for file in files if file.name not in later]
    slices = file_slices(partition, present, moment)
    selected: list[FileSlice] = []
    for group, name in sorted(wanted.items()):
        part = slices.get(group)
        if part is None or (part.base is None and _has_base_file(group, present)):
            return MissingFile(group, name, _newer_bases(group, name, files))
        is_there = name in {file.name for file in part.files}
        if not is_there and not _was_compacted(name, part, moment):
            return MissingFile(group, name, _newer_bases(group, name, files))
        selected.append(part)
    return selected


def _has_base_file(group: FileGroup, files: Iterable[FileInfo]) -> bool:
    """Whether a base file of the group is among the files of its partition."""
    bases = (parse_base(group[0], file) for file in files)
    return any(base is not None and base.group == group for base in bases)


def _newer_bases(group: FileGroup, name: str, files: Iterable[FileInfo]) -> tuple[str, ...]:
    """The instants of the group's base files that are newer than its file `name`."""
    file = FileInfo(name, 0)
    parsed = parse_base(group[0], file) or parse_log(group[0], file)
    bases = (parse_base(group[0], each) for each in files)
    instants = (base.instant for base in bases if base is not None and base.group == group)
    return tuple(each for each in instants if parsed is not None and each > parsed.instant)


def _was_compacted(name: str, part: FileSlice, moment: Moment) -> bool:
    """Whether a log that is not in the slice was compacted into the slice's base file."""
    partition = part.group[0]
    log = parse_log(partition, FileInfo(name, 0))
    base = parse_base(partition, part.base) if part.base else None
    if log is None or base is None:
        return False
    done = moment.completion(log.instant) if moment.by_completion else log.instant
    return done is not None and done < base.instant
