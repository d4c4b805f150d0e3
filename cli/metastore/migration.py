"""Options and progress of `causeway metastore upgrade`, `verify` and `downgrade`."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import monotonic

from cli.target import add_target_arguments, load_settings
from cli.terminal import draw
from metastore.client.changes.notifying_client import NotifyingClient
from metastore.client.changes.view_sync import ViewSync
from metastore.placement.upgrade import Migration

WIDTH = 30
PAUSE = 0.2  # seconds between two updates of the bar
LINE_PAUSE = 10.0  # seconds between two lines without a terminal
CALL_TIMEOUT = 300.0  # seconds a call: changing a batch of partitions may take long


class CountBar:
    """Shows progress as a bar on a terminal, else as a line every few seconds. Call it with the
    name of the step, the number done and the total."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        now = monotonic()
        if now - self._shown < (PAUSE if self._terminal else LINE_PAUSE):
            return
        self._shown = now
        text = f"{what}: {done:,} of {total:,}"
        if not self._terminal:
            print(text, file=sys.stderr, flush=True)
            return
        filled = WIDTH * done // total if total else 0
        bar = "#" * filled + "-" * (WIDTH - filled)
        draw(sys.stderr, "\r\x1b[K", f"[{bar}] {text}")

    def close(self) -> None:
        """Removes the bar."""
        if self._terminal:
            draw(sys.stderr, "\r\x1b[K")


def add_migration_arguments(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="only count, change nothing")
    parser.set_defaults(every_partition=False)


@contextmanager
def migration(args: argparse.Namespace) -> Iterator[Migration]:
    """A migration of the metastore that the arguments name, with progress on the terminal.

    The views are notified of each change.
    """
    settings = load_settings(args)
    bar = CountBar()
    timeout = max(settings.metastore_timeout, CALL_TIMEOUT)
    with ViewSync.of(settings) as notify, closing(bar):
        yield Migration(
            lambda: NotifyingClient(
                settings.metastores, timeout, notify, login=settings.metastore_login
            ),
            settings.topology,
            bar,
            dry_run=args.dry_run,
            every_partition=args.every_partition,
        )
