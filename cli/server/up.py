"""`causeway up`: runs the embedded stack in the foreground."""

import argparse
import importlib.util
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NoReturn
from urllib.parse import urlencode

from cli.stack import sample
from cli.stack.errors import BadClusters
from cli.stack.plan import SERVICES, StackSpec
from cli.stack.stack import Stack, free_or_any, free_ports
from conf.names import ClusterName
from conf.settings.clusters import is_cluster_name
from conf.topology import Endpoint
from pipeline.errors import JarMissing
from pipeline.spark.jar import guard_jar

_HOST = "127.0.0.1"
_CONSOLE = Endpoint(_HOST, 10002)  # the preferred address
_CHECK_INTERVAL = 0.5  # seconds


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--clusters",
        default="east,west",
        metavar="A,B",
        help="names of the clusters; the first is hive.default.cluster.name (%(default)s)",
    )
    parser.add_argument(
        "--port", type=int, default=10000, help="port of the proxy; 0: any free port (%(default)s)"
    )
    parser.add_argument(
        "--dir", type=Path, default=Path(".causeway"), help="folder of all data (%(default)s)"
    )
    parser.add_argument(
        "--hudi", action="store_true", help="serve Hudi tables (downloads an 81 MB jar)"
    )
    parser.add_argument("--no-sample", action="store_true", help="create no sample data")
    parser.add_argument(
        "--no-lifecycle", action="store_true", help="start no server of feeds and processes"
    )


def run(args: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    clusters = cluster_names(args.clusters)
    proxy = Endpoint(_HOST, args.port) if args.port else free_ports(1)[0]
    print(f"Starting {', '.join(clusters)}; logs are in {args.dir}/log", flush=True)
    began = time.monotonic()
    try:
        lifecycle = not args.no_lifecycle
        spec = StackSpec(clusters, proxy, _console(), lifecycle, guard=_guard())
        if args.hudi:
            spec = with_hudi(spec, args.dir)
        with Stack(spec, args.dir, _report) as stack:
            if not args.no_sample:
                print("  making the sample data", flush=True)
                sample.make(stack, proxy)
                if lifecycle:
                    sample.schedule(stack)
                _report("sample data", time.monotonic() - began)
            print(_welcome(stack, args.no_sample), flush=True)
            supervision = stack.supervised()
            while True:
                for line in supervision.step():
                    print(f"  {line}", flush=True)
                time.sleep(_CHECK_INTERVAL)
    except KeyboardInterrupt:
        print("Stopped.", flush=True)
        return 0


def with_hudi(spec: StackSpec, folder: Path) -> StackSpec:
    """The stack with Hudi's bundle on the class path of each Thrift Server.

    Raises StorageFault if the jar cannot be downloaded.
    """
    from pipeline.hudi.spark_reader import SESSION_CONF
    from pipeline.hudi.spark_target import fetch_bundle

    settings = dict(SESSION_CONF)
    extension = settings.pop("spark.sql.extensions")
    return replace(
        spec,
        spark={**spec.spark, **settings},
        extensions=(*spec.extensions, extension),
        jars=(*spec.jars, fetch_bundle(folder / "jars")),
    )


def cluster_names(text: str) -> tuple[ClusterName, ...]:
    """The names in `a,b`. Raises BadClusters."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not is_cluster_name(name) or name in SERVICES:
            raise BadClusters(f"--clusters: {name!r} cannot be a cluster's name.")
    if len(set(names)) < len(names):
        raise BadClusters("--clusters: a name is repeated.")
    return tuple(ClusterName(name) for name in names)


def _welcome(stack: Stack, bare: bool) -> str:
    spec, layout = stack.spec, stack.layout
    proxy, clusters = spec.proxy, spec.clusters
    assert proxy is not None
    lines = [
        "",
        f"Causeway listens on {proxy} (all addresses: {layout.endpoints}). Connect with",
        f"  beeline -u jdbc:hive2://{proxy}",
        f"  python: pyhive.hive.connect({proxy.host!r}, {proxy.port})",
    ]
    if spec.console is not None:
        lines += ["See it in a browser:", f"  http://{spec.console}"]
        if not bare and len(clusters) > 1:
            query = urlencode({"sql": sample.refused_join()})
            lines += [
                "A join that no cluster can run, and the copy that makes it possible:",
                f"  http://{spec.console}/where?{query}",
            ]
    if stack.ports.lifecycle is not None:
        lines += [
            "Feeds and processes are run by",
            f"  http://{stack.ports.lifecycle}, whose token is in {layout.admin_token}",
        ]
    if not bare:
        tries = sample.worth_trying(clusters[0], clusters[-1])
        lines += ["and try", *(f"  {each}" for each in tries)]
    return "\n".join([*lines, "Ctrl-C stops everything; the data stays."])


def _console() -> Endpoint | None:
    """The console's address; None if its extra is not installed."""
    if importlib.util.find_spec("starlette") is None:
        print("Without the console: pip install 'causeway[console]'", file=sys.stderr, flush=True)
        return None
    return free_or_any(_CONSOLE)


def _guard() -> Path | None:
    """The guard's jar; None, with a warning, in a checkout that has not built it."""
    try:
        return guard_jar()
    except JarMissing as error:
        print(
            f"Warning: {error} Without it no guard checks the clusters' statements, and copies are"
            " refused.",
            file=sys.stderr,
            flush=True,
        )
        return None


def _report(name: str, seconds: float) -> None:
    print(f"  {name:<12} ready after {seconds:4.1f} s", flush=True)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
