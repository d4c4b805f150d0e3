"""Measures what a range of commits reads, by `causeway incremental plan` as a child process."""

import asyncio
import logging
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from cli.server.child_output import CAUSEWAY, LONGEST_LINE, object_in
from conf.logs.log_fields import environment
from proxy.statement.change_sizes import ChangeSize, FilesRead
from router.claim import ChangeRange

_log = logging.getLogger(__name__)
_MAX_CHILDREN = 2  # at the same time
_MAX_ERROR_BYTES = 64 << 10  # kept of a child's error output


@dataclass(frozen=True, slots=True)
class ChangeSizesByChild:
    """Plans ranges in child processes, a few at the same time. A request ends after `seconds`,
    which include waiting for a turn; its child is killed then. `command` starts a child.
    """

    command: Sequence[str] = CAUSEWAY
    seconds: float = 10.0
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_CHILDREN))

    async def __call__(self, location: str, changes: ChangeRange) -> ChangeSize | None:
        """The size of the range. It lacks the size of the whole table if that takes too long. None,
        with a warning in the log, if this machine cannot read the table without Spark."""
        lines: list[bytes] = []
        problem = "it takes too long"
        with suppress(TimeoutError):
            async with asyncio.timeout(self.seconds), self.turns:
                problem = await self._run(arguments(location, changes), lines)
        found = size(lines)
        if found is None:
            _log.warning("the changes of %s cannot be counted: %s", location, problem)
        return found

    async def _run(self, given: Sequence[str], lines: list[bytes]) -> str:
        """Adds the child's lines to `lines`. Returns the last line of its error output."""
        child = await asyncio.create_subprocess_exec(
            *self.command, *given,
            stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environment(), limit=LONGEST_LINE,
        )  # fmt: skip
        try:
            problem, _ = await asyncio.gather(_last_line(child), _read(child, lines))
            return problem
        finally:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    child.kill()
                await asyncio.shield(child.wait())


def arguments(location: str, changes: ChangeRange) -> list[str]:
    """The child's arguments."""
    found = ["incremental", "plan", "--json", "--whole", "--without-spark"]
    found += ["--since", changes.start]
    if changes.end is not None:
        found += ["--until", changes.end]
    if changes.commits is not None:
        found += ["--max-commits", str(changes.commits)]
    return [*found, "--", location]


def size(lines: Sequence[bytes]) -> ChangeSize | None:
    """The size in the child's lines: the first object is the plan, the second, if it was printed
    in time, the size of the whole table."""
    documents = [each for line in lines if (each := object_in(line))]
    if not documents:
        return None
    planned = documents[0]
    of = documents[1] if len(documents) > 1 else None
    whole = None if of is None else FilesRead(of["partitions"], of["files"], of["bytes"])
    is_partitioned = planned["partitions"] != [""] and (
        whole is None or whole.partitions is not None
    )
    partitions = len(planned["partitions"]) if is_partitioned else None
    changed = FilesRead(partitions, len(planned["files"]), planned["bytes"])
    return ChangeSize(len(planned["commits"]), changed, whole, planned["fallback"])


async def _read(child: Process, lines: list[bytes]) -> None:
    assert child.stdout is not None
    with suppress(ValueError):  # a line of more than LONGEST_LINE
        async for line in child.stdout:
            lines.append(line)  # lines before a time-out are used
    await child.wait()


async def _last_line(child: Process) -> str:
    assert child.stderr is not None
    text = b""
    while more := await child.stderr.read(_MAX_ERROR_BYTES):
        text = (text + more)[-_MAX_ERROR_BYTES:]
    lines = text.decode("utf-8", "replace").splitlines()
    return lines[-1].removeprefix("causeway: ") if lines else "it ended without a result"
