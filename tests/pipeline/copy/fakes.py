"""A metastore and file systems in memory, which a test can kill at any effect."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy

from conf.names import TableRef
from conf.progress import Progress, no_progress
from metastore.client.catalog_client import Holds, always
from metastore.client.partition_decoder import PartitionFacts
from metastore.client.types import Database, Partition, Table
from metastore.errors import AlreadyExists, MetastoreRefused, NoSuchObject
from pipeline.copy.files import (
    CopyOptions,
    FileCopy,
    FileEntry,
    FileListing,
    FileResult,
    FileStatus,
)
from pipeline.errors import CopyError
from pipeline.falcon.paths import is_object_store
from thriftcodec.values import I32


class Killed(BaseException):
    """The process is gone: no handler of ours may run."""


class Effects:
    """Counts effects; kills at the one that was asked for; lets a reader look after each."""

    def __init__(self) -> None:
        self.count = 0
        self.kill_at: int | None = None
        self.watch: Callable[[], None] = lambda: None
        self.before: Callable[[str], None] = lambda name: None

    def happen(self, name: str) -> None:
        self.before(name)
        self.watch()
        self.count += 1
        if self.kill_at is not None and self.count >= self.kill_at:
            raise Killed(name)


class FakeMetastore:
    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self.tables: dict[TableRef, Table] = {}
        self.parts: dict[TableRef, dict[str, Partition]] = {}
        self.calls: list[str] = []
        self.refusals = 0

    def add_table(self, table: Table, created: int = 1) -> None:
        table.struct.set(4, I32, created)
        self.tables[table.ref] = deepcopy(table)
        self.parts[table.ref] = {}

    def get_database(self, name: str) -> Database:
        return Database.make(name, f"file:///{name}.db")

    def drop_table(self, ref: TableRef, *, delete_data: bool = False) -> None:
        self.effects.happen("drop_table")
        del self.tables[ref], self.parts[ref]

    def create_table(self, table: Table) -> None:
        self.effects.happen("create_table")
        if table.ref in self.tables:
            raise AlreadyExists(str(table.ref), "AlreadyExistsException")
        self.add_table(table, created=2)
        self.effects.happen("created_table")

    def get_all_databases(self) -> list[str]:
        return sorted({ref.db for ref in self.tables})

    def get_all_tables(self, database: str) -> list[str]:
        return sorted(ref.name for ref in self.tables if ref.db == database)

    def get_tables(self, database: str, names: Iterable[str]) -> Iterator[Table]:
        for name in names:
            yield deepcopy(self.tables[TableRef(database, name)])

    def get_table(self, ref: TableRef) -> Table:
        self.calls.append("get_table")
        if ref not in self.tables:
            raise NoSuchObject(str(ref), "NoSuchObjectException")
        return deepcopy(self.tables[ref])

    def get_partition_names(self, ref: TableRef) -> list[str]:
        return list(self.parts[ref])

    def get_partitions(self, ref: TableRef, names: Iterable[str]) -> Iterator[Partition]:
        self.calls.append("get_partitions")
        found = [deepcopy(self.parts[ref][n]) for n in names if n in self.parts[ref]]
        return iter(found)

    def get_all_partitions(self, ref: TableRef) -> Iterator[Partition]:
        return self.get_partitions(ref, self.get_partition_names(ref))

    def get_partition_facts(self, ref: TableRef, names: Iterable[str]) -> Iterator[PartitionFacts]:
        for each in self.get_partitions(ref, names):
            yield PartitionFacts(each.values, each.location, each.parameters)

    def add_partitions(
        self, ref: TableRef, partitions: Iterable[Partition], *, if_not_exists: bool = False
    ) -> None:
        self.effects.happen("add_partitions")
        self.refusals, refuse = max(self.refusals - 1, 0), self.refusals > 0
        if refuse:
            raise MetastoreRefused("not now")
        named = {each.name(self.tables[ref]): deepcopy(each) for each in partitions}
        if not if_not_exists and (there := named.keys() & self.parts[ref].keys()):
            raise AlreadyExists(min(there), "AlreadyExistsException")
        self.parts[ref] = named | self.parts[ref]
        self.effects.happen("added_partitions")

    def exclusive(self, ref: TableRef) -> AbstractContextManager[Holds]:
        return nullcontext(always)

    def alter_table(self, ref: TableRef, table: Table) -> None:
        self.effects.happen("alter_table")
        self.tables[ref] = deepcopy(table)
        self.effects.happen("altered_table")

    def alter_partitions(self, ref: TableRef, partitions: Iterable[Partition]) -> None:
        self.effects.happen("alter_partitions")
        for each in partitions:
            self.parts[ref][each.name(self.tables[ref])] = deepcopy(each)
        self.effects.happen("altered_partitions")

    def drop_partitions(
        self, ref: TableRef, names: Iterable[str], *, delete_data: bool = False
    ) -> None:
        self.effects.happen("drop_partitions")
        for name in names:
            self.parts[ref].pop(name, None)
        self.effects.happen("dropped_partitions")

    def drop_partition(self, ref: TableRef, name: str, *, delete_data: bool = False) -> None:
        self.effects.happen("drop_partition")
        if name not in self.parts[ref]:
            raise NoSuchObject(name, "NoSuchObjectException")
        del self.parts[ref][name]
        self.effects.happen("dropped_partition")


class FakeFiles:
    """Directories are implied by files and by `made`; times tick with every write."""

    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self.content: dict[str, tuple[bytes, int]] = {}
        self.made: set[str] = set()
        self.sent: list[str] = []
        self.kept: list[str] = []
        self.tick = 0
        self.broken: set[str] = set()
        self.cannot_move = False
        self.during: Callable[[str], None] = lambda path: None

    def write(self, path: str, body: bytes) -> None:
        self.tick += 1
        self.content[path] = (body, self.tick)
        self.made.add(path.rpartition("/")[0])

    def read(self, location: str) -> dict[str, bytes]:
        prefix = location + "/"
        return {p[len(prefix) :]: b for p, (b, _) in self.content.items() if p.startswith(prefix)}

    def exists(self, location: str) -> bool:
        inside = location + "/"
        return any(p == location or p.startswith(inside) for p in (*self.made, *self.content))

    def listings(self, locations: Sequence[str]) -> list[FileListing | None]:
        found = [self._listing(each) for each in locations]
        self.effects.happen("listed")  # what is known now may be wrong from here on
        return found

    def _listing(self, location: str) -> FileListing | None:
        if not self.exists(location):
            return None
        prefix = location + "/"
        entries = [
            FileEntry(path[len(prefix) :], len(body), time)
            for path, (body, time) in self.content.items()
            if path.startswith(prefix)
        ]
        return FileListing(tuple(sorted(entries)))

    def copy_files(
        self, orders: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        return [self._deliver(order) for order in orders]

    def compare(
        self, orders: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        def result(order: FileCopy) -> FileResult:
            source = self.content[f"{order.source}/{order.entry.path}"][0]
            target = self.content[f"{order.target}/{order.entry.path}"][0]
            return FileResult(order, FileStatus.KEPT if source == target else FileStatus.DIFFERS, 0)

        return [result(order) for order in orders]

    def _deliver(self, order: FileCopy) -> FileResult:
        source = f"{order.source}/{order.entry.path}"
        target = f"{order.target}/{order.entry.path}"
        self.during(source)
        if source in self.broken:
            return FileResult(order, FileStatus.FAILED, 0, message="broken")
        found = self.content.get(source)
        if found is None or (len(found[0]), found[1]) != (order.entry.length, order.entry.modified):
            return FileResult(order, FileStatus.CHANGED, 0)
        there = None if is_object_store(target) else self.content.get(target)
        if there is not None and (len(there[0]), there[1]) == (len(found[0]), found[1]):
            self.kept.append(source)
            return FileResult(order, FileStatus.KEPT, 0)
        if not self._write_target(target, found):
            return FileResult(order, FileStatus.FAILED, 0, message="the directory was moved")
        self.sent.append(source)
        self.effects.happen("file")
        return FileResult(order, FileStatus.SENT, len(found[0]), "sum")

    def _write_target(self, target: str, found: tuple[bytes, int]) -> bool:
        """An object appears whole, with a time of its own. False if another run has moved the
        directory meanwhile."""
        if is_object_store(target):
            self.effects.happen("half a file")
            self.write(target, found[0])
            return True
        part = f"{target.rpartition('/')[0]}/.part"
        self.content[part] = (found[0][: len(found[0]) // 2], 0)
        self.effects.happen("half a file")
        if self.content.pop(part, None) is None:
            return False
        self.content[target] = found
        return True

    def make_folders(self, likes: Mapping[str, str], keep_owner: bool) -> None:
        self.made |= set(likes)
        self.effects.happen("made")

    def move(self, moves: Mapping[str, str]) -> frozenset[str]:
        moved = set()
        for source, target in moves.items():
            if is_object_store(source):
                continue
            if self.exists(source) and not self.exists(target):
                self.made = {target + p[len(source) :] if _in(p, source) else p for p in self.made}
                self.content = {
                    target + p[len(source) :] if _in(p, source) else p: v
                    for p, v in self.content.items()
                }
                moved.add(source)
                self.effects.happen("moved")
        return frozenset(moved)

    def move_files(self, moves: Mapping[str, str]) -> frozenset[str]:
        moved = set()
        for source, target in moves.items():
            if self.cannot_move:
                raise CopyError("this store copies nothing")
            if source not in self.content:
                continue
            if is_object_store(source):
                self.write(target, self.content[source][0])
                self.effects.happen("file copied")
                del self.content[source]
            else:
                self.content[target] = self.content.pop(source)
            moved.add(source)
            self.effects.happen("file moved")
        return frozenset(moved)

    def delete(self, locations: Sequence[str]) -> None:
        for each in locations:
            self.made = {p for p in self.made if not _in(p, each)}
            self.content = {p: v for p, v in self.content.items() if not _in(p, each)}
            self.effects.happen("deleted")

    def children(self, location: str) -> tuple[str, ...]:
        prefix = location + "/"
        paths = (*self.made, *(p.rpartition("/")[0] for p in self.content))
        return tuple(
            sorted({p[len(prefix) :].split("/")[0] for p in paths if p.startswith(prefix)})
        )

    def read_file(self, location: str) -> bytes | None:
        found = self.content.get(location)
        return None if found is None else found[0]

    def write_file(self, location: str, data: bytes) -> None:
        self.effects.happen("half a file")
        self.write(location, data)
        self.effects.happen("file")

    def read_marker(self, location: str) -> str | None:
        found = self.content.get(location)
        return None if found is None else found[0].decode()

    def folders(self, locations: Sequence[str]) -> list[tuple[str, ...]]:
        return [self.children(each) for each in locations]

    def read_markers(self, locations: Sequence[str]) -> list[str | None]:
        return [self.read_marker(each) for each in locations]

    def write_marker(self, location: str, text: str) -> None:
        self.effects.happen("marker")
        self.write(location, text.encode())
        self.effects.happen("noted")


def _in(path: str, location: str) -> bool:
    return path == location or path.startswith(location + "/")
