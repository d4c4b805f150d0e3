"""Makes the copies of `ALTER TABLE t COPY a TO b` by `causeway copy` as a child process (DC-P1)."""

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

_MAX_CHILDREN = 2  # at the same time; each has a JVM of its own
_PROGRESS = b'{"event": "progress",'
_ERROR_LENGTH = 2000  # last characters of a failed child's error output in CopyFailed
_MAX_ABSENT = 3  # missing partitions that a summary names


@dataclass(frozen=True, slots=True)
class CopierByChild:
    """Makes copies with the settings in `target`, a few at the same time; the others wait.

    `command` starts a child. A child that does not end within `grace` seconds after SIGTERM is
    killed.
    """

    target: Path
    command: Sequence[str] = CAUSEWAY
    grace: float = 10.0
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_CHILDREN))

    async def __call__(self, order: CopyOrder, progress: Progress = no_progress) -> CopySummary:
        """Makes the copy. A cancelled call returns after the child has ended.

        Sends the names of the partitions to the child's standard input, because an argument of a
        command is limited to 128 KiB. Raises CopyFailed.
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
        """Terminates the child, and kills it if it does not end in time."""
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
            if child.returncode is None:  # this wait was cancelled
                with suppress(ProcessLookupError):
                    child.kill()


async def _read(child: Process, names: bytes, progress: Progress) -> tuple[bytes, bytes]:
    """Waits for the child's end. Returns the last line of its output, and its error output."""
    stdin, stdout, stderr = child.stdin, child.stdout, child.stderr
    assert stdin is not None and stdout is not None and stderr is not None  # noqa: PT018
    last, errors, *_ = await asyncio.gather(
        _last_line(stdout, progress), stderr.read(), _write(stdin, names), child.wait()
    )
    return last, errors


async def _write(stdin: asyncio.StreamWriter, names: bytes) -> None:
    with suppress(ConnectionError):  # the child may have ended
        stdin.write(names)
        await stdin.drain()
    stdin.close()


async def _last_line(out: asyncio.StreamReader, progress: Progress) -> bytes:
    last = b""
    async for line in out:
        last = line
        if line.startswith(_PROGRESS):  # avoids parsing the last line, which may be long
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
        raise CopyFailed(reasons[0] if reasons else problem[-_ERROR_LENGTH:] or f"status {status}")
    absent = report.get("absent") or ()
    text = (
        f"{len(report['published'])} copied, {report['fresh']} fresh,"
        f" {report['bytes_sent']} bytes in {report['files_sent']} files"
        + (f"; not in the table: {', '.join(absent[:_MAX_ABSENT])}" if absent else "")
        + (f" and {len(absent) - _MAX_ABSENT} more" if len(absent) > _MAX_ABSENT else "")
    )
    return CopySummary(text, report["bytes_sent"])


def _report(out: str) -> dict[str, Any] | None:
    report = object_in(out.splitlines()[-1]) if out else {}
    return report if "published" in report else None
