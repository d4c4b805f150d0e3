"""Reads a Hudi table: its properties, timeline, commit metadata, archive and partitions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from pipeline.hudi.errors import MissingPath, UnsupportedTable
from pipeline.hudi.table.archive import ArchiveFiles, list_archive, read_archive
from pipeline.hudi.table.metadata import (
    CommitMetadata,
    FileGroup,
    cleaned_by,
    earliest_retained,
    is_clustering,
    parse_commit,
    undone_by,
)
from pipeline.hudi.table.properties import HOODIE, PROPERTIES, parse_properties, read_properties
from pipeline.hudi.table.schema import check_evolution, table_schema
from pipeline.hudi.table.storage import FileInfo, HudiStorage
from pipeline.hudi.table.timeline import REPLACE_COMMIT, Instant, Timeline, parse_timeline

LOCKS = f"{HOODIE}/causeway.pulls"
"""The folder with the lease of a pull or replication into a table."""
PARTITION_MARK = ".hoodie_partition_metadata"
MERGE_ON_READ = "MERGE_ON_READ"
_NEWEST_VERSION = 9
_BOOTSTRAP_BASE = "hoodie.bootstrap.base.path"


@dataclass(slots=True)
class HudiTable:
    """A Hudi table at the time of `open_table`. `base` has no slash at its end.

    Files of the timeline are read when they are needed, each once.
    """

    base: str
    storage: HudiStorage
    properties: Mapping[str, str]
    timeline: Timeline
    _archived: Mapping[str, str] | None = None
    _commits: dict[str, CommitMetadata] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.properties.get("hoodie.table.name", "")

    @property
    def database(self) -> str:
        return self.properties.get("hoodie.database.name", "")

    @property
    def version(self) -> int:
        return int(self.properties.get("hoodie.table.version", "0") or "0")

    @property
    def merge_on_read(self) -> bool:
        return self.properties.get("hoodie.table.type") == MERGE_ON_READ

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """Names of the partition columns; empty when the table is not partitioned."""
        fields = self.properties.get("hoodie.table.partition.fields", "")
        return tuple(name.partition(":")[0] for name in fields.split(",") if name)

    @property
    def has_commit_times(self) -> bool:
        """Whether rows have `_hoodie_commit_time`, which names the commit of a row."""
        return self.properties.get("hoodie.populate.meta.fields", "true").lower() != "false"

    @property
    def drops_partition_columns(self) -> bool:
        """Whether the partition columns are in directory names only, not in the files."""
        key = "hoodie.datasource.write.drop.partition.columns"
        return self.properties.get(key, "false").lower() == "true"

    def partition_path(self, partition: str) -> str:
        return f"{self.base}/{partition}" if partition else self.base

    def commit(self, instant: Instant) -> CommitMetadata:
        """The metadata of a completed commit."""
        if instant.file not in self._commits:
            content = self.storage.read(self._timeline_file(instant))
            self._commits[instant.file] = parse_commit(content, instant.file)
        return self._commits[instant.file]

    def schema(self) -> pa.Schema | None:
        """The columns that the newest commit records, meta columns in front; None when no commit
        records them. Table services are left out: they may record an older schema than the commits
        before them. Raises UnsupportedTable for columns that were renamed.
        """
        for instant in reversed(self.timeline.commits):
            commit = self.commit(instant)
            if not commit.is_service and (avro := commit.extra.get("schema")):
                if commit.extra.get("latest_schema"):
                    self._check_evolution()
                return table_schema(avro, instant.file)
        avro = self.properties.get("hoodie.table.create.schema")
        return table_schema(avro, "hoodie.properties") if avro else None

    def schema_files(self) -> list[FileInfo]:
        """The files with the versions of a schema that ALTER TABLE changes. The last one has all
        versions.
        """
        try:
            files = self.storage.list(f"{self.base}/{HOODIE}/.schema")
        except MissingPath:
            return []
        return sorted(file for file in files if file.name.endswith(".schemacommit"))

    def _check_evolution(self) -> None:
        files = self.schema_files()
        if not files:
            raise UnsupportedTable(f"{self.base} has no history of its columns.")
        check_evolution(self.storage.read(files[-1].path).decode(), files[-1].name)

    def newest_with_schema(self) -> set[str]:
        """The timeline files of the newest commits, by completion and by request, down to one that
        records a schema.
        """
        names: set[str] = set()
        commits = self.timeline.commits
        for order in (commits, sorted(commits, key=lambda commit: commit.requested)):
            for commit in reversed(order):
                names.add(commit.file)
                if self.commit(commit).extra.get("schema"):
                    break
        return names

    def blocking_write(self) -> Instant | None:
        """The earliest running commit that can write new rows, for which later commits have to
        wait; None where bookmarks are completion times.

        Layout 1 has clusterings under the name of replacing writes, so their requests are read.
        """
        if self.timeline.by_completion:
            return None
        running = self.timeline.running_writes
        return next((i for i in running if not self._is_clustering(i)), None)

    def _is_clustering(self, running: Instant) -> bool:
        if running.action != REPLACE_COMMIT:
            return False
        name = f"{running.requested}.{REPLACE_COMMIT}.requested"
        try:
            return is_clustering(self.storage.read(f"{self.timeline_folder}/{name}"), name)
        except MissingPath:
            return False

    def replaced_groups(self, commits: Iterable[Instant], upto: str) -> frozenset[FileGroup]:
        """The file groups that were replaced by those of `commits` that were requested until
        `upto`.
        """
        groups: set[FileGroup] = set()
        for commit in commits:
            if commit.action == REPLACE_COMMIT and commit.requested <= upto:
                groups |= self.commit(commit).replaced
        return frozenset(groups)

    def undone_by(self, instant: Instant) -> frozenset[str]:
        """Request times of the actions that a completed rollback or restore undid."""
        return undone_by(self.storage.read(self._timeline_file(instant)), instant.file)

    def cleaned_by(self, instant: Instant) -> dict[str, frozenset[str]]:
        """The names of the files that a completed clean deleted, by partition."""
        return cleaned_by(self.storage.read(self._timeline_file(instant)), instant.file)

    def earliest_retained(self) -> str:
        """The request time of the oldest commit whose files the last clean kept; empty when the
        clean does not record it.
        """
        cleans = self.timeline.cleans
        if not cleans:
            return ""
        return earliest_retained(
            self.storage.read(self._timeline_file(cleans[-1])), cleans[-1].file
        )

    @property
    def timeline_folder(self) -> str:
        return _timeline_folder(self.base, self.properties)

    def _timeline_file(self, instant: Instant) -> str:
        return f"{self.timeline_folder}/{instant.file}"

    # The archive: commits that have left the active timeline

    @property
    def archived(self) -> Mapping[str, str]:
        """The completion time of every archived commit by its request time (layout 1: the request
        time). Makes one list call when nothing was archived. Raises DamagedTimeline, StorageFault.
        """
        if self._archived is None:
            instants = read_archive(
                self.storage, self.list_archive().instants, self.timeline.by_completion
            )
            self._archived = {i.requested: i.completion for i in instants if i.is_commit}
        return self._archived

    def list_archive(self) -> ArchiveFiles:
        """The files of the archive. Raises DamagedTimeline, StorageFault."""
        return list_archive(self.storage, archive_folder(self), self.timeline.by_completion)

    def has_any(self, requests: Collection[str]) -> bool:
        """Whether one of these commits (request times) is on the timeline or in the archive."""
        known = {i.requested for i in self.timeline.commits}
        return not known.isdisjoint(requests) or not self.archived.keys().isdisjoint(requests)

    # Partitions

    def list_partition(self, partition: str) -> Sequence[FileInfo]:
        """The direct children of a partition's folder; none when it does not exist."""
        try:
            return self.storage.list(self.partition_path(partition))
        except MissingPath:
            return ()

    def partitions(self, under: str = "") -> Iterator[str]:
        """Every partition at or below a folder of the table. Makes list calls as `walk` does."""
        if not self.partition_fields:
            yield ""
            return
        for partition, _ in self.walk(under):
            yield partition

    def walk(self, under: str = "") -> Iterator[tuple[str, list[FileInfo]]]:
        """Every partition at or below a folder of the table, with its files; none if the folder
        does not exist. Makes one list call for each folder.
        """
        waiting = [under]
        while waiting:
            folder = waiting.pop()
            children = self.list_partition(folder)
            files = [c for c in children if not c.is_dir]
            if any(c.name == PARTITION_MARK for c in files) or not self.partition_fields:
                yield folder, files
                continue
            prefix = f"{folder}/" if folder else ""
            waiting += sorted(
                (prefix + c.name for c in children if c.is_dir and c.name != HOODIE), reverse=True
            )


def open_table(base: str, storage: HudiStorage) -> HudiTable:
    """Reads the properties and lists the timeline: one read, one list call.

    Raises NotAHudiTable, UnsupportedTable, StorageFault.
    """
    base = base.rstrip("/")
    properties = parse_properties(read_properties(base, storage))
    _check_supported(base, properties)
    try:
        names = storage.names(_timeline_folder(base, properties))
    except MissingPath:
        names = []
    return HudiTable(base, storage, properties, parse_timeline(names, _layout(properties)))


def open_for_changes(base: str, storage: HudiStorage) -> HudiTable:
    """Opens a table and reads its archive, so that a plan only has to list partitions."""
    table = open_table(base, storage)
    if table.timeline.by_completion:
        _ = table.archived
    return table


def find_base(path: str, storage: HudiStorage) -> str | None:
    """The base path of the table that contains a path; None when no table does."""
    scheme, colon, rest = path.partition("://")
    root = f"{scheme}://{rest.partition('/')[0]}" if colon else ""
    current = path.rstrip("/")
    while len(current) > len(root):
        if any(storage.exists(f"{current}/{HOODIE}/{name}") for name in PROPERTIES):
            return current
        current = current.rpartition("/")[0]
    return None


def _timeline_folder(base: str, properties: Mapping[str, str]) -> str:
    if _layout(properties) == 1:
        return f"{base}/{HOODIE}"
    return f"{base}/{HOODIE}/{properties.get('hoodie.timeline.path', 'timeline')}"


def archive_folder(table: HudiTable) -> str:
    """The directory of the table's archived instants."""
    if not table.timeline.by_completion:
        folder = table.properties.get("hoodie.archivelog.folder", "archived")
        return f"{table.base}/{HOODIE}/{folder}"
    return (
        f"{table.timeline_folder}/{table.properties.get('hoodie.timeline.history.path', 'history')}"
    )


def _layout(properties: Mapping[str, str]) -> int:
    return int(properties.get("hoodie.timeline.layout.version", "1") or "1")


def _check_supported(base: str, properties: Mapping[str, str]) -> None:
    version = properties.get("hoodie.table.version", "0") or "0"
    if not version.isdigit() or int(version) > _NEWEST_VERSION:
        raise UnsupportedTable(
            f"{base} has table version {version}; up to {_NEWEST_VERSION} is known."
        )
    if bootstrapped := properties.get(_BOOTSTRAP_BASE):
        raise UnsupportedTable(f"{base} was bootstrapped from {bootstrapped}, which has its rows.")
    layout = properties.get("hoodie.timeline.layout.version", "1") or "1"
    if layout not in ("1", "2"):
        raise UnsupportedTable(f"{base} has timeline layout {layout}; 1 and 2 are known.")
