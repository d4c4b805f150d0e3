"""A process that analyses statements, and its protocol: `[length: 8 bytes][pickle]`, both ways.

Parsing holds the interpreter from its first token to its last: in a thread it would block all
clients of the proxy. A statement has a limit of processor time in the process, not of elapsed time:
the kernel (ITIMER_PROF) ends the process at the limit, whatever code it runs.
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

CPU_SECONDS, CPU_SECONDS_A_MEGABYTE = 2.0, 6.0  # for one statement, and more for its length
MEMORY = 3 << 30  # bytes of address space
LARGEST_ANSWER = 4 << 20  # bytes; a larger one would take too long to read in the event loop
_NICENESS = 10  # processes that serve clients have precedence
_TOO_LONG = Unknown("its analysis takes too long")
_TOO_MUCH = Unknown("its analysis takes too much memory")
_TOO_LARGE = Unknown("what its analysis found is too large")

Tables = Mapping[TableRef, TableInfo | None]


class KnownTables:
    """A catalog of the given tables; any other table is not loaded."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def table(self, ref: TableRef) -> TableInfo | None:
        try:
            return self._tables[ref]
        except KeyError:
            raise NotLoaded(ref) from None


@dataclass(frozen=True, slots=True)
class Analyze:
    """The task to call `dialect.analyze.analyze` with these tables."""

    sql: str
    namespace: Namespace
    tables: Tables


@dataclass(frozen=True, slots=True)
class ParseCommand:
    """The task to call `dialect.grammar.cluster_statements.parse` (clusters are in use)."""

    sql: str


Task = Analyze | ParseCommand
Result = Analysis | ClusterCommand | None


def packed(task: Task) -> bytes:
    """The task as bytes for `AnalyzerProcess.run`."""
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
    """A process for one task at a time. It is started for the first task, and after it has ended,
    again for the next one."""

    def __init__(self, cpu_seconds: float = CPU_SECONDS) -> None:
        self.cpu_seconds = cpu_seconds
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, task: bytes) -> tuple[Result, float]:
        """Runs the task. Returns the result, and the seconds of processor time used.

        The result of a task that takes too much time or memory is an Unknown.
        """
        seconds = self.cpu_seconds + CPU_SECONDS_A_MEGABYTE * len(task) / (1 << 20)
        try:
            return await self._send(task, seconds)
        except (asyncio.IncompleteReadError, ConnectionError):
            ended = await self.close()
            return (_TOO_LONG, seconds) if ended == -signal.SIGPROF else (_TOO_MUCH, seconds)
        except BaseException:
            await self.close()  # its answer would be read as that of the next task
            raise

    async def _send(self, task: bytes, seconds: float) -> tuple[Result, float]:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "proxy.statement.analysis.analyzer_process"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        request = pickle.dumps((seconds, task))
        process.stdin.write(len(request).to_bytes(8, "big") + request)
        await process.stdin.drain()
        length = int.from_bytes(await process.stdout.readexactly(8), "big")
        result: tuple[Result, float] = pickle.loads(await process.stdout.readexactly(length))
        return result

    async def close(self) -> int | None:
        """Kills the process. Returns its exit status; None if there is none."""
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(ProcessLookupError):
            process.kill()
        return await process.wait()


def main() -> None:
    """The process: runs tasks until the proxy closes the pipe."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(_NICENESS)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while head := requests.read(8):
        seconds, task = pickle.loads(requests.read(int.from_bytes(head, "big")))
        began = process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        result = _run(pickle.loads(task))
        answer = pickle.dumps((result, process_time() - began))
        if len(answer) > LARGEST_ANSWER:
            answer = pickle.dumps((_TOO_LARGE, process_time() - began))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(len(answer).to_bytes(8, "big") + answer)
        answers.flush()


def _run(task: Task) -> Result:
    if isinstance(task, ParseCommand):
        return parse_command(task.sql, in_use=True)
    return analyze(task.sql, task.namespace, KnownTables(task.tables))


if __name__ == "__main__":
    # Pickled tasks name the classes of this module as imported, not those of `__main__`.
    from proxy.statement.analysis import analyzer_process

    analyzer_process.main()
