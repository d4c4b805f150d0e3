"""`ALTER TABLE t COPY a TO b` through the proxy: `causeway copy` as a child process (DC-P1)."""

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.errors import CopyFailed
from cli.server.child_output import CAUSEWAY, LONGEST_LINE, object_in
from conf.logs.log_fields import environment
from conf.names import partition_name
from conf.progress import Progress, no_progress
from proxy.statement.copies.copier import CopyOrder, CopySummary

_AT_ONCE = 2  # copies; each has a JVM of its own
_PROGRESS = b'{"event": "progress",'
_ERROR = 2000  # last characters of a failed child's error output
_ABSENT = 3  # partitions that the table lacks, in a summary


@dataclass(frozen=True, slots=True)
class CopierByChild:
    """Makes copies with the settings in `target`; a few at the same time, the others wait.

    `command` starts a child, which has `grace` seconds to end when it is terminated.
    """

    target: Path
    command: Sequence[str] = CAUSEWAY
    grace: float = 10.0
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def __call__(self, order: CopyOrder, progress: Progress = no_progress) -> CopySummary:
        """Makes the copy.

        Raises CopyFailed. When it is cancelled, the child has ended before it returns. The names of
        the partitions go to the child's standard input, which takes any number of them: one
        argument of a command has a limit of 128 KiB.
        """
        arguments = ["copy", str(order.table), "--from", order.source, "--to", order.target]
        arguments += ["--json", "--conf", str(self.target)]
        if order.partitions:
            arguments += ["--partition-names", "-"]
        if order.most is not None:
            arguments += ["--most", str(order.most)]
        if order.keep is not None:
            arguments += ["--keep", str(order.keep)]
        if order.bandwidth:
            arguments += ["--bandwidth", str(order.bandwidth)]
        names = "".join(f"{partition_name(each)}\n" for each in order.partitions)
        async with self.turns:
            child = await asyncio.create_subprocess_exec(
                *self.command,
                *arguments,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=environment(),
                limit=LONGEST_LINE,
            )
            try:
                out, problem = await _read(child, names.encode(), progress)
            finally:
                await self._end(child)
        return result(child.returncode or 0, out.decode(), problem.decode())

    async def _end(self, child: Process) -> None:
        """Terminates the child if it runs, and kills it if it goes on."""
        if child.returncode is not None:
            return
        try:
            for stop in (child.terminate, child.kill):
                with suppress(ProcessLookupError):
                    stop()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.grace):
                        await child.wait()
                        return
        finally:
            if child.returncode is None:  # this wait was cancelled, too
                with suppress(ProcessLookupError):
                    child.kill()


async def _read(child: Process, names: bytes, progress: Progress) -> tuple[bytes, bytes]:
    """The last line of the child's output, and its error output, when it has ended."""
    given, out, problem = child.stdin, child.stdout, child.stderr
    assert given is not None and out is not None and problem is not None  # noqa: PT018
    last, errors, *_ = await asyncio.gather(
        _last_line(out, progress), problem.read(), _give(given, names), child.wait()
    )
    return last, errors


async def _give(to: asyncio.StreamWriter, names: bytes) -> None:
    with suppress(ConnectionError):  # it may have ended
        to.write(names)
        await to.drain()
    to.close()


async def _last_line(out: asyncio.StreamReader, progress: Progress) -> bytes:
    last = b""
    async for line in out:
        last = line
        if line.startswith(_PROGRESS):  # the last line may be long, and is read once
            event = object_in(line)
            progress(event["bytes"], event["of"])
    return last


def result(status: int, out: str, problem: str) -> CopySummary:
    """The summary in the child's output. Raises CopyFailed."""
    report = _report(out)
    if status != 0 or report is None:
        failed = list((report or {}).get("failed", {}).values())
        errors = [line for line in problem.splitlines() if line.startswith("causeway: ")]
        reasons = failed[:1] or [line.removeprefix("causeway: ") for line in errors[-1:]]
        raise CopyFailed(reasons[0] if reasons else problem[-_ERROR:] or f"status {status}")
    absent = report.get("absent") or ()
    text = (
        f"{len(report['published'])} copied, {report['fresh']} fresh,"
        f" {report['bytes_sent']} bytes in {report['files_sent']} files"
        + (f"; not in the table: {', '.join(absent[:_ABSENT])}" if absent else "")
        + (f" and {len(absent) - _ABSENT} more" if len(absent) > _ABSENT else "")
    )
    return CopySummary(text, report["bytes_sent"])


def _report(out: str) -> dict[str, Any] | None:
    report = object_in(out.splitlines()[-1]) if out else {}
    return report if "published" in report else None
