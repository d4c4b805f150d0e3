"""`causeway metastore verify`: counts cluster facts and lists those that are wrong."""

import argparse
import json
from dataclasses import asdict

from cli.metastore.migration import migration
from cli.target import add_target_arguments
from metastore.errors import NotUpgraded

SHOWN = 20  # problems and folders that are printed; --json has all


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(dry_run=True, every_partition=False)


def run(args: argparse.Namespace) -> int:
    with migration(args) as work:
        found = work.verify()
    if args.json:
        print(json.dumps(asdict(found)))
        return 0 if found.upgraded else 1
    print(
        f"{found.tables:,} tables, {found.lacking_tables:,} without a primary cluster\n"
        f"{found.partitions:,} partitions, {found.lacking_partitions:,} without\n"
        f"{found.copies:,} copies, {found.writing:,} tables being written, {found.views:,} views"
    )
    for problem in found.problems[:SHOWN]:
        print(problem)
    if found.elsewhere:
        print(
            f"{len(found.elsewhere):,} folders in the storage of a cluster that is not the primary:"
        )
    for folder in found.elsewhere[:SHOWN]:
        print(folder)
    if not found.upgraded:
        lacking = found.lacking_tables + found.lacking_partitions
        raise NotUpgraded(f"{lacking:,} objects lack a primary, {len(found.problems):,} are wrong.")
    return 0
