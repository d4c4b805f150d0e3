"""The services that every statement of a worker uses.

`ServerState` (`proxy.server.server_state`) builds one `StatementServices` for its worker and passes
it to each `StatementRunner`. Two services are protocols here, since the rooms that implement them
(`proxy.catalog`, `proxy.operations`) are above this one.
"""

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
    """Searches the statements that ended. Implemented by
    `proxy.operations.history.history_runner.HistoryRunner`."""

    async def page(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """One page of results: `statements` has the newest that match. Raises a CausewayError."""
        ...


class CatalogAnswers(Protocol):
    """Answers SHOW and DESCRIBE from memory. Implemented by
    `proxy.catalog.catalog_statements_runner.CatalogStatements`."""

    async def answer(
        self, command: CatalogCommand, cluster: ClusterName, session: UserSession
    ) -> ResultTable | None:
        """The result that the statement would have in the cluster; None: the cluster has to run
        it."""
        ...


@dataclass(frozen=True, slots=True)
class StatementServices:
    """Each service with the commands of the machine that use it, and where it is built.

    - `router`: analyses statements and decides their clusters (Analyse, Route); it also holds the
      metastore's `snapshot` and `loader` and the clusters' `health`. Built by
      `proxy.workers.worker`.
    - `write_places`: the queue of writes (AwaitTurn): the supervisor's if there are several
      workers, else the worker's own.
    - `write_recovery`: the journal of running writes, and the removal of marks of lost writes
      (MarkWrite, RemoveMark, RecoverWrite). The journal is opened by `proxy.workers.worker`.
    - `catalog_answers`: SHOW and DESCRIBE from memory (Recall).
    - `copier`: COPY statements (MakeCopy), by `cli.server.copier`; None: this proxy makes no
      copies.
    - `fetcher`: copies that a query needs (FetchMissing), made by `copier` within
      `router.fetch.*`.
    - `history`: SHOW STATEMENTS (ListStatements); None: `history.store` is not set.
    - `change_sizes`: sizes of incremental reads in EXPLAIN CLUSTER (Explain), by
      `cli.server.change_sizes`; None: the sizes are not shown.

    `proxy.server.server_state` builds all those for which no other place is named.
    """

    router: StatementRouter
    write_places: WritePlaces
    write_recovery: WriteRecovery
    catalog_answers: CatalogAnswers | None = None
    copier: RunningCopies | None = None
    fetcher: Fetcher | None = None
    history: StatementHistory | None = None
    change_sizes: ChangeSizes | None = None
