"""The rows of SHOW STATEMENTS and SHOW COPIES, from the history and the metastore."""

import time

from conf.names import TableRef
from dialect.grammar.cluster_statements import ShowCopies
from metastore.errors import NoSuchObject
from proxy.errors import InvalidCommand, ThriftServerError
from proxy.protocol.results import ResultTable
from proxy.session.own_settings import no_such_database
from proxy.session.session import SessionState
from proxy.statement.machine import cluster_commands
from proxy.statement.machine.access_checks import visible
from proxy.statement.services import StatementHistory
from proxy.statement.statement_router import StatementRouter


async def list_statements(
    history: StatementHistory | None, user: str, limit: int | None
) -> ResultTable:
    """The result of SHOW STATEMENTS. Raises InvalidCommand without a history, BadSearch,
    StoreUnavailable."""
    if history is None:
        raise InvalidCommand("This proxy keeps no history: history.store is not set.")
    limited = {} if limit is None else {"limit": str(limit)}
    page = await history.page({"user": user, **limited})
    return cluster_commands.show_statements(page["statements"])


async def list_copies(
    router: StatementRouter, state: SessionState, command: ShowCopies
) -> ResultTable:
    """The result of SHOW COPIES. Raises NoSuchObject for an unknown table, ThriftServerError for an
    unknown database, MetastoreDown, UnreadableFacts."""
    database = (command.database or state.namespace().database).lower()
    loader = router.loader
    if command.table is not None:
        ref = TableRef(database, command.table)
        copies = await loader.copies({ref: None})
        if not copies:
            raise NoSuchObject(f"table {ref}")
    else:
        if not await router.database_exists(database):
            raise ThriftServerError(no_such_database(database))
        tables = visible(await loader.tables_in(database), state)
        copies = [each for each in await loader.copies(dict.fromkeys(tables)) if each.copied]
    return cluster_commands.show_copies(copies, command.table is not None, time.time())
