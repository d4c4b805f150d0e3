"""From a statement's text to its analysis. Loads the tables that it needs from the metastore."""

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
from proxy.statement.metastore_access import Loader, SnapshotAccess

MAX_ROUNDS = 64  # of loading tables and analysing again


class StatementAnalysis:
    """Analyses the statements of all sessions."""

    def __init__(self, snapshot: SnapshotAccess, loader: Loader) -> None:
        self._snapshot = snapshot
        self._loader = loader
        self._analyzers = AnalyzerPool()
        self._functions: Mapping[str, ViewText | None] = {}
        self._reading: frozenset[str] = frozenset()  # those of them that may read tables
        self.from_memory = self.loaded = 0  # numbers of analyses without and with loading

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
        """The statement's analysis. Raises a CausewayError if the metastore cannot be read."""
        namespace, client = session.namespace(), _client(session)
        analysis = await self._analysed(sql, namespace, client)
        called = await self._reading_functions(analysis)
        if COMPUTED in called:
            assert isinstance(analysis, Known)
            why = "the name of a function is computed, and some read tables"
            return Unknown(why, bool(analysis.writes))
        if not called:
            return analysis
        functions = {name: self._functions.get(name) for name in self._reading - {COMPUTED}}
        namespace = replace(namespace, functions={**functions, **namespace.functions})
        return await self._analysed(sql, namespace, client)

    async def _analysed(self, sql: str, namespace: Namespace, client: Client) -> Known | Unknown:
        """Analyses the statement, and loads the tables that the analysis needs."""
        has_loaded = False
        for _ in range(MAX_ROUNDS):
            analysis = await self._analyzers.analyse(sql, namespace, self._snapshot, client)
            if not isinstance(analysis, Needs):
                self.loaded += has_loaded
                self.from_memory += not has_loaded
                return analysis
            has_loaded = True
            await self._loader.load(analysis.tables)
        raise AnalysisUnstable("The statement needs ever more tables to be understood.")

    async def _reading_functions(self, analysis: Known | Unknown) -> frozenset[str]:
        """The permanent functions that the statement calls, are written in SQL and may read
        tables."""
        if isinstance(analysis, Unknown) or not analysis.permanent:
            return frozenset()
        texts = await self._loader.sql_functions()
        if texts is not self._functions:
            self._functions, self._reading = texts, reading_functions(texts)
        # Names of calls without a database in the text of a temporary function begin with a dot.
        bare = {name for name in analysis.permanent if name.startswith(".")}
        unclear = {each for each in self._reading if f".{each.rpartition('.')[2]}" in bare}
        return analysis.permanent & self._reading | unclear


def _client(session: SessionState) -> Client:
    return Client(session.user, id(session))
