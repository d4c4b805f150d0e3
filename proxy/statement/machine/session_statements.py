"""Statements that change the session alone: Causeway answers them, no cluster runs them."""

from dialect.statement import Known, SetVariable, Unknown, UseDatabase
from proxy.protocol.results import ResultTable
from proxy.session import own_settings
from proxy.session.session import SessionState
from proxy.session.settings.restrictions import check_statement, is_ignored
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.access_checks import check_database


def begin(
    statement: Known | Unknown, state: SessionState, sql: str
) -> ResultTable | cmd.CheckDatabase | None:
    """The result of a statement that changes the session alone; for USE, the call to make first;
    None for any other statement. Raises ThriftServerError or a CausewayError if it is refused."""
    if not isinstance(statement, Known):
        return None
    changes = statement.changes
    check_statement(statement, state.restrictions)
    if is_ignored(statement, state.restrictions):
        return own_settings.answer(changes)
    if changes is not None:
        state.check(changes, sql)
    match changes:
        case UseDatabase(database) if statement.immediate is None:
            check_database(database, state)
            return cmd.CheckDatabase(database)
        case SetVariable(key, value) if own_settings.is_ours(key):
            return own_settings.change(state, key, value)
    return None
