"""An embedded stack with its proxy for as long as a bench runs."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from cli.stack.plan import StackSpec
from cli.stack.stack import Stack, free_ports
from conf.names import ClusterName
from conf.topology import Endpoint

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
EAST, WEST = ClusterName("east"), ClusterName("west")


@contextmanager
def embedded(
    *clusters: ClusterName, guard: Path | None = None, spark: Mapping[str, str] = NO_SETTINGS
) -> Iterator[tuple[Stack, Endpoint]]:
    """The stack, and where its proxy listens; how busy the machine is before is printed."""
    listen = free_ports(1)[0]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        Stack(StackSpec(clusters, listen, guard=guard, spark=spark), Path(folder)) as stack,
    ):
        yield stack, listen
