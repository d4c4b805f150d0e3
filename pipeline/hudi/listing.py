"""The files that a job reads through Hudi's input format.

`list_status` returns the same as HoodieParquetInputFormat.listStatus of Hudi (HU-8), with one list
call for each partition that the commits of an incremental table touched (HU-1).
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from pipeline.hudi.errors import BadRange, HollowCommit, MissingPath
from pipeline.hudi.flags import Conf, Flags, table_flags
from pipeline.hudi.table.classify import classify
from pipeline.hudi.table.slices import latest_base_files
from pipeline.hudi.table.storage import FileInfo, HudiStorage, LocalStorage
from pipeline.hudi.table.table import HudiTable
from pipeline.hudi.table.timeline import Instant

RECURSIVE = "mapreduce.input.fileinputformat.input.dir.recursive"


def list_status(
    paths: Iterable[str], conf: Conf, storage: HudiStorage | None = None
) -> list[FileInfo]:
    """The files under `paths`, each table in the view that `conf` selects (HU-3).

    Incremental tables: the latest base files that the selected commits wrote (HU-4). Other Hudi
    tables: their latest base files (HU-6). Other paths: their plain listing (HU-5). Raises
    IncrementalError.
    """
    storage = storage or LocalStorage()
    inputs = classify(paths, conf, storage)
    files: list[FileInfo] = []
    for base, wanted in inputs.incremental.items():
        flags = table_flags(conf, inputs.names[base])
        # Hudi reads this one flag by the table's name without a database, also where the others
        # are read by the name with it.
        by_name = table_flags(conf, inputs.tables[base].name)
        files += _incremental(inputs.tables[base], wanted, flags, by_name.stop_at_compaction)
    for path in inputs.other:
        files += _plain(path, conf, storage)
    for base, wanted in inputs.snapshot.items():
        table = inputs.tables[base]
        files += _snapshot(table, wanted, table_flags(conf, table.name))
    return files


def commits_in_range(
    table: HudiTable, flags: Flags, stop_at_compaction: bool = True
) -> tuple[Instant, ...]:
    """Completed commits after the start by request time, at most `max_commits` (HU-7, HU-10).

    Raises BadRange without a start, HollowCommit when the job selects to fail on one.
    """
    if flags.start is None:
        raise BadRange(f"hoodie.{table.name}.consume.start.timestamp is not set.")
    after = [
        i for i in visible_commits(table, flags, stop_at_compaction) if i.requested > flags.start
    ]
    return tuple(after[: flags.max_commits] if flags.max_commits is not None else after)


def visible_commits(
    table: HudiTable, flags: Flags, stop_at_compaction: bool = True
) -> tuple[Instant, ...]:
    """Completed commits by request time, without those after a running commit, and without those
    after a pending compaction if `stop_at_compaction`.

    Base files of commits after a compaction's request may be newer than updates that are still in
    logs. A reader of base files that continued after these commits would miss the updates.
    """
    timeline = table.timeline
    commits = sorted(timeline.commits, key=lambda i: i.requested)
    compaction = timeline.first_pending_compaction
    if stop_at_compaction and compaction is not None:
        commits = [i for i in commits if i.requested < compaction.requested]
    running = timeline.running_writes
    if not running or flags.holes == "USE_TRANSITION_TIME":
        return tuple(commits)
    first = running[0].requested
    before = [i for i in commits if i.requested < first]
    if len(before) < len(commits) and flags.holes != "BLOCK":
        raise HollowCommit(f"{table.base}: {first} is behind finished commits.")
    return tuple(before)


def _incremental(
    table: HudiTable, wanted: Sequence[str], flags: Flags, stop_at_compaction: bool
) -> list[FileInfo]:
    commits = commits_in_range(table, flags, stop_at_compaction)
    touched = {p for commit in commits for p in table.commit(commit).partitions}
    paths = set(wanted)
    partitions = sorted(p for p in touched if table.partition_path(p) in paths)
    if not partitions:
        return []
    instants = {commit.requested for commit in commits}
    last = max(instants)
    replaced = table.replaced_groups(visible_commits(table, flags, stop_at_compaction), last)
    files = []
    for partition in partitions:
        listed = table.list_partition(partition)
        latest = latest_base_files(partition, listed, instants.__contains__)
        files += [base.status for group, base in latest.items() if group not in replaced]
    return files


def _snapshot(table: HudiTable, wanted: Sequence[str], flags: Flags) -> list[FileInfo]:
    commits = sorted(table.timeline.commits, key=lambda i: i.requested)
    pending = {i.requested for i in table.timeline.instants if not i.completed}
    visible = table.timeline.committed()
    if not commits and not (flags.pending and pending):
        return []
    if flags.as_of and not flags.pending and flags.as_of < table.earliest_retained():
        raise BadRange(f"{table.base} as of {flags.as_of} was cleaned.")
    as_of = flags.as_of or max({i.requested for i in commits} | pending)
    replaced = table.replaced_groups(commits, as_of)

    def counts(instant: str) -> bool:
        return instant <= as_of and (instant in visible or (flags.pending and instant in pending))

    files = []
    for partition, listed in _walk_each(table, wanted):
        latest = latest_base_files(partition, listed, counts)
        files += [base.status for group, base in latest.items() if group not in replaced]
    return files


def _walk_each(table: HudiTable, wanted: Iterable[str]) -> Iterable[tuple[str, Sequence[FileInfo]]]:
    """The partitions at or below the paths with their files, each once."""
    seen: set[str] = set()
    for path in wanted:
        for partition, listed in table.walk(path[len(table.base) :].lstrip("/")):
            if partition not in seen:
                seen.add(partition)
                yield partition, listed


def _plain(path: str, conf: Conf, storage: HudiStorage) -> list[FileInfo]:
    """The files that Hadoop lists for a path or pattern: visible children, folders included (HU-5).

    Raises MissingPath.
    """
    recursive = conf.get(RECURSIVE, "").strip().lower() == "true"
    found: list[FileInfo] = []
    for match in _matches(path, storage):
        children = storage.list(match)
        if len(children) == 1 and children[0].path == match:
            found += children
            continue
        waiting = [c for c in children if _visible(c.name)]
        while waiting:
            child = waiting.pop()
            if child.is_dir and recursive:
                waiting += [c for c in storage.list(child.path) if _visible(c.name)]
            else:
                found.append(child)
    return found


def _matches(pattern: str, storage: HudiStorage) -> list[str]:
    """The existing paths that match a pattern of `*`, `?` and `[...]`. Raises MissingPath."""
    if not any(mark in pattern for mark in "*?["):
        if not storage.exists(pattern):
            raise MissingPath(f"Input path does not exist: {pattern}.")
        return [pattern]
    parts = pattern.split("/")
    first = next(i for i, part in enumerate(parts) if any(m in part for m in "*?["))
    paths = ["/".join(parts[:first])]
    for part in parts[first:]:
        paths = [
            child.path
            for path in paths
            for child in storage.list(path or "/")
            if fnmatchcase(child.name, part) and _visible(child.name)
        ]
    if not paths:
        raise MissingPath(f"Input pattern {pattern} matches 0 files.")
    return paths


def _visible(name: str) -> bool:
    return not name.startswith(("_", "."))
