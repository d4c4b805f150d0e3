"""A client of the metastore itself whose changes the views hear of before the caller goes on.

`snapshot.writers = views` promises that nothing changes past the views. A command that writes to
the metastore itself keeps the promise by settling there after each change: then whoever asks the
views what changed is told, and no view is about to write back what it read before.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from conf.names import TableRef
from conf.settings.settings import Settings
from conf.topology import Endpoint
from metastore.client.calls import CALLS
from metastore.client.connection import Decoder
from metastore.client.metastore_client import HmsClient
from metastore.client.view_sync import ViewSync
from thriftcodec.values import Struct, Value

ALL = "*"
EVERYTHING = TableRef(ALL, ALL)  # settled, it says that any table may have changed
Tell = Callable[[TableRef], None]


class NotifyingClient(HmsClient):
    """Any call may raise MetastoreDown after its change was made: a view could not be told.

    A view that does not run needs not be told: one that begins trusts nothing from before.
    """

    def __init__(
        self, endpoints: Sequence[Endpoint], timeout: float, tell: Tell, user: str | None = None
    ) -> None:
        super().__init__(endpoints, timeout, user)
        self._tell = tell

    def call(
        self,
        method: str,
        arguments: Struct,
        *,
        element: Decoder[Value] | None = None,
        timeout: float | None = None,
    ) -> Value:
        if CALLS[method].reads:
            return super().call(method, arguments, element=element, timeout=timeout)
        try:
            return super().call(method, arguments, element=element, timeout=timeout)
        finally:  # a call that failed may have done its work, too
            for table in changed_by(method, arguments):
                self._tell(table)


def changed_by(method: str, arguments: Struct) -> tuple[TableRef, ...]:
    """The tables that a call changes; a database stands for all that is in it."""
    if method in ("create_database", "alter_database", "drop_database"):
        first = arguments.get(1)
        name = first.get(1) if isinstance(first, Struct) else first
        return (TableRef(str(name).lower(), ALL),)
    if method == "create_table":
        table = arguments.get(1)
        return (_ref(table.get(2), table.get(1)),)
    if method in ("add_partitions_req", "drop_partitions_req"):
        request = arguments.get(1)
        return (_ref(request.get(1), request.get(2)),)
    old = _ref(arguments.get(1), arguments.get(2))
    if method == "alter_table_with_environment_context":
        table = arguments.get(3)
        return tuple(dict.fromkeys((old, _ref(table.get(2), table.get(1)))))
    return (old,)


def _ref(database: object, table: object) -> TableRef:
    return TableRef(str(database).lower(), str(table).lower())


@contextmanager
def notifying_client(
    settings: Settings, timeout: float | None = None, user: str | None = None
) -> Iterator[HmsClient]:
    """A client of the settings' metastore that tells the settings' views."""
    timeout = settings.metastore_timeout if timeout is None else timeout
    with (
        ViewSync.of(settings) as tell,
        NotifyingClient(settings.metastores, timeout, tell, user) as client,
    ):
        yield client
