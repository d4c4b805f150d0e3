"""What all statements of a server share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from conf.names import ClusterName
from dialect.catalog_commands import CatalogCommand
from proxy.protocol.results import ResultTable
from proxy.session.user_session import UserSession
from proxy.statement.change_sizes import ChangeSizes
from proxy.statement.copies.fetcher import Fetcher
from proxy.statement.copies.running_copies import RunningCopies
from proxy.statement.running_writes.recovery_runner import WriteRecovery
from proxy.statement.statement_router import StatementRouter
from proxy.statement.write_queue.queue_client import WritePlaces


class StatementHistory(Protocol):
    """Searches the statements that ended (`proxy.operations.history`)."""

    async def page(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Its `statements` are the newest that fit. Raises a CausewayError."""
        ...


class CatalogAnswers(Protocol):
    """Answers statements about the catalog from memory (`proxy.catalog`)."""

    async def answer(
        self, command: CatalogCommand, cluster: ClusterName, session: UserSession
    ) -> ResultTable | None:
        """The result of the statement in that cluster; None: the cluster has to say."""
        ...


@dataclass(frozen=True, slots=True)
class StatementServices:
    """`places` puts writes in their order, `recovery` removes the marks of those that were lost.
    Without one of the others a server has no answers from memory, makes no copies, brings no data
    on demand, keeps no history, or does not know how much incremental reads read."""

    router: StatementRouter
    places: WritePlaces
    recovery: WriteRecovery
    answers: CatalogAnswers | None = None
    copier: RunningCopies | None = None
    fetcher: Fetcher | None = None
    history: StatementHistory | None = None
    change_sizes: ChangeSizes | None = None
