"""A client of the metastore itself that notifies the views of each change.

`snapshot.writers = views` needs every change to be in the feeds of the views. So a command that
writes to the metastore itself notifies the views after each change, and waits for their own pending
changes. Then the feeds have the change, and no view writes back facts that it read before.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from conf.names import TableRef
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.settings import Settings
from conf.topology import Endpoint
from metastore.client.calls import CALLS
from metastore.client.catalog_client import Holds
from metastore.client.changes.view_sync import ViewSync
from metastore.client.connecting import PLAIN
from metastore.client.connection import Decoder
from metastore.client.metastore_client import HmsClient
from thriftcodec.values import Struct, Value

ALL = "*"
EVERYTHING = TableRef(ALL, ALL)  # a notification that any table may have changed
Notify = Callable[[TableRef], None]


class NotifyingClient(HmsClient):
    """Calls `notify` with each table that a call has changed. If `notify` is a `ViewSync`, it also
    locks tables in the views.

    A call may raise MetastoreDown after its change was made, if a view could not be notified. A
    view that does not run need not be notified: a new one has nothing in memory.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        timeout: float,
        notify: Notify,
        user: str | None = None,
        login: MetastoreLogin = PLAIN,
    ) -> None:
        super().__init__(endpoints, timeout, user, login)
        self._notify = notify

    def exclusive(self, ref: TableRef) -> AbstractContextManager[Holds]:
        """Locks the table in all views."""
        views = self._notify
        return views.exclusive(ref) if isinstance(views, ViewSync) else super().exclusive(ref)

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
        finally:  # a call that failed may have changed something
            for table in changed_by(method, arguments):
                self._notify(table)


def changed_by(method: str, arguments: Struct) -> tuple[TableRef, ...]:
    """The tables that a call changes; `db.*` if it changes a database."""
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
def notifying_client(settings: Settings, timeout: float | None = None) -> Iterator[HmsClient]:
    """A client of the metastore in the settings that notifies the views in the settings."""
    timeout = settings.metastore_timeout if timeout is None else timeout
    with (
        ViewSync.of(settings) as notify,
        NotifyingClient(
            settings.metastores, timeout, notify, login=settings.metastore_login
        ) as client,
    ):
        yield client
