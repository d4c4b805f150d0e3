"""A synchronous metastore client with fail-over and time-outs.

    with HmsClient(settings.metastores, settings.metastore_timeout) as client:
        table = client.get_table(TableRef("sales", "orders"))
        table.parameters = {**table.parameters, "note": "x"}
        client.alter_table(table.ref, table)     # all its fields are kept

A client is for one thread. Objects keep every field that the metastore sent. A call raises
MetastoreDown if no address answers in time, and NoSuchObject, AlreadyExists or MetastoreRefused for
an exception of the metastore.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import islice
from time import monotonic
from typing import Self, TypeVar

from conf.names import TableRef
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.settings import Settings
from conf.topology import Endpoint
from metastore.client.calls import CALLS
from metastore.client.catalog_client import Holds, always
from metastore.client.connecting import PLAIN, connect
from metastore.client.connection import UNKNOWN_METHOD, Connection, Decoder
from metastore.client.partition_decoder import PartitionDecoder, PartitionFacts
from metastore.client.types import Changes, Database, Event, Partition, Table, environment
from metastore.errors import MalformedReply, MetastoreDown, MetastoreRefused, NoSuchObject
from thriftcodec.values import (
    BOOL,
    I16,
    I32,
    I64,
    LIST,
    STRING,
    STRUCT,
    Items,
    Struct,
    Value,
    strings,
)

T = TypeVar("T")

BATCH = 1000  # partitions in a call
TABLE_BATCH = 200
NAMES_PATIENCE = 6  # time-outs that a reply with the names of all partitions may take
CONNECT_TIMEOUT = 5.0
# Without this the metastore lists the files of every altered object.
NO_STATS = {"DO_NOT_UPDATE_STATS": "true"}


class HmsClient:
    """Calls the first of `endpoints` that answers, within `timeout` seconds.

    A call that only reads is tried at every address, each with its share of the time. A call that
    changes something is sent once, because the metastore may execute a call whose reply was lost.
    Calls are made as `user`, with SASL by a delegation token for that user.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        timeout: float = 20.0,
        user: str | None = None,
        login: MetastoreLogin = PLAIN,
    ) -> None:
        if not endpoints:
            raise MetastoreDown("no metastore address is configured")
        self._endpoints = tuple(endpoints)
        self._timeout = timeout
        self._user = user
        self._login = login
        self._first = 0
        self._connection: Connection | None = None
        self._aborted = False
        self._newer = False  # whether the metastore is Hive 4, which does not have some calls

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The client of the metastore that the settings name."""
        return cls(settings.metastores, settings.metastore_timeout, login=settings.metastore_login)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. The next call opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def abort(self) -> None:
        """Makes the running call and all later ones fail. For another thread."""
        self._aborted = True
        connection = self._connection
        if connection is not None:
            connection.abort()

    # databases

    def get_all_databases(self) -> list[str]:
        return list(self.call("get_all_databases", Struct()))

    def get_databases(self, pattern: str = "*") -> list[str]:
        """Names in the order of the metastore's database; `*` matches anything."""
        return list(self.call("get_databases", Struct({1: (STRING, pattern)})))

    def get_database(self, name: str) -> Database:
        return Database(self.call("get_database", Struct({1: (STRING, name)})))

    def create_database(self, database: Database) -> None:
        self.call("create_database", Struct({1: (STRUCT, database.struct)}))

    def alter_database(self, name: str, database: Database) -> None:
        arguments = Struct({1: (STRING, name), 2: (STRUCT, database.struct)})
        self.call("alter_database", arguments)

    def drop_database(self, name: str, *, delete_data: bool = False, cascade: bool = False) -> None:
        arguments = Struct({1: (STRING, name), 2: (BOOL, delete_data), 3: (BOOL, cascade)})
        self.call("drop_database", arguments)

    # tables

    def get_all_tables(self, database: str) -> list[str]:
        """Names of tables and views."""
        return list(self.call("get_all_tables", Struct({1: (STRING, database)})))

    def get_views(self, database: str) -> list[str]:
        """Names of views."""
        arguments = {1: (STRING, database), 2: (STRING, "*"), 3: (STRING, "VIRTUAL_VIEW")}
        return list(self.call("get_tables_by_type", Struct(arguments)))

    def get_table(self, ref: TableRef) -> Table:
        return Table(self._tables("get_table", _named(ref)))

    def get_tables(self, database: str, names: Iterable[str]) -> Iterator[Table]:
        """The named tables that exist, in batches."""
        for batch in batches(names, TABLE_BATCH):
            arguments = Struct({1: (STRING, database), 2: (LIST, strings(batch))})
            for struct in self._tables("get_table_objects_by_name", arguments) or ():
                yield Table(struct)

    @property
    def newer(self) -> bool:
        """Whether the metastore is Hive 4; known after a table was read."""
        return self._newer

    def hive_version(self) -> str:
        """The first release of Hive with the calls of this metastore: `2.3`, `3.0` or `4.0`. The
        metastore itself reports only the version of its protocol."""
        with suppress(NoSuchObject):
            self.get_table(TableRef("default", "causeway_no_table"))
        if self._newer:
            return "4.0"
        try:
            self.call("get_metastore_db_uuid", Struct())
        except MetastoreRefused as error:
            return "2.3" if error.kind == UNKNOWN_METHOD else "3.0"
        return "3.0"

    def _tables(self, method: str, arguments: Struct) -> Value:
        """Makes a call that Hive 4 only has in the form `.._req`, which Hive has since 2.3."""
        if not self._newer:
            try:
                return self.call(method, arguments)
            except MetastoreRefused as error:
                if error.kind != UNKNOWN_METHOD:
                    raise
                self._newer = True
        result: Struct = self.call(f"{method}_req", Struct({1: (STRUCT, arguments)}))
        return result.get(1)

    def create_table(self, table: Table) -> None:
        self.call("create_table", Struct({1: (STRUCT, table.struct)}))

    def alter_table(
        self, ref: TableRef, table: Table, context: Mapping[str, str] = NO_STATS
    ) -> None:
        """Replaces the table named `ref`; `context` is the call's environment context."""
        arguments = _named(ref)
        arguments.set(3, STRUCT, table.struct)
        arguments.set(4, STRUCT, environment(context))
        self.call("alter_table_with_environment_context", arguments)

    def drop_table(self, ref: TableRef, *, delete_data: bool = False) -> None:
        arguments = _named(ref)
        arguments.set(3, BOOL, delete_data)
        self.call("drop_table_with_environment_context", arguments)

    # partitions

    def get_partition_names(self, ref: TableRef, most: int = -1) -> list[str]:
        """The names of partitions, `k=v/k2=v2`, without their objects: at most `most`, which is at
        most 32,767; -1: all."""
        arguments = _named(ref)
        arguments.set(3, I16, most)
        patience = self._timeout * NAMES_PATIENCE
        return list(self.call("get_partition_names", arguments, timeout=patience))

    def get_partition_names_ps(self, ref: TableRef, values: Sequence[str]) -> list[str]:
        """Names of the partitions whose first values are these; an empty text means any value.

        The metastore takes the values as patterns, so the result may have names of others too.
        """
        arguments = _named(ref)
        arguments.set(3, LIST, strings(values))
        arguments.set(4, I16, -1)
        return list(self.call("get_partition_names_ps", arguments))

    def get_partitions(self, ref: TableRef, names: Iterable[str]) -> Iterator[Partition]:
        """The named partitions that exist, in batches and any order."""
        for batch in batches(names, BATCH):
            for struct in self.call("get_partitions_by_names", _names(ref, batch)):
                yield Partition(struct)

    def get_all_partitions(self, ref: TableRef) -> Iterator[Partition]:
        """Every partition, read in batches."""
        return self.get_partitions(ref, self.get_partition_names(ref))

    def get_partition_facts(self, ref: TableRef, names: Iterable[str]) -> Iterator[PartitionFacts]:
        """The facts for routing of the named partitions; faster than `get_partitions`."""
        decoder = PartitionDecoder()
        for batch in batches(names, BATCH):
            yield from self.call("get_partitions_by_names", _names(ref, batch), element=decoder)

    def add_partitions(
        self, ref: TableRef, partitions: Iterable[Partition], *, if_not_exists: bool = False
    ) -> None:
        """Adds partitions in batches; a batch is added completely or not at all."""
        for batch in batches(partitions, BATCH):
            request = _named(ref)
            request.set(3, LIST, Items(STRUCT, (each.struct for each in batch)))
            request.set(4, BOOL, if_not_exists)
            request.set(5, BOOL, False)
            self.call("add_partitions_req", Struct({1: (STRUCT, request)}))

    def alter_partitions(self, ref: TableRef, partitions: Iterable[Partition]) -> None:
        """Replaces the partitions that have the same values, in batches."""
        for batch in batches(partitions, BATCH):
            arguments = _named(ref)
            arguments.set(3, LIST, Items(STRUCT, (each.struct for each in batch)))
            arguments.set(4, STRUCT, environment(NO_STATS))
            self.call("alter_partitions_with_environment_context", arguments)

    def drop_partition(self, ref: TableRef, name: str, *, delete_data: bool = False) -> None:
        arguments = _named(ref)
        arguments.set(3, STRING, name)
        arguments.set(4, BOOL, delete_data)
        self.call("drop_partition_by_name_with_environment_context", arguments)

    def drop_partitions(
        self, ref: TableRef, names: Iterable[str], *, delete_data: bool = False
    ) -> None:
        """Drops the named partitions that exist, in batches; a batch completely or not at all."""
        for batch in batches(names, BATCH):
            request = _named(ref)
            request.set(3, STRUCT, Struct({1: (LIST, strings(batch))}))
            request.set(4, BOOL, delete_data)
            request.set(5, BOOL, True)  # no error for a missing one
            request.set(8, BOOL, False)
            self.call("drop_partitions_req", Struct({1: (STRUCT, request)}))

    def get_all_functions(self) -> list[Struct]:
        """The permanent functions of all databases, as the metastore's struct Function."""
        reply: Struct = self.call("get_all_functions", Struct())
        return list(reply.get(1) or ())

    # the notification log

    def current_event(self) -> int:
        """Id of the newest event."""
        reply: Struct = self.call("get_current_notificationEventId", Struct())
        return int(reply.get(1))

    def events(self, after: int) -> list[Event]:
        """At most 1000 events after this one."""
        request = Struct({1: (I64, after), 2: (I32, 1000)})
        reply: Struct = self.call("get_next_notification", Struct({1: (STRUCT, request)}))
        return [Event(each) for each in reply.get(1) or ()]

    def changes(self, after: int, wait: float) -> Changes:
        """Changes through a view since position `after`; waits up to `wait` seconds for one."""
        arguments = Struct({1: (I64, after), 2: (I32, int(wait * 1000))})
        reply: Struct = self.call("causeway_changes", arguments, timeout=self._timeout + wait)
        return Changes.read(reply)

    def touched(self, after: int) -> Changes:
        """Changes through a view, or reported to it, since position `after`. It does not wait."""
        reply: Struct = self.call("causeway_touched", Struct({1: (I64, after)}))
        return Changes.read(reply)

    def wait_for_pending(self, ref: TableRef, owner: str = "") -> None:
        """Reports a change of the table to a view, and waits until the view's own changes of it
        have ended. `owner` is the owner of the table's lock, if the caller has it."""
        arguments = _named(ref)
        if owner:
            arguments.set(3, STRING, owner)
        self.call("causeway_settle", arguments)

    def lock(self, ref: TableRef, owner: str) -> str:
        """Locks the table in one process of the view until `unlock` or `close`. Returns the id of
        the process."""
        arguments = Struct(
            {1: (LIST, strings([str(ref)])), 2: (STRING, owner), 3: (I32, int(self._timeout * 900))}
        )
        return str(self.call("causeway_lock", arguments))

    def unlock(self) -> None:
        """Releases the lock of this connection."""
        self.call("causeway_unlock", Struct())

    @property
    def open_connection(self) -> Connection | None:
        """The connection; None if there is none, or the other end is known to have closed it."""
        connection = self._connection
        return connection if connection is not None and connection.idle() else None

    def exclusive(self, ref: TableRef) -> AbstractContextManager[Holds]:
        """Locks nothing: without views there is no lock against other processes."""
        return nullcontext(always)

    # any call

    def call(
        self,
        method: str,
        arguments: Struct,
        *,
        element: Decoder[Value] | None = None,
        timeout: float | None = None,
    ) -> Value:
        """Makes a call of `metastore.client.calls`; returns its value: a Struct, Items, a str, a
        number or None. `element` decodes the items of a list.
        """
        spec = CALLS[method]
        total = self._timeout if timeout is None else timeout
        deadline = monotonic() + total
        tries = len(self._endpoints) if spec.reads else 1
        problem: Exception | None = None
        for left in range(tries, 0, -1):
            if self._aborted:
                break
            try:
                connection = self._connected(deadline)
                share = (deadline - monotonic()) / left
                return connection.call(method, arguments, spec.exceptions, share, element)
            except (OSError, MalformedReply) as error:
                problem = error
                self.close()
                self._first = (self._first + 1) % len(self._endpoints)
        raise MetastoreDown(f"{method}: {problem or 'no answer'}") from problem

    def _connected(self, deadline: float) -> Connection:
        """The open connection, or a new one to the first address that accepts it."""
        if self._connection is not None:
            if self._connection.idle():
                return self._connection
            self.close()
        problem: Exception | None = None
        count = len(self._endpoints)
        for offset in range(count):
            number = (self._first + offset) % count
            share = max(deadline - monotonic(), 0.001) / (count - offset)
            try:
                share = min(share, CONNECT_TIMEOUT)
                self._connection = connect(self._endpoints[number], share, self._login, self._user)
            except (OSError, MalformedReply) as error:
                problem = error
                continue
            self._first = number
            return self._connection
        raise MetastoreDown(f"{', '.join(map(str, self._endpoints))}: {problem}") from problem


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of at most `size`."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _named(ref: TableRef) -> Struct:
    return Struct({1: (STRING, ref.db), 2: (STRING, ref.name)})


def _names(ref: TableRef, names: Iterable[str]) -> Struct:
    arguments = _named(ref)
    arguments.set(3, LIST, strings(names))
    return arguments
