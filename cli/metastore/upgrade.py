"""`causeway metastore upgrade`: gives every table and partition its primary cluster (DC-S4)."""

import argparse

from cli.metastore.migration import add_migration_arguments, migration
from metastore.placement.upgrade import Counts


def configure(parser: argparse.ArgumentParser) -> None:
    add_migration_arguments(parser)
    parser.add_argument(
        "--every-partition",
        action="store_true",
        help="also name the cluster in each partition, for tools that read only partitions",
    )


def run(args: argparse.Namespace) -> int:
    with migration(args) as work:
        counts = work.upgrade()
    report(counts, "got a primary cluster", args.dry_run)
    return 0


def report(counts: Counts, change: str, dry_run: bool) -> None:
    """Prints two lines of counts. `change` says what happened to the objects."""
    would = "would have " if dry_run else ""
    print(
        f"{counts.tables:,} tables, {counts.partitions:,} partitions, {counts.views:,} views"
        f" (views have no cluster)\n{counts.changed_tables:,} tables and"
        f" {counts.changed_partitions:,} partitions {would}{change}"
    )
