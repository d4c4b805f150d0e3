"""One Hudi table: its properties, its timeline and its partitions; and how paths find it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from pipeline.hudi.errors import MissingPath, NotAHudiTable, UnsupportedTable
from pipeline.hudi.table.metadata import (
    CommitMetadata,
    earliest_retained,
    parse_commit,
    undone_by,
)
from pipeline.hudi.table.storage import FileInfo, HudiStorage
from pipeline.hudi.table.timeline import Instant, Timeline, parse_timeline

HOODIE = ".hoodie"
PARTITION_MARK = ".hoodie_partition_metadata"
MERGE_ON_READ = "MERGE_ON_READ"
_NEWEST_VERSION = 9
_ESCAPE = re.compile(r"\\(.)")


@dataclass(slots=True)
class HudiTable:
    """A Hudi table as it was when `open_table` looked at it. `base` has no slash at its end.

    `archived` is what `archive.archived_commits` answers, once somebody has asked.
    """

    base: str
    storage: HudiStorage
    properties: Mapping[str, str]
    timeline: Timeline
    archived: Mapping[str, str] | None = None
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
        """Whether rows carry `_hoodie_commit_time`, without which no row tells its commit."""
        return self.properties.get("hoodie.populate.meta.fields", "true").lower() != "false"

    @property
    def drops_partition_columns(self) -> bool:
        """Whether partition columns are only in directory names, not in the files."""
        key = "hoodie.datasource.write.drop.partition.columns"
        return self.properties.get(key, "false").lower() == "true"

    def partition_path(self, partition: str) -> str:
        return f"{self.base}/{partition}" if partition else self.base

    def commit(self, instant: Instant) -> CommitMetadata:
        """What a completed commit did; read once."""
        if instant.file not in self._commits:
            path = f"{timeline_folder(self.base, self.properties)}/{instant.file}"
            self._commits[instant.file] = parse_commit(self.storage.read(path), instant.file)
        return self._commits[instant.file]

    def undone_by(self, instant: Instant) -> frozenset[str]:
        """Request times of what a completed rollback or restore undid."""
        path = f"{timeline_folder(self.base, self.properties)}/{instant.file}"
        return undone_by(self.storage.read(path), instant.file)

    def earliest_retained(self) -> str:
        """The oldest commit whose files the last clean left alone; empty when it does not say."""
        cleans = [i for i in self.timeline.instants if i.action == "clean" and i.completed]
        if not cleans:
            return ""
        file = cleans[-1].file
        folder = timeline_folder(self.base, self.properties)
        return earliest_retained(self.storage.read(f"{folder}/{file}"), file)

    def partitions(self, under: str = "") -> Iterator[str]:
        """Every partition at or below a folder relative to the table, by listing folders."""
        if not self.partition_fields:
            yield ""
            return
        for partition, _ in self.walk(under):
            yield partition

    def walk(self, under: str = "") -> Iterator[tuple[str, list[FileInfo]]]:
        """Every partition at or below a folder and its files: one list call a folder."""
        waiting = [under]
        while waiting:
            folder = waiting.pop()
            children = self.storage.list(self.partition_path(folder))
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
    try:
        properties = parse_properties(storage.read(f"{base}/{HOODIE}/hoodie.properties"))
    except MissingPath:
        raise NotAHudiTable(f"{base} is not a Hudi table.") from None
    _check_supported(base, properties)
    try:
        names = [f.name for f in storage.list(timeline_folder(base, properties)) if not f.is_dir]
    except MissingPath:
        names = []
    return HudiTable(base, storage, properties, parse_timeline(names, _layout(properties)))


def find_base(path: str, storage: HudiStorage) -> str | None:
    """The base path of the table that a path is in, looking upwards; None when it is in none."""
    scheme, colon, rest = path.partition("://")
    root = f"{scheme}://{rest.partition('/')[0]}" if colon else ""
    current = path.rstrip("/")
    while len(current) > len(root):
        if storage.exists(f"{current}/{HOODIE}/hoodie.properties"):
            return current
        current = current.rpartition("/")[0]
    return None


def timeline_folder(base: str, properties: Mapping[str, str]) -> str:
    if _layout(properties) == 1:
        return f"{base}/{HOODIE}"
    return f"{base}/{HOODIE}/{properties.get('hoodie.timeline.path', 'timeline')}"


def archive_folder(table: HudiTable) -> str:
    """Where the table's archived instants are."""
    if _layout(table.properties) == 1:
        folder = table.properties.get("hoodie.archivelog.folder", "archived")
        return f"{table.base}/{HOODIE}/{folder}"
    timeline = timeline_folder(table.base, table.properties)
    return f"{timeline}/{table.properties.get('hoodie.timeline.history.path', 'history')}"


def parse_properties(content: bytes) -> dict[str, str]:
    """A Java properties file as Hudi writes it: `key=value` lines, backslash escapes."""
    properties = {}
    for line in content.decode("utf-8", "replace").splitlines():
        if not line.strip() or line.lstrip()[0] in "#!":
            continue
        key, _, value = line.partition("=")
        properties[_ESCAPE.sub(r"\1", key).strip()] = _ESCAPE.sub(r"\1", value).strip()
    return properties


def partition_values(table: HudiTable, partition: str) -> dict[str, str]:
    """Values of hive-style partition folders by column."""
    pairs = (part.partition("=") for part in partition.split("/"))
    return {key: unquote(value) for key, equals, value in pairs if equals}


def _layout(properties: Mapping[str, str]) -> int:
    return int(properties.get("hoodie.timeline.layout.version", "1") or "1")


def _check_supported(base: str, properties: Mapping[str, str]) -> None:
    version = properties.get("hoodie.table.version", "0") or "0"
    if not version.isdigit() or int(version) > _NEWEST_VERSION:
        raise UnsupportedTable(
            f"{base} has table version {version}; up to {_NEWEST_VERSION} is known."
        )
    layout = properties.get("hoodie.timeline.layout.version", "1") or "1"
    if layout not in ("1", "2"):
        raise UnsupportedTable(f"{base} has timeline layout {layout}; 1 and 2 are known.")
