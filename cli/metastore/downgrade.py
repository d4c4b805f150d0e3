"""`causeway metastore downgrade`: removes all cluster facts."""

import argparse

from cli.metastore.migration import add_migration_arguments, migration
from cli.metastore.upgrade import report


def configure(parser: argparse.ArgumentParser) -> None:
    add_migration_arguments(parser)


def run(args: argparse.Namespace) -> int:
    with migration(args) as work:
        counts = work.downgrade()
    report(counts, "lost their cluster facts", args.dry_run)
    return 0
