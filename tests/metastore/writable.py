"""The metastore in memory with the calls that clients of a view make, and a view in front."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.stack.stack import free_ports
from conf.auth_to_local import AuthToLocal
from conf.names import ClusterName, TableRef
from conf.settings.security.authentication import Identity
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.view_access import ViewAccess
from conf.settings.security.view_tls import ViewTls
from conf.settings.settings import Settings, Writers
from conf.settings.view_limits import ViewLimits
from conf.topology import Cluster, Endpoint, Topology
from metastore.client.types import Database, Partition, Table
from metastore.view.server.view_server import ViewServer
from tests.metastore.fake import FakeMetastore, Refused
from thriftcodec.values import BOOL, LIST, STRUCT, Items, Struct, strings

C1, C2, C3 = (ClusterName(name) for name in ("c1", "c2", "c3"))
TOPOLOGY = Topology(
    {name: Cluster(name, f"hdfs://{name}:8020", ()) for name in (C1, C2, C3)}, default=C1
)


class WritableMetastore(FakeMetastore):
    """Adds what the plain fake lacks; a partitioned table's partitions keep their order."""

    def __init__(self) -> None:
        super().__init__()
        self.places = {"default": "hdfs://c1:8020/warehouse"}
        self.functions: list[Struct] = []

    def _get_database(self, arguments: Struct) -> tuple[int, Any]:
        name = arguments.get(1)
        if name not in self.places:
            raise Refused(1, name)
        return STRUCT, Database.make(name, self.places[name]).struct

    def _get_databases(self, arguments: Struct) -> tuple[int, Any]:
        assert arguments.get(1) == "*"
        return LIST, strings(sorted(self.places))

    def _create_database(self, arguments: Struct) -> None:
        database = Database(arguments.get(1))
        self.places[database.name] = database.location

    def _alter_database(self, arguments: Struct) -> None:
        self.places[arguments.get(1)] = Database(arguments.get(2)).location

    def _drop_database(self, arguments: Struct) -> None:
        self.places.pop(arguments.get(1))
        for ref in [ref for ref in self.tables if ref.db == arguments.get(1)]:
            del self.tables[ref]

    def _create_table(self, arguments: Struct) -> None:
        table = Table(arguments.get(1))
        if table.ref in self.tables:
            raise Refused(1, "exists")
        self.tables[table.ref] = table.struct
        self.partitions[table.ref] = {}

    _create_table_with_environment_context = _create_table

    def _alter_table(self, arguments: Struct) -> None:
        self._alter_table_with_environment_context(arguments)

    def _drop_table(self, arguments: Struct) -> None:
        ref = self._ref(arguments, missing=1)
        del self.tables[ref]
        del self.partitions[ref]

    _drop_table_with_environment_context = _drop_table

    def _truncate_table(self, arguments: Struct) -> None:
        self._ref(arguments)

    def _get_table_req(self, arguments: Struct) -> tuple[int, Any]:
        table = self.tables[self._ref(arguments.get(1))]
        return STRUCT, Struct({1: (STRUCT, table)})

    def _get_partitions(self, arguments: Struct) -> tuple[int, Any]:
        found = self.partitions[self._ref(arguments, missing=1)].values()
        return LIST, Items(STRUCT, found)

    _get_partitions_by_filter = _get_partitions
    _get_partitions_with_auth = _get_partitions

    def _get_partition(self, arguments: Struct) -> tuple[int, Any]:
        for struct in self.partitions[self._ref(arguments)].values():
            if list(struct.get(1)) == list(arguments.get(3)):
                return STRUCT, struct
        raise Refused(2, "no such partition")

    def _get_partition_by_name(self, arguments: Struct) -> tuple[int, Any]:
        return STRUCT, self.partitions[self._ref(arguments)][arguments.get(3)]

    def _get_partitions_by_expr(self, arguments: Struct) -> tuple[int, Any]:
        """The expression is a partition's name."""
        request = arguments.get(1)
        found = [self.partitions[self._ref(request)][request.get(3)]]
        return STRUCT, Struct({1: (LIST, Items(STRUCT, found))})

    def _add_partitions_req(self, arguments: Struct) -> tuple[int, Any]:
        request = arguments.get(1)
        ref = self._ref(request, missing=1)
        for struct in request.get(3):
            self.partitions[ref][Partition(struct).name(Table(self.tables[ref]))] = struct
        result = Struct({1: (LIST, Items(STRUCT, request.get(3)))})
        return STRUCT, result

    def _rename_partition(self, arguments: Struct) -> None:
        ref = self._ref(arguments)
        table = Table(self.tables[ref])
        old = Partition.make(table, arguments.get(3), "", {}).name(table)
        del self.partitions[ref][old]
        new = Partition(arguments.get(4))
        self.partitions[ref][new.name(table)] = new.struct

    def _drop_partition_by_name(self, arguments: Struct) -> tuple[int, Any]:
        del self.partitions[self._ref(arguments)][arguments.get(3)]
        return BOOL, 1

    _drop_partition_by_name_with_environment_context = _drop_partition_by_name

    def _drop_partitions_req(self, arguments: Struct) -> tuple[int, Any]:
        request = arguments.get(1)
        parts = request.get(3)
        names = list(parts.get(1) or ()) + [each.get(1) for each in parts.get(2) or ()]
        for name in names:
            del self.partitions[self._ref(request)][name]
        return STRUCT, Struct({1: (LIST, Items(STRUCT, self.functions))})

    def _exchange_partitions(self, arguments: Struct) -> tuple[int, Any]:
        source = TableRef(arguments.get(2), arguments.get(3))
        target = TableRef(arguments.get(4), arguments.get(5))
        moved = self.partitions[source]
        self.partitions[target].update(moved)
        self.partitions[source] = {}
        return LIST, Items(STRUCT, moved.values())

    def _fire_listener_event(self, arguments: Struct) -> tuple[int, Any]:
        return STRUCT, Struct()

    def _delete_table_column_statistics(self, arguments: Struct) -> tuple[int, Any]:
        return BOOL, 1

    def _get_all_functions(self, arguments: Struct) -> tuple[int, Any]:
        return STRUCT, Struct({1: (LIST, Items(STRUCT, self.functions))})


@contextmanager
def views(
    metastore: FakeMetastore,
    leftovers: Path | None = None,
    topology: Topology = TOPOLOGY,
    cache: float = 0.0,
    writers: Writers = Writers.ANY,
    limits: ViewLimits | None = None,
    listen: Mapping[str, Endpoint] | None = None,
    login: MetastoreLogin | None = None,
    grace: float = 0.0,
    peers: Mapping[ClusterName, tuple[Endpoint, ...]] | None = None,
    access: ViewAccess | None = None,
    rules: AuthToLocal | None = None,
    tls: ViewTls | None = None,
    identity: Identity | None = None,
) -> Iterator[Mapping[str, Endpoint]]:
    """The addresses of a view per cluster and of `default`, served by a thread of their own."""
    listening: dict[str, Endpoint] = {}
    ready = threading.Event()
    names = list(listen or (*topology.clusters, "default"))
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def announce(name: str, endpoint: Endpoint) -> None:
        listening[name] = endpoint
        if len(listening) == len(names):
            ready.set()

    async def serve() -> None:
        stop = asyncio.Event()
        stops.append((asyncio.get_running_loop(), stop))
        settings = Settings(
            topology,
            (metastore.endpoint,),
            writers=writers,
            views=peers or {},
            view_limits=limits or ViewLimits(),
            metastore_login=login or MetastoreLogin(),
            view_access=access or ViewAccess(),
            view_tls=tls or ViewTls(),
            identity=identity or Identity(auth_to_local=rules or AuthToLocal()),
        )
        where = listen or {name: Endpoint("127.0.0.1", 0) for name in names}
        await ViewServer(settings, leftovers, cache, grace).run(where, announce, stop)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(60)
        yield listening
    finally:
        loop, stop = stops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)


def settings_of(hms: WritableMetastore, view: Mapping[str, Endpoint]) -> Settings:
    own = {C1: (view[C1],), C2: (view[C2],)}
    return Settings(TOPOLOGY, (hms.endpoint,), views=own, writers=Writers.VIEWS)


def pairs_of_addresses() -> dict[ClusterName, tuple[Endpoint, Endpoint]]:
    """Free addresses for two processes of the views of c1 and c2."""
    first, second, third, fourth = free_ports(4)
    return {C1: (first, second), C2: (third, fourth)}
