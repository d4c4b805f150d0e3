"""Applies advice by running the commands that it names, and undoes it."""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from advice.assessment import partition_filter, partition_names
from advice.copies import Advice
from advice.feed_document import feed_document
from advice.stock import Stock
from cli.advice.record import AppliedAction, read_record, write_record
from cli.main import build_parser, command_module
from conf.errors import CausewayError
from conf.names import ClusterName, TableRef


class Applier:
    """Makes and drops copies, records each action, and continues after a failure."""

    def __init__(self, args: argparse.Namespace, stock: Stock) -> None:
        self._args = args
        self._stock = stock
        self._runs = read_record(args.record)
        self._done: list[AppliedAction] = []
        self._runs.append(self._done)

    def apply(self, plan: Sequence[Advice]) -> int:
        """Makes copies, then drops others. Returns 1 if an action failed, else 0."""
        failed = 0
        for each in sorted(plan, key=lambda each: each.action == "drop"):
            failed |= self._apply(each)
        return failed

    def assign(self, table: TableRef, source: ClusterName, target: ClusterName) -> int:
        """Drops the table's copy in `target` and makes `target` the primary. Returns 1 if that
        failed, else 0."""
        steps = [AppliedAction("assign", str(table), target, source=source)]
        if has_copy(self._stock, table, target):
            steps.insert(0, AppliedAction("drop", str(table), target))
        for done in steps:
            if _command(self._args, *_arguments_of(done)):
                return 1
            self._note(done)
        return 0

    def _apply(self, each: Advice) -> int:
        table = self._stock.stock_of(each.table)
        assert table is not None  # advice names only tables of the stock
        chosen, names = partition_filter(each, table), partition_names(each, table)
        done = AppliedAction(each.action, str(each.table), each.cluster, chosen, names)
        if each.action == "drop":
            failed = _command(self._args, *_drop(done))
        else:  # refreshes a kept copy that is stale; `causeway copy` skips fresh ones
            failed = _command(self._args, *_make(done))
        if failed:
            return 1
        if each.action != "keep":
            self._note(done)
        return self._schedule(each) if self._args.schedule and each.action != "drop" else 0

    def _schedule(self, each: Advice) -> int:
        table = self._stock.stock_of(each.table)
        assert table is not None  # as above
        feed = feed_document(each, table, self._args.user)
        if feed is None:
            print(f"{each.table}: no partition a day, so no feed; run --apply from cron instead")
            return 0
        if any(done.feed == feed.name for run in self._runs for done in run):
            return 0
        store = ("--store", self._args.store, "--user", self._args.user)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{feed.name}.xml"
            path.write_text(feed.text, encoding="utf-8")
            if run_command("entity", "submit", str(path), *store):
                return 1
        self._note(AppliedAction("feed", str(each.table), each.cluster, feed=feed.name))
        return run_command("entity", "schedule", "feed", feed.name, *store)

    def _note(self, done: AppliedAction) -> None:
        """Adds the action to the record at once, since the next one may fail."""
        self._done.append(done)
        write_record(self._args.record, self._runs)


def undo(args: argparse.Namespace) -> int:
    """Undoes the actions of the last `--apply`, the last one first. Actions that cannot be undone
    stay in the record. Returns 1 if there are any, else 0."""
    runs = read_record(args.record)
    while runs and not runs[-1]:
        runs.pop()
    if not runs:
        print("nothing to undo")
        return 0
    left = [each for each in reversed(runs.pop()) if _undo(args, each)]
    write_record(args.record, [*runs, left[::-1]] if left else runs)
    return 1 if left else 0


def _undo(args: argparse.Namespace, done: AppliedAction) -> int:
    match done.action:
        case "feed":
            store = ("--store", args.store, "--user", args.user)
            return run_command("entity", "delete", "feed", done.feed, *store)
        case "make":
            return _command(args, *_drop(done))
        case "assign":
            return _command(args, *_assign(done.table, done.source))
        case _:
            return _command(args, *_make(done))


def _make(done: AppliedAction) -> Sequence[str]:
    chosen = ("--partition", done.filter) if done.filter else ()
    return "copy", done.table, "--to", done.cluster, *chosen


def _drop(done: AppliedAction) -> Sequence[str]:
    named = [word for name in done.partitions for word in ("--partition", name)]
    return "table", "assign", done.table, "--no-copy", done.cluster, *named


def _assign(table: str, primary: str) -> Sequence[str]:
    return "table", "assign", table, "--primary", primary


def _arguments_of(done: AppliedAction) -> Sequence[str]:
    return _drop(done) if done.action == "drop" else _assign(done.table, done.cluster)


def has_copy(stock: Stock, table: TableRef, cluster: ClusterName) -> bool:
    """Whether the cluster has a copy of the table or of some of its partitions."""
    found = stock.stock_of(table)
    assert found is not None  # as in Applier
    return any(cluster in each.fresh | each.stale for each in found.all_replicas)


def _command(args: argparse.Namespace, *words: str) -> int:
    options = shlex.split(args.copy_options) if words[0] == "copy" else ()
    return run_command(*words, "--conf", str(args.target), *options)


def run_command(*words: str) -> int:
    """Runs a subcommand of `causeway` and returns its exit status. Prints its error."""
    args = build_parser([words[0]]).parse_args(words)
    try:
        return int(command_module(words[0]).run(args))
    except CausewayError as error:
        print(f"causeway {words[0]}: {error}", file=sys.stderr)
        return 1
