"""Long statements are analysed in a process of their own.

Parsing holds the interpreter from its first token to its last, some 1.6 s a megabyte: in a thread
it would stop every client of the proxy. The process is started when it is first needed and ended
when a statement takes too long or too much memory; such a statement is not understood.

Between the two: `[length][pickle]`, both ways.
"""

import asyncio
import pickle
import resource
import sys
from collections.abc import Mapping
from contextlib import suppress

from conf.names import TableRef
from conf.tables import NotLoaded, TableInfo
from dialect.analyze import analyze
from dialect.statement import Analysis, Namespace, Unknown

PATIENCE = 30.0  # seconds
MEMORY = 3 << 30  # bytes of address space

Tables = Mapping[TableRef, TableInfo | None]


class Told:
    """A catalog that knows what it was told."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def table(self, ref: TableRef) -> TableInfo | None:
        try:
            return self._tables[ref]
        except KeyError:
            raise NotLoaded(ref) from None


class Worker:
    """One process; statements wait for their turn."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    async def analyse(self, sql: str, namespace: Namespace, tables: Tables) -> Analysis:
        """What `analyze` says, or Unknown when that cannot be had."""
        plain = Namespace(
            namespace.database,
            dict(namespace.variables),
            dict(namespace.temp_views),
            dict(namespace.temp_tables),
        )
        asked = pickle.dumps((sql, plain, dict(tables)))
        async with self._turn:
            try:
                async with asyncio.timeout(self._patience):
                    return await self._ask(asked)
            except TimeoutError:
                await self.close()
                return Unknown(f"it is {len(sql):,} characters long and takes too long to read")
            except (asyncio.IncompleteReadError, ConnectionError):
                await self.close()
                return Unknown(f"it is {len(sql):,} characters long and takes too much memory")
            except BaseException:
                await self.close()  # its answer would be taken for the next one's
                raise

    async def _ask(self, asked: bytes) -> Analysis:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "proxy.net.worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(len(asked).to_bytes(8, "big") + asked)
        await process.stdin.drain()
        length = int.from_bytes(await process.stdout.readexactly(8), "big")
        answer: Analysis = pickle.loads(await process.stdout.readexactly(length))
        return answer

    async def close(self) -> None:
        """Ends the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def main() -> None:
    """Answers until the proxy goes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    asking, answering = sys.stdin.buffer, sys.stdout.buffer
    while head := asking.read(8):
        sql, namespace, tables = pickle.loads(asking.read(int.from_bytes(head, "big")))
        answer = pickle.dumps(analyze(sql, namespace, Told(tables)))
        answering.write(len(answer).to_bytes(8, "big") + answer)
        answering.flush()


if __name__ == "__main__":
    main()
