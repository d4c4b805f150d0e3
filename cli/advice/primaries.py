"""`causeway advise --primaries`: recommends changes of primaries. It applies those that need no
files to be moved."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from advice.copies import Budgets
from advice.primaries import Move, Primaries, primaries
from advice.stock import TableStock
from cli.advice.apply import Applier, has_copy
from cli.advice.sources import Source
from conf.formats import size_text
from conf.locations import foreign_cluster
from conf.names import TableRef
from conf.settings.settings import Settings
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from router.needed_copies import quoted_name


class PrimaryAdvice:
    """The plan for the tables of a source. Without a metastore the locations of files are unknown,
    and every move counts as one of files."""

    def __init__(self, source: Source, budgets: Budgets) -> None:
        self._stock = source.stock
        self.plan: Primaries = primaries(source.stock, source.replayed.uses, budgets)
        settings = source.settings
        self._stays = {} if settings is None else files_stay(settings, self.plan.moves)

    def document(self) -> dict[str, Any]:
        """The plan as a JSON object."""
        plan = self.plan
        return {
            "statements_a_day": round(plan.total, 3),
            "share_today": round(plan.before / (plan.total or 1.0), 6),
            "share_then": round(plan.after / (plan.total or 1.0), 6),
            "primaries": [
                {
                    "table": str(move.table),
                    "from": move.source,
                    "to": move.target,
                    "bytes": round(move.size),
                    "statements_a_day": round(move.gained, 3),
                    "statements_lost_a_day": round(move.lost, 3),
                    "files_stay": self._stays.get(move.table),
                    "commands": list(self._commands(move)),
                }
                for move in plan.moves
            ],
        }

    def lines(self) -> Iterator[str]:
        """The plan as lines for a terminal."""
        plan, total = self.plan, self.plan.total or 1.0
        yield (
            f"{plan.before / total:.1%} of {plan.total:,.1f} statements a day run today,"
            f" {plan.after / total:.1%} with these primaries"
        )
        for move in plan.moves:
            yield (
                f"move {move.table} from {move.source} to {move.target}: {move.gained:,.1f}"
                f" statements a day run then and not today, {move.lost:,.1f} no longer;"
                f" {self._files(move)}"
            )
            yield from (f"    {command}" for command in self._commands(move))

    def apply(self, args: argparse.Namespace) -> int:
        """Assigns the primaries of tables whose files stay. Returns 1 if one failed, else 0."""
        applier, failed = Applier(args, self._stock), 0
        for move in self.plan.moves:
            if self._stays.get(move.table):
                failed |= applier.assign(move.table, move.source, move.target)
            else:
                print(f"{move.table}: not applied, since its files have to be moved")
        return failed

    def _files(self, move: Move) -> str:
        size = size_text(move.size)
        if self._stays.get(move.table):
            return f"its files ({size}) stay where they are"
        return f"its files ({size}) have to be moved while nothing writes it"

    def _commands(self, move: Move) -> Iterator[str]:
        if self._stays.get(move.table):
            if has_copy(self._stock, move.table, move.target):
                yield f"causeway table assign {move.table} --no-copy {move.target}"
            yield f"causeway table assign {move.table} --primary {move.target}"
            return
        table = self._stock.stock_of(move.table)
        assert table is not None  # advice names only tables of the stock
        yield f"causeway copy {move.table} --to {move.target}"
        yield from _replacing(move, table)


def _replacing(move: Move, table: TableStock) -> Iterator[str]:
    """The statements that replace a table by one in the other cluster. The old table is renamed and
    kept."""
    source, target = quoted_name(move.source), quoted_name(move.target)
    database = quoted_name(move.table.db)
    named = f"{database}.{quoted_name(move.table.name)}"
    new, old = (
        f"{database}.{quoted_name(f'{move.table.name}_in_{cluster}')}"
        for cluster in (move.target, move.source)
    )
    yield f"USE CLUSTER {target};"
    yield f"CREATE TABLE {new} LIKE {named};"
    if table.info.partition_keys:
        yield "SET hive.exec.dynamic.partition.mode = nonstrict;"
    yield f"INSERT INTO {new} SELECT * FROM {named};"
    yield f"USE CLUSTER {source};"
    yield f"ALTER TABLE {named} RENAME TO {old};"
    yield f"USE CLUSTER {target};"
    yield f"ALTER TABLE {new} RENAME TO {named};"


def files_stay(settings: Settings, moves: Iterable[Move]) -> Mapping[TableRef, bool]:
    """Maps each table to whether its files may stay where they are: no folder of the table belongs
    to a cluster other than the new primary."""
    filesystems = settings.topology.filesystems()
    with HmsClient.of(settings) as client:
        return {
            move.table: all(
                foreign_cluster(folder, filesystems, move.target) is None
                for folder in _folders(client, client.get_table(move.table))
            )
            for move in moves
        }


def _folders(client: HmsClient, table: Table) -> Iterator[str]:
    """The folders of a table and of its partitions."""
    yield from table.folders
    if table.partition_keys:
        names = client.get_partition_names(table.ref)
        yield from (each.location for each in client.get_partition_facts(table.ref, names))
