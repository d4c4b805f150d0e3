"""A process that analyses statements, and what is said to it: `[length][pickle]`, both ways.

Parsing holds the interpreter from its first token to its last: in a thread it would stop every
client of the proxy. A statement has a limit of processor time there, not of time: the kernel
(ITIMER_PROF) ends the process at the limit, whatever code is running.
"""

import asyncio
import os
import pickle
import resource
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from time import process_time

from conf.catalog.tables import NotLoaded, TableInfo
from conf.names import TableRef
from dialect.analyze import analyze
from dialect.grammar.cluster_statements import ClusterCommand
from dialect.grammar.cluster_statements import parse as parse_command
from dialect.statement import Analysis, Namespace, Unknown

CPU_SECONDS, CPU_SECONDS_A_MEGABYTE = 2.0, 6.0  # for one statement
MEMORY = 3 << 30  # bytes of address space
LARGEST_ANSWER = 4 << 20  # bytes; a larger one would take the proxy's own time to read
_NICENESS = 10  # those who serve clients go first
_TOO_LONG = Unknown("its analysis takes too long")
_TOO_MUCH = Unknown("its analysis takes too much memory")
_TOO_LARGE = Unknown("what its analysis found is too large")

Tables = Mapping[TableRef, TableInfo | None]


class KnownTables:
    """A catalog of a few tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def table(self, ref: TableRef) -> TableInfo | None:
        try:
            return self._tables[ref]
        except KeyError:
            raise NotLoaded(ref) from None


@dataclass(frozen=True, slots=True)
class Analyze:
    """`dialect.analyze.analyze`, with the tables that are known by now."""

    sql: str
    namespace: Namespace
    tables: Tables


@dataclass(frozen=True, slots=True)
class ReadCommand:
    """`dialect.grammar.cluster_statements.parse`, where clusters are in use."""

    sql: str


Task = Analyze | ReadCommand
Result = Analysis | ClusterCommand | None


def packed(task: Task) -> bytes:
    """The task as an AnalyzerProcess takes it."""
    if isinstance(task, Analyze):
        names = task.namespace
        plain = replace(
            names,
            variables=dict(names.variables),
            temp_views=dict(names.temp_views),
            temp_tables=dict(names.temp_tables),
            session_variables=dict(names.session_variables),
            functions=dict(names.functions),
        )
        task = Analyze(task.sql, plain, dict(task.tables))
    return pickle.dumps(task)


class AnalyzerProcess:
    """One process, one task at a time; started when it is first needed, and again when it ended."""

    def __init__(self, cpu_seconds: float = CPU_SECONDS) -> None:
        self.cpu_seconds = cpu_seconds
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, task: bytes) -> tuple[Result, float]:
        """The result, and the seconds of processor time that it took.

        A task that takes too long or too much memory has an Unknown for its result.
        """
        seconds = self.cpu_seconds + CPU_SECONDS_A_MEGABYTE * len(task) / (1 << 20)
        try:
            return await self._ask(task, seconds)
        except (asyncio.IncompleteReadError, ConnectionError):
            ended = await self.close()
            return (_TOO_LONG, seconds) if ended == -signal.SIGPROF else (_TOO_MUCH, seconds)
        except BaseException:
            await self.close()  # its answer would be taken for the next one's
            raise

    async def _ask(self, task: bytes, seconds: float) -> tuple[Result, float]:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "proxy.statement.analysis.analyzer_process"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        asked = pickle.dumps((seconds, task))
        process.stdin.write(len(asked).to_bytes(8, "big") + asked)
        await process.stdin.drain()
        length = int.from_bytes(await process.stdout.readexactly(8), "big")
        result: tuple[Result, float] = pickle.loads(await process.stdout.readexactly(length))
        return result

    async def close(self) -> int | None:
        """Ends the process, if there is one; its exit status."""
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(ProcessLookupError):
            process.kill()
        return await process.wait()


def main() -> None:
    """Answers until the proxy goes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(_NICENESS)
    asking, answering = sys.stdin.buffer, sys.stdout.buffer
    while head := asking.read(8):
        seconds, task = pickle.loads(asking.read(int.from_bytes(head, "big")))
        began = process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        result = _run(pickle.loads(task))
        answer = pickle.dumps((result, process_time() - began))
        if len(answer) > LARGEST_ANSWER:
            answer = pickle.dumps((_TOO_LARGE, process_time() - began))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answering.write(len(answer).to_bytes(8, "big") + answer)
        answering.flush()


def _run(task: Task) -> Result:
    if isinstance(task, ReadCommand):
        return parse_command(task.sql, in_use=True)
    return analyze(task.sql, task.namespace, KnownTables(task.tables))


if __name__ == "__main__":
    # Not this module's own: what was pickled names the classes of the one that is imported.
    from proxy.statement.analysis import analyzer_process

    analyzer_process.main()
