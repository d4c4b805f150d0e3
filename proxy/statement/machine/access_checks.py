"""Access rules for statements that are not routed: Causeway's own commands, USE, and lists of
names."""

from collections.abc import Iterable

from conf.access.rules import Right
from conf.names import TableRef
from dialect.grammar.cluster_statements import ClusterCommand, CopyTable, ShowCopies, UseCluster
from proxy.errors import ThriftServerError, refusal
from proxy.session.session import SessionState
from router.access.statement_access import refusal_of, table_denial
from router.access.user_access import Denial


def check_command(command: ClusterCommand, state: SessionState) -> None:
    """Raises ThriftServerError if the user may not use the clusters or the table of the command."""
    if (access := state.access) is None:
        return
    database = state.namespace().database
    denials: list[Denial | None] = []
    match command:
        case UseCluster(name):
            denials = [access.cluster(name)]
        case ShowCopies(table=str(table)):
            ref = TableRef((command.database or database).lower(), table)
            denials = [table_denial(access, ref, Right.SELECT)]
        case CopyTable():
            ref, clusters = command.ref(database), (command.source, command.target)
            denials = [access.cluster(each) for each in clusters if each is not None]
            denials += [table_denial(access, ref, each) for each in (Right.SELECT, Right.ALTER)]
    for denial in denials:
        if denial is not None:
            raise ThriftServerError(refusal(refusal_of(access, denial)))


def check_database(name: str, state: SessionState) -> None:
    """Raises ThriftServerError if the user may see nothing of the database."""
    access = state.access
    if access is not None and not access.sees_database(name):
        denial = Denial(f"the database {name}", None, "rules deny all of it")
        raise ThriftServerError(refusal(refusal_of(access, denial)))


def check_list(state: SessionState) -> None:
    """Raises ThriftServerError if a rule denies the user anything: a cluster would list denied
    names."""
    if state.access is not None:
        why = "the cluster alone can make it, and would list what is denied"
        denial = Denial("this list", None, why)
        raise ThriftServerError(refusal(refusal_of(state.access, denial)))


def visible(tables: Iterable[TableRef], state: SessionState) -> list[TableRef]:
    """The tables that the user may see in a list."""
    access = state.access
    return [each for each in tables if access is None or access.sees_table(each)]
