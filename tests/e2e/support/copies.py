"""Copies in c2 of tables whose primary is c1: their freshness, their marks, their publication."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep

from cli.stack.stack import Stack
from conf.names import TableRef
from conf.placement import Copy, read_partition_placement, read_placement
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.placement.placement_store import PlacementStore
from tests.e2e.conftest import C1, C2


@dataclass(frozen=True, slots=True)
class Copies:
    stack: Stack

    def fresh(self, table: str, partition: str | None = None) -> bool:
        """Whether the copy in C2 is fresh, as the metastore has the facts now."""
        ref = TableRef.parse(table)
        with HmsClient((self.stack.ports.metastore,)) as client:
            placed = read_placement(client.get_table(ref).parameters, C1)
            if partition is not None:
                own = next(client.get_partitions(ref, [partition])).parameters
                placed = read_partition_placement(own, placed, partition)
        return C2 in placed.replicas().fresh

    def marks(self, table: str) -> list[str]:
        """The writers of the table, by its marks."""
        with HmsClient((self.stack.ports.metastore,)) as client:
            parameters = client.get_table(TableRef.parse(table)).parameters
        return [mark.by for mark in read_placement(parameters, C1).open]

    def await_unmarked(self, table: str) -> bool:
        """Waits for the end of the table's marks. Returns whether they ended."""
        end = monotonic() + 60
        while self.marks(table) and monotonic() < end:
            sleep(0.1)
        return not self.marks(table)

    def publish(self, table: str, source: Path) -> None:
        """Copies the files as they are, and publishes the copy even if a write runs."""
        folder = mkdtemp(dir=self.stack.layout.warehouse(C2))
        with suppress(FileNotFoundError):  # a writer may be replacing the folder
            shutil.copytree(source, f"{folder}/t")
        copy_of = f"file://{folder}/t"
        with (
            HmsClient((self.stack.ports.metastore,)) as client,
            ViewSync(self.stack.ports.views.values(), 60.0) as sync,
        ):
            facts = PlacementStore(client, C1, sync)
            facts.change_table(
                TableRef.parse(table), lambda old: old.with_copy(Copy(C2, copy_of, old.version))
            )
