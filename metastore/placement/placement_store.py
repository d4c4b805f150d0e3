"""Changes cluster facts in the metastore: reads, changes, writes, and reads again.

The metastore has no compare-and-set. So a store locks the table in all views from reading to
writing, as every other writer does. Then it waits for the views, which may add facts of their own,
and reads again. If a process of an older version, which has no locks, has overwritten the change,
the second reading shows it, and the change is made again. So a change must be a function from
placement to placement that returns its own result unchanged.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from weakref import WeakValueDictionary

from conf.names import ClusterName, TableRef
from conf.placement import (
    PRIMARY,
    BadPlacement,
    Placement,
    bounded_names,
    read_partition_placement,
    read_placement,
    replace_placement,
)
from conf.write_ids import new_id, with_time
from metastore.client.catalog_client import CatalogClient, Holds
from metastore.client.metastore_client import batches
from metastore.client.types import Partition, Table
from metastore.errors import ChangedMeanwhile, UnreadableFacts

Change = Callable[[Placement], Placement]
WaitForPending = Callable[[TableRef], None]
LockTable = Callable[[TableRef], AbstractContextManager[Holds]]
ATTEMPTS = 5
BATCH = 500  # partitions in one call

_locks: "WeakValueDictionary[TableRef, _TableLock]" = WeakValueDictionary()
_guard = Lock()


class _TableLock:
    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = Lock()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def table_lock(ref: TableRef) -> _TableLock:
    """The lock that keeps threads of this process from changing the table's parameters at the same
    time. Use it in a `with`."""
    with _guard:
        lock = _locks.get(ref)
        if lock is None:
            lock = _locks[ref] = _TableLock()
        return lock


def no_views(ref: TableRef) -> None:
    """The `WaitForPending` without views: returns at once."""


@dataclass(frozen=True, slots=True)
class PlacementStore:
    """Cluster facts of the objects in one metastore; `default` owns objects without a primary.

    `wait_for_pending` returns when all changes of a table that views had begun have ended. Such a
    change may have read facts before this store wrote its own, and may write the old ones back
    (`metastore.client.changes.view_sync`). `exclusive` locks a table in all views; None: the
    client's method does.
    """

    client: CatalogClient
    default: ClusterName
    wait_for_pending: WaitForPending = no_views
    exclusive: LockTable | None = None

    def table(self, ref: TableRef) -> tuple[Table, Placement]:
        """The table and its placement. Raises NoSuchObject, UnreadableFacts."""
        table = self.client.get_table(ref)
        return table, self.placement(table)

    def placement(self, table: Table) -> Placement:
        """The table's placement. Raises UnreadableFacts."""
        try:
            return read_placement(table.parameters, self.default)
        except BadPlacement as error:
            raise UnreadableFacts(f"{table.ref}: {error}") from error

    def partition_placement(
        self, partition: Partition, name: str, table: Table, placed: Placement
    ) -> Placement:
        """The placement of the partition `name` of a table with the placement `placed`."""
        try:
            return read_partition_placement(partition.parameters, placed, name)
        except BadPlacement as error:
            raise UnreadableFacts(f"{table.ref}@{name}: {error}") from error

    def change_table(self, ref: TableRef, change: Change) -> Placement:
        """Applies the change until it is found in the metastore; returns the placement. Raises
        ChangedMeanwhile, NoSuchObject, UnreadableFacts."""
        for _ in range(ATTEMPTS):
            with self._locked(ref) as holds:
                for _ in range(ATTEMPTS):
                    table, placement = self.table(ref)
                    wanted = change(placement)
                    if wanted == placement:
                        return placement
                    if not holds():
                        break
                    table.parameters = replace_placement(table.parameters, wanted)
                    self.client.alter_table(ref, table)
                    self.wait_for_pending(ref)
                else:
                    break
        raise ChangedMeanwhile(f"{ref}: its facts changed {ATTEMPTS} times while they were written")

    @contextmanager
    def _locked(self, ref: TableRef) -> Iterator[Holds]:
        """Locks the table in this process and in all views."""
        lock = self.exclusive or self.client.exclusive
        with table_lock(ref), lock(ref) as holds:
            yield holds

    def change_partitions(
        self,
        ref: TableRef,
        names: Iterable[str],
        change: Callable[[str, Placement], Placement],
        progress: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Applies the change to the named partitions that exist; returns how many it changed.

        Before the change the table names the partitions as exceptions; its `facts` id is renewed
        before and after it. Raises ChangedMeanwhile if another client changed the same partitions;
        then their copies are stale.
        """
        table, _ = self.table(ref)
        chosen = list(names)
        before = self.announce(ref, chosen)
        changed: list[str] = []
        for batch in batches(chosen, BATCH):
            changed += self._change_batch(table, before, batch, change)
            progress(len(batch))
        if changed:
            self._end_doubtful_copies(table, before, changed)
        return len(changed)

    def _end_doubtful_copies(self, table: Table, before: Placement, changed: list[str]) -> None:
        """Gives partitions a new id if another write may have changed them since they were read.

        Such a write has left its mark, or has changed the table's ids. Writing the partitions back
        may have removed the id that it gave them; with a new id no copy of them counts as fresh.
        """
        self.wait_for_pending(table.ref)
        _, now = self.table(table.ref)
        crossed = (now.write, now.facts) != (before.write, before.facts)
        doubtful = [
            name for name in changed if crossed or any(mark.covers(name) for mark in now.open)
        ]
        if doubtful:
            self._rewrite(table, now, doubtful, new_id())
        self.announce(table.ref, changed)
        if doubtful and (crossed or not set(now.open) <= set(before.open)):
            raise ChangedMeanwhile(
                f"{table.ref} was changed: copies of {len(doubtful)} partitions are stale."
            )

    def announce(self, ref: TableRef, names: Collection[str]) -> Placement:
        """Names the partitions as exceptions in the table, and renews the table's `facts` id."""
        facts_id = new_id()
        past = self._past_exceptions(ref, names)
        return self.change_table(
            ref, lambda old: old.without_exceptions(past).with_partition_facts(facts_id, names)
        )

    def _past_exceptions(self, ref: TableRef, names: Collection[str]) -> frozenset[str]:
        """Exceptions of the table that have no facts of their own any more. They are searched only
        if the list with `names` would be too long.

        A client that gives one of them facts at this moment names it again afterwards.
        """
        table, placed = self.table(ref)
        known = placed.exceptions
        if not known or bounded_names(known.union(names)) is not None:
            return frozenset()
        left = set()
        for partition in self.client.get_partitions(ref, sorted(known)):
            name = partition.name(table)
            own = self.partition_placement(partition, name, table, placed)
            if own.copies or own.primary != placed.primary:
                left.add(name)
        return known.difference(left, names)

    def _change_batch(
        self,
        table: Table,
        placed: Placement,
        names: Collection[str],
        change: Callable[[str, Placement], Placement],
    ) -> list[str]:
        """Changes the partitions and returns the names of those that changed."""
        for _ in range(ATTEMPTS):
            with self._locked(table.ref) as holds:
                altered = self._altered(table, placed, names, change)
                if not altered or holds():
                    if altered:
                        self.client.alter_partitions(table.ref, altered.values())
                    return list(altered)
        raise ChangedMeanwhile(f"{table.ref}: the views ended while its partitions were changed")

    def _altered(
        self,
        table: Table,
        placed: Placement,
        names: Collection[str],
        change: Callable[[str, Placement], Placement],
    ) -> dict[str, Partition]:
        """The partitions that differ after the change, by name, with their new facts."""
        altered: dict[str, Partition] = {}
        for partition in self.client.get_partitions(table.ref, names):
            name = partition.name(table)
            placement = self.partition_placement(partition, name, table, placed)
            wanted = change(name, placement)
            if wanted != placement:
                partition.parameters = replace_placement(partition.parameters, wanted)
                altered[name] = partition
        return altered

    # writes

    def open_write(
        self, ref: TableRef, write_id: str, names: Collection[str] | None, since: float, by: str
    ) -> Placement:
        """Marks a write of the table, or of these partitions, as running (D10)."""

        def change(old: Placement) -> Placement:
            if any(mark.id == write_id for mark in old.open):
                return old
            return old.opened(write_id, names, since=since, by=by)

        return self.change_table(ref, change)

    def close_write(self, ref: TableRef, write_id: str, names: Collection[str] | None) -> Placement:
        """Ends a write: gives its partitions a new write id, then removes the mark.

        If no partition has facts of its own, the table gets a new id instead. So a copy of a
        partition that is being made now will be stale. The new id has the time at which the write
        began.
        """
        table, placed = self.table(ref)
        began = next((mark.since for mark in placed.open if mark.id == write_id), 0)
        next_id = with_time(new_id(), began)
        rewritten = names is not None and not placed.uniform
        if rewritten and names is not None:
            self._rewrite(table, placed, names, next_id)
            self.wait_for_pending(ref)
            self._rewrite(table, placed, names, next_id)  # views may have written them back
        ended = False

        def change(old: Placement) -> Placement:
            nonlocal ended
            if ended and all(mark.id != write_id for mark in old.open):
                return old
            ended = True
            closed = old.closed(write_id, next_id)
            if rewritten:
                return closed.with_partition_facts(next_id)
            return closed.rewritten(next_id)

        return self.change_table(ref, change)

    def _rewrite(
        self, table: Table, placed: Placement, names: Collection[str], next_id: str
    ) -> None:
        """Gives the partitions a new write id, which makes their copies stale."""
        for batch in batches(names, BATCH):
            self._change_batch(table, placed, batch, lambda _, old: old.rewritten(next_id))

    def claim(self, ref: TableRef, cluster: ClusterName) -> Placement:
        """Makes `cluster` the primary of a new table, unless it names one (DC-R8)."""
        table, placement = self.table(ref)
        if PRIMARY in table.parameters:
            return placement
        first = new_id()
        return replace(self, default=cluster).change_table(ref, lambda old: old.rewritten(first))
