"""A runner of metadata calls with a listing in memory and a fake cluster."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from conf.catalog.listing import ColumnType, ListedColumn, ListedTable
from conf.names import ClusterName
from conf.topology import Endpoint, Topology
from proxy.catalog.metadata import Row, metadata_request
from proxy.catalog.metadata_runner import MetadataAnswers
from proxy.protocol import replies, results
from proxy.protocol.cluster_calls import RemoteOperation, RemoteSession
from proxy.protocol.messages import decode_message
from proxy.protocol.requests import Handle
from proxy.protocol.results import ResultTable
from proxy.session.local_result import LocalResult
from proxy.session.session import SessionState
from proxy.session.user_session import UserSession
from proxy.upstream.endpoint_health import EndpointHealth
from thriftcodec.values import REPLY, STRING, STRUCT, Message, Struct
from thriftcodec.writer import encode_message

CLUSTER = ClusterName("c")
COLUMN = ListedColumn("x", ColumnType("INT", "INT", 4, 0))
LISTS = [("sales", [ListedTable("t", False, "", (COLUMN,))])]
TEMPORARY: Row = (None, None, "tmp", "VIEW", "", None, None, None, None, None)
USUAL = {"spark.sql.catalogImplementation": "hive", "spark.master": "local"}


class FakeUpstream:
    """A cluster's session: its version, its settings and its own views."""

    def __init__(self) -> None:
        self.session = RemoteSession(Struct())
        self.cluster, self.endpoint = CLUSTER, Endpoint("h", 1)
        self.replay = SimpleNamespace(understood=True)
        self.version, self.zone = "3.5.9", "UTC"
        self.settings = dict(USUAL)
        self.temporary: list[Row] = [TEMPORARY]
        self.problem: Exception | None = None
        self.calls: list[str] = []
        self.fetched = asyncio.Event()
        self.closed = 0

    async def call(self, name: str, request: bytes) -> Struct:
        self.calls.append(name)
        if self.problem is not None:
            raise self.problem
        if name == "GetInfo":
            return replies.info(self.version)
        if name == "FetchResults":
            self.fetched.set()
            table = self._table(decode_message(request))
            reply = replies.reply(name, 0, results.fetch_reply(table, 0, 100_000, 9))
            return replies.read_result(reply, name)
        return replies.operation_started(Handle(name.encode(), b""), 4, True)

    async def execute_to_end(self, statement: str, overlay: object) -> RemoteOperation:
        self.calls.append(statement)
        handle = Handle(statement.encode(), b"")
        return replies.started_operation(replies.operation_started(handle, 0, True))

    async def reply(self, name: str, request: bytes) -> bytes:
        self.calls.append(name)
        table = self._table(decode_message(request))
        described = results.metadata_reply(ResultTable(table.columns, (), table.types))
        return encode_message(Message(name, REPLY, 0, Struct({0: (STRUCT, described)})))

    def close_operation(self, operation: RemoteOperation) -> None:
        self.closed += 1

    def _table(self, request: Message) -> ResultTable:
        fields: Any = request.body.get(1)
        kind = fields.get(1).get(1).get(1).decode()
        if kind == "SET":
            return ResultTable(("key", "value"), tuple(self.settings.items()))
        found = metadata_request(kind, Struct())
        assert found is not None
        rows = [("global_temp", "")] if kind == "GetSchemas" else self.temporary
        return ResultTable(found.header, rows, found.types)


class FakeSession:
    """A user's session. It is open in the cluster after `upstream` was called."""

    def __init__(self, upstream: FakeUpstream, user: str = "ann") -> None:
        self.state = SessionState(user, 9, {}, Topology(), Topology())
        self.there = upstream
        self.opened = 0

    async def upstream(self, cluster: ClusterName) -> FakeUpstream:
        self.opened += 1
        await asyncio.sleep(0)
        if self.there.problem is not None:
            raise self.there.problem
        return self.there

    def open_upstream(self, cluster: ClusterName) -> FakeUpstream | None:
        return self.there if self.opened else None


class World:
    keeps_lists = True

    def __init__(self) -> None:
        self.lists: Any = LISTS
        self.upstream = FakeUpstream()
        self.session = FakeSession(self.upstream)
        self.state = self.session.state
        self.health = EndpointHealth()
        self.metadata = MetadataAnswers(cast(Any, self), self.health)

    async def listed(self, wanted: Callable[[str], bool]) -> Any:
        return self.lists and [each for each in self.lists if wanted(each[0])]

    async def schemas(self, wanted: Callable[[str], bool]) -> Any:
        return self.lists and [name for name, _ in self.lists if wanted(name)]

    async def ask(
        self, name: str = "GetTables", session: "FakeSession | None" = None, **texts: str
    ) -> LocalResult | None:
        fields = {"schema": 3, "table": 4, "column": 5}
        arguments = Struct({fields[key]: (STRING, text.encode()) for key, text in texts.items()})
        asking = cast(UserSession, session or self.session)
        return await self.metadata.answer(name, arguments, asking, CLUSTER)

    async def names(self, **texts: str) -> list[object]:
        local = await self.ask(**texts)
        assert local is not None
        return [row[2] for row in local.table.rows]


def play(scenario: Callable[[World], Any]) -> None:
    async def main() -> None:
        await scenario(World())

    asyncio.run(main())
