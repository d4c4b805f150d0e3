"""From a statement's text to its tables, loading from the metastore the tables that it takes."""

from collections.abc import Mapping
from dataclasses import replace

from conf.catalog.tables import ViewText
from dialect.grammar.cluster_statements import ClusterCommand
from dialect.lineage.sql_functions import reading_functions
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import Known, Namespace, Needs, Unknown
from proxy.errors import AnalysisUnstable
from proxy.session.session import SessionState
from proxy.statement.analysis.analyzer_pool import AnalyzerPool, Client
from proxy.statement.metastore_access import Loader, Snapshot

MAX_ROUNDS = 64


class StatementAnalysis:
    """Analyses the statements of all sessions."""

    def __init__(self, snapshot: Snapshot, loader: Loader) -> None:
        self._snapshot = snapshot
        self._loader = loader
        self._analyzers = AnalyzerPool()
        self._functions: Mapping[str, ViewText | None] = {}
        self._reading: frozenset[str] = frozenset()  # those of them that may read tables
        self.from_memory = self.loaded = 0  # statements, by what it took to understand them

    @property
    def waiting(self) -> int:
        """Statements that wait for a process that analyses them."""
        return self._analyzers.waiting

    async def close(self) -> None:
        await self._analyzers.close()

    async def command(self, sql: str, session: SessionState) -> ClusterCommand | None:
        """Causeway's own command if the statement is one, else None. Raises LimitReached."""
        return await self._analyzers.command(sql, session.topology.in_use, _client(session))

    async def analyse(self, sql: str, session: SessionState) -> Known | Unknown:
        """What the statement is. Raises a CausewayError when the metastore cannot be asked."""
        namespace, client = session.namespace(), _client(session)
        found = await self._analysed(sql, namespace, client)
        called = await self._reading_functions(found)
        if COMPUTED in called:
            assert isinstance(found, Known)
            why = "the name of a function is computed, and some read tables"
            return Unknown(why, bool(found.writes))
        if not called:
            return found
        functions = {name: self._functions.get(name) for name in self._reading - {COMPUTED}}
        namespace = replace(namespace, functions={**functions, **namespace.functions})
        return await self._analysed(sql, namespace, client)

    async def _analysed(self, sql: str, namespace: Namespace, client: Client) -> Known | Unknown:
        """The answer of the analysis, with the tables loaded that it needs."""
        asked = False
        for _ in range(MAX_ROUNDS):
            found = await self._analyzers.analyse(sql, namespace, self._snapshot, client)
            if not isinstance(found, Needs):
                self.loaded += asked
                self.from_memory += not asked
                return found
            asked = True
            await self._loader.load(found.tables)
        raise AnalysisUnstable("The statement needs ever more tables to be understood.")

    async def _reading_functions(self, found: Known | Unknown) -> frozenset[str]:
        """The permanent functions written in SQL that it calls and that may read tables."""
        if isinstance(found, Unknown) or not found.permanent:
            return frozenset()
        texts = await self._loader.sql_functions()
        if texts is not self._functions:
            self._functions, self._reading = texts, reading_functions(texts)
        # Names of calls without a database in the text of a temporary function begin with a dot.
        bare = {name for name in found.permanent if name.startswith(".")}
        unclear = {each for each in self._reading if f".{each.rpartition('.')[2]}" in bare}
        return found.permanent & self._reading | unclear


def _client(session: SessionState) -> Client:
    return Client(session.user, id(session))
