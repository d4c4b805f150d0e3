"""`causeway up`: the embedded stack in the foreground."""

import argparse
import signal
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from cli.stack.plan import StackSpec
from cli.stack.stack import Stack
from conf.names import ClusterName


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--clusters",
        default="east,west",
        metavar="A,B",
        help="names of the clusters; the first is hive.default.cluster.name (%(default)s)",
    )
    parser.add_argument("--port", type=int, default=10000, help="the proxy's (%(default)s)")
    parser.add_argument(
        "--dir", type=Path, default=Path(".causeway"), help="where everything is kept (%(default)s)"
    )
    parser.add_argument("--no-sample", action="store_true", help="make no sample data")


def run(args: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    began = time.monotonic()
    spec = StackSpec(
        clusters=tuple(ClusterName(name) for name in args.clusters.split(",")),
        proxy=None,
        views=False,
    )
    print(f"Starting; logs are in {args.dir}/log")
    with Stack(spec, args.dir, _report) as stack:
        print(f"Up after {time.monotonic() - began:.0f} s. {stack.layout.endpoints}")
        while True:
            stack.check()
            time.sleep(0.5)


def _report(name: str, seconds: float) -> None:
    print(f"  {name:<12} ready after {seconds:4.1f} s", flush=True)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
