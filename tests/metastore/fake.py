"""A metastore in memory behind a real socket, for tests of clients and loaders."""

import re
import socket
import socketserver
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from conf.names import TableRef, parse_partition_name
from conf.topology import Endpoint
from metastore.client.types import Database, Partition, Table
from thriftcodec.errors import Incomplete
from thriftcodec.reader import read_struct
from thriftcodec.skip import read_message_header
from thriftcodec.values import (
    EXCEPTION,
    I32,
    I64,
    LIST,
    REPLY,
    STRING,
    STRUCT,
    Items,
    Struct,
    strings,
)
from thriftcodec.writer import call_bytes


class Refused(Exception):
    """Answered as the declared exception in that field."""

    def __init__(self, field: int, message: str) -> None:
        super().__init__(message)
        self.field = field


class FakeMetastore:
    """Tables and partitions by name. `calls` counts; `before` runs ahead of each call."""

    def __init__(self) -> None:
        self.tables: dict[TableRef, Struct] = {}
        self.partitions: dict[TableRef, dict[str, Struct]] = {}
        self.databases = {"default"}
        self.events: list[tuple[int, str, str]] = []
        self.calls: Counter[str] = Counter()
        self.users: list[str] = []  # by `set_ugi`
        self.before: Callable[[str], None] = lambda method: None
        self.answers: dict[str, Callable[[Struct], Any]] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.metastore = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self._server.server_address[1])

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for connection in list(self._server.connections):
            connection.close()

    def use_tls(self, context: ssl.SSLContext) -> None:
        """New connections are TLS."""
        plain = self._server.get_request

        def get_request() -> tuple[socket.socket, Any]:
            connection, address = plain()
            return context.wrap_socket(connection, server_side=True), address

        self._server.get_request = get_request  # type: ignore[method-assign]

    @property
    def open_connections(self) -> int:
        return len(self._server.connections)

    def drop_connections(self) -> None:
        for connection in list(self._server.connections):
            connection.shutdown(socket.SHUT_RDWR)

    def add(self, table: Table, *partitions: tuple[str, dict[str, str]]) -> TableRef:
        """A table, and partitions by name with their parameters."""
        self.tables[table.ref] = table.struct
        self.partitions[table.ref] = {}
        for name, parameters in partitions:
            values = [value for _, value in parse_partition_name(name)]
            location = f"{table.location}/{name}"
            made = Partition.make(table, values, location, parameters)
            self.partitions[table.ref][name] = made.struct
        return table.ref

    def answer(self, method: str, arguments: Struct) -> tuple[int, Any] | None:
        """Wire type and value of the success field."""
        self.calls[method] += 1
        self.before(method)
        return self.answer_of(method)(arguments)

    def answer_of(self, method: str) -> Callable[[Struct], tuple[int, Any] | None]:
        """What answers calls of the method: the test's own of `answers`, if it has one."""
        found: Callable[[Struct], tuple[int, Any] | None]
        found = self.answers.get(method) or getattr(self, f"_{method}")
        return found

    def _ref(self, arguments: Struct, missing: int | None = 2) -> TableRef:
        ref = TableRef(arguments.get(1), arguments.get(2))
        if missing is not None and ref not in self.tables:
            raise Refused(missing, f"{ref} table not found")
        return ref

    def _set_ugi(self, arguments: Struct) -> tuple[int, Any]:
        self.users.append(str(arguments.get(1)))
        return LIST, strings(())

    def _get_all_databases(self, arguments: Struct) -> tuple[int, Any]:
        return LIST, strings(sorted(self.databases))

    def _get_database(self, arguments: Struct) -> tuple[int, Any]:
        name = arguments.get(1)
        if name not in self.databases:
            raise Refused(1, name)
        return STRUCT, Database.make(name, "file:/w").struct

    def _get_all_tables(self, arguments: Struct) -> tuple[int, Any]:
        names = sorted(ref.name for ref in self.tables if ref.db == arguments.get(1))
        return LIST, strings(names)

    def _get_table(self, arguments: Struct) -> tuple[int, Any]:
        return STRUCT, self.tables[self._ref(arguments)]

    def _get_table_objects_by_name(self, arguments: Struct) -> tuple[int, Any]:
        refs = [TableRef(arguments.get(1), name) for name in arguments.get(2)]
        found = [self.tables[ref] for ref in refs if ref in self.tables]
        return LIST, Items(STRUCT, found)

    def _alter_table_with_environment_context(self, arguments: Struct) -> None:
        ref = self._ref(arguments, missing=1)
        table = Table(arguments.get(3))
        self.partitions[table.ref] = self.partitions.pop(ref)
        del self.tables[ref]
        self.tables[table.ref] = table.struct

    def _get_partition_names(self, arguments: Struct) -> tuple[int, Any]:
        return LIST, strings(self.partitions[self._ref(arguments)])

    def _get_partition_names_ps(self, arguments: Struct) -> tuple[int, Any]:
        """A text between two keys may hold a slash, as the metastore's own pattern has it."""
        ref = self._ref(arguments)
        keys = [key for key, _ in Table(self.tables[ref]).partition_keys]
        wanted = list(zip(keys, arguments.get(3), strict=False))
        pattern = "/".join(f"{key}={value or '.*'}" for key, value in wanted)
        pattern += ".*" if len(wanted) < len(keys) else ""
        names = [name for name in self.partitions[ref] if re.fullmatch(pattern, name)]
        return LIST, strings(names)

    def _get_partitions_by_names(self, arguments: Struct) -> tuple[int, Any]:
        assert len(arguments.get(3)) <= 1000
        existing = self.partitions[self._ref(arguments)]
        found = [existing[name] for name in arguments.get(3) if name in existing]
        return LIST, Items(STRUCT, found)

    def _alter_partitions_with_environment_context(self, arguments: Struct) -> None:
        ref = self._ref(arguments)
        table = Table(self.tables[ref])
        for struct in arguments.get(3):
            self.partitions[ref][Partition(struct).name(table)] = struct

    def _get_current_notificationEventId(self, arguments: Struct) -> tuple[int, Any]:
        return STRUCT, Struct({1: (I64, len(self.events))})

    def _get_next_notification(self, arguments: Struct) -> tuple[int, Any]:
        after = arguments.get(1).get(1)
        found = [
            Struct({1: (I64, n), 4: (STRING, db), 5: (STRING, name)})
            for n, db, name in self.events
            if n > after
        ]
        return STRUCT, Struct({1: (LIST, Items(STRUCT, found))})


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    metastore: FakeMetastore

    def __init__(self, *arguments: Any) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(*arguments)


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.server.connections.add(self.request)
        data = bytearray()
        try:
            while chunk := self.request.recv(1 << 16):
                data += chunk
                self._answer(data)
        except OSError:
            pass
        finally:
            self.server.connections.discard(self.request)

    def _answer(self, data: bytearray) -> None:
        try:
            _, method, sequence, at = read_message_header(data)
            arguments, end = read_struct(data, at)
        except Incomplete:
            return
        del data[:end]
        kind, result = REPLY, Struct()
        try:
            success = self.server.metastore.answer(method, arguments)
            if success is not None:
                result.set(0, *success)
        except Refused as refused:
            result.set(refused.field, STRUCT, Struct({1: (STRING, str(refused))}))
        except AttributeError:
            kind = EXCEPTION
            result = Struct({1: (STRING, f"Invalid method name: '{method}'")})
            result.set(2, I32, 1)
        message = bytearray(call_bytes(method, sequence, result))
        message[3] = kind
        self.request.sendall(message)
