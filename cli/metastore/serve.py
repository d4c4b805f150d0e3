"""`causeway metastore serve`: runs a Thrift endpoint for each cluster's view of the metastore."""

import argparse
import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

import uvloop

from cli.server.garbage import collect_when_quiet, shorten_pauses
from cli.server.malloc import limit_malloc_arenas
from cli.target import add_target_arguments, load_settings
from conf.errors import BadSetting
from conf.logs.logs import configure_logs
from conf.names import ClusterName
from conf.settings.security.metastore_login import SASL
from conf.settings.security.view_access import METHOD
from conf.settings.security.view_tls import USE_TLS
from conf.settings.settings import CLUSTERS, Settings
from conf.topology import Endpoint
from metastore.client.login import check as check_login
from metastore.view.server.view_server import DEFAULT, ViewServer

_ANY = Endpoint("127.0.0.1", 0)


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument(
        "--ports",
        default="",
        metavar="NAME=PORT,..",
        help="ports instead of those in the settings; `default=PORT` adds an endpoint for the"
        " default cluster; 0 is any free port",
    )
    parser.add_argument(
        "--cluster",
        action="append",
        default=[],
        metavar="NAME",
        help="serve the view of this cluster alone; can be repeated",
    )
    parser.add_argument(
        "--host",
        metavar="HOST",
        help="listen at this address, with the ports of the settings (for containers, where clients"
        " use another name)",
    )
    parser.add_argument(
        "--instance",
        type=int,
        default=1,
        metavar="N",
        help="number of the address in each MetastoreView that this process serves (%(default)s:"
        " the first)",
    )
    parser.add_argument(
        "--leftovers",
        type=Path,
        metavar="FILE",
        help="record here the folders that drops leave behind (docs/guide/metastore-view.md)",
    )
    parser.add_argument(
        "--cache",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="how long get_table is answered from memory; only if all clients use the views"
        " (%(default)s: never)",
    )


def run(args: argparse.Namespace) -> int:
    limit_malloc_arenas()
    configure_logs()
    settings = load_settings(args)
    configure_logs(settings.operating.log_format, settings.operating.log_level)
    if settings.metastore_login.sasl and settings.view_access.kerberos is None:
        raise BadSetting(
            f"{SASL.name}: the views call such a metastore in the names of their clients, so"
            f" clients must authenticate: {METHOD.name} = KERBEROS."
        )
    if settings.view_tls.use_tls and settings.view_tls.tls is None:
        raise BadSetting(f"{USE_TLS.name}: TLS needs view.keystore.path.")
    check_login(settings.metastore_login)
    server = ViewServer(settings, args.leftovers, args.cache)
    where = endpoints(settings, args.ports, args.cluster, args.host, args.instance)
    named = endpoints(settings, "", args.cluster, None, args.instance)
    own = [each for name, each in named.items() if where[name].port == each.port]
    uvloop.run(_serve(server, where, own))
    return 0


def endpoints(
    settings: Settings,
    ports: str = "",
    only: Sequence[str] = (),
    host: str | None = None,
    instance: int = 1,
) -> dict[str, Endpoint]:
    """The address of each endpoint, by name. `instance` chooses an address of each cluster's views;
    the first is 1.

    Raises BadSetting, ValueError.
    """
    names = [str(name) for name in settings.topology.clusters]
    for name in only:
        if name not in names:
            raise BadSetting(f"--cluster {name}: {CLUSTERS.name} has {', '.join(names) or 'none'}")
    listen = {
        name: _address(settings, ClusterName(name), instance)
        for name in names
        if not only or name in only
    }
    for pair in filter(None, ports.split(",")):
        name, equals, port = pair.partition("=")
        if not equals or not port.isdigit() or (name not in listen and name != DEFAULT):
            raise ValueError(f"--ports: {pair!r} is not NAME=PORT of a cluster or {DEFAULT!r}")
        listen[name] = Endpoint(listen.get(name, _ANY).host, int(port))
    listen = listen or {DEFAULT: _ANY}
    return {name: Endpoint(host or each.host, each.port) for name, each in listen.items()}


def _address(settings: Settings, cluster: ClusterName, instance: int) -> Endpoint:
    addresses = settings.views.get(cluster, (_ANY,))
    if not 1 <= instance <= len(addresses):
        raise ValueError(
            f"--instance: {instance} is not one of the {len(addresses)} addresses of the metastore"
            f" view of cluster {cluster}"
        )
    return addresses[instance - 1]


async def _serve(server: ViewServer, listen: dict[str, Endpoint], own: Sequence[Endpoint]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    shorten_pauses()
    collecting = asyncio.ensure_future(collect_when_quiet())
    try:
        await server.run(listen, _announce, stop, own)
    finally:
        collecting.cancel()


def _announce(name: str, endpoint: Endpoint) -> None:
    print(f"view {name} {endpoint}", flush=True)
