"""`ALTER TABLE t COPY a TO b` through the proxy: `causeway copy` as a child process (DC-P1)."""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.errors import CopyFailed
from conf.logs.log_fields import environment
from conf.names import TableRef
from pipeline.copy.filter import filter_of

_AT_ONCE = 2  # copies; each has a JVM of its own
_ERROR = 2000  # last characters of a failed child's error output


@dataclass(frozen=True, slots=True)
class Copier:
    """Makes copies with the settings in `target`; a few at the same time, the others wait."""

    target: Path
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def __call__(
        self, table: TableRef, partition: Sequence[tuple[str, str]], source: str, target: str
    ) -> str:
        """A line that summarises the copy. Raises CopyFailed; a cancelled child is terminated."""
        arguments = [
            "copy",
            str(table),
            "--conf",
            str(self.target),
            "--from",
            source,
            "--to",
            target,
        ]
        if partition:
            arguments += ["--partition", filter_of(partition)]
        async with self.turns:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "cli.main", *arguments, "--json"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment(),
            )
            try:
                out, problem = await child.communicate()
            finally:
                if child.returncode is None:
                    with suppress(ProcessLookupError):
                        child.terminate()
        return result(child.returncode or 0, out.decode(), problem.decode())


def result(status: int, out: str, problem: str) -> str:
    """The summary in the child's output. Raises CopyFailed."""
    report = _report(out)
    if status != 0 or report is None:
        failed = list((report or {}).get("failed", {}).values())
        errors = [line for line in problem.splitlines() if line.startswith("causeway: ")]
        reasons = failed[:1] or [line.removeprefix("causeway: ") for line in errors[-1:]]
        raise CopyFailed(reasons[0] if reasons else problem[-_ERROR:] or f"status {status}")
    return (
        f"{len(report['published'])} copied, {report['fresh']} fresh,"
        f" {report['bytes_sent']} bytes in {report['files_sent']} files"
    )


def _report(out: str) -> dict[str, Any] | None:
    lines = out.splitlines()
    try:
        report = json.loads(lines[-1])
    except (IndexError, ValueError):
        return None
    return report if isinstance(report, dict) and "published" in report else None
