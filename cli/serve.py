"""`causeway serve`: the proxy alone, against existing clusters."""

import argparse
import asyncio
import logging
import signal
import sys
from contextlib import closing, suppress

import uvloop

from cli.copier import Copier
from cli.errors import CannotListen, NoClusters
from cli.target import add_target_arguments, load_settings
from conf.settings import Settings
from metastore.net.follow import follow
from metastore.net.loader import Loader
from metastore.snapshot import Snapshot
from proxy.net.doors import Listening
from proxy.net.limits import DEFAULT
from proxy.net.server import serve


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)


def run(args: argparse.Namespace) -> int:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = load_settings(args)
    if not settings.topology.in_use and not settings.upstream:
        raise NoClusters("the settings name no cluster to run statements in.")
    try:
        uvloop.run(_serve(settings, Copier(args.target)))
    except BaseExceptionGroup as group:
        if not any(isinstance(error, OSError) for error in group.exceptions):
            raise
        raise CannotListen(f"{settings.listen}: {group.exceptions[0]}.") from group
    return 0


async def _serve(settings: Settings, copier: Copier) -> None:
    """Until TERM or Ctrl-C."""
    snapshot = Snapshot(settings.snapshot_ttl, settings.snapshot_limit)
    with closing(Loader(settings, snapshot)) as loader:
        limits = DEFAULT.of(settings.operating)
        serving = asyncio.ensure_future(
            serve(settings, snapshot, loader, _announce, limits, copier=copier)
        )
        following = asyncio.ensure_future(follow(settings, snapshot))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, serving.cancel)
        try:
            with suppress(asyncio.CancelledError):
                await serving
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


def _announce(listening: Listening) -> None:
    for endpoint in (listening.binary, listening.http):
        if endpoint is not None:
            print(f"listening {endpoint}", flush=True)
