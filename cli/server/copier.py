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
from conf.log_fields import environment
from conf.names import TableRef
from pipeline.copy.filter import filter_of

_AT_ONCE = 2  # each has a JVM of its own
_LAST_WORDS = 2000  # characters of what a failed child said


@dataclass(frozen=True, slots=True)
class Copier:
    """Copies as the settings in `target` say; a few at once, the others wait."""

    target: Path
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def __call__(
        self, table: TableRef, partition: Sequence[tuple[str, str]], source: str, target: str
    ) -> str:
        """One line on what was done. Raises CopyFailed; a cancelled child is ended."""
        words = ["copy", str(table), "--conf", str(self.target), "--from", source, "--to", target]
        if partition:
            words += ["--partition", filter_of(partition)]
        async with self.turns:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "cli.main", *words, "--json"),
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
    """What the child's last words mean. Raises CopyFailed."""
    report = _report(out)
    if status != 0 or report is None:
        failed = list((report or {}).get("failed", {}).values())
        said = [line for line in problem.splitlines() if line.startswith("causeway: ")]
        why = failed[:1] or [line.removeprefix("causeway: ") for line in said[-1:]]
        raise CopyFailed(why[0] if why else problem[-_LAST_WORDS:] or f"status {status}")
    return (
        f"{len(report['published'])} copied, {report['fresh']} fresh,"
        f" {report['bytes_sent']} bytes in {report['files_sent']} files"
    )


def _report(out: str) -> dict[str, Any] | None:
    lines = out.splitlines()
    try:
        told = json.loads(lines[-1])
    except (IndexError, ValueError):
        return None
    return told if isinstance(told, dict) and "published" in told else None
