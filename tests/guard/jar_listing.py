"""Calls the jar's input format for Hudi tables, in a JVM of its own."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.hudi.errors import (
    BadRange,
    DamagedTimeline,
    HollowCommit,
    IncrementalError,
    MissingPath,
    UnsupportedTable,
)
from pipeline.hudi.table.storage import FileInfo
from tests.guard.java_cases import command
from tests.json_lines import JsonLines

_ERRORS: tuple[type[IncrementalError], ...] = (
    UnsupportedTable, DamagedTimeline, HollowCommit, BadRange,
)  # fmt: skip


class JarListing:
    """Has the parameters of `list_status`. `listed` and `opened` are the paths that the last call
    listed and opened."""

    def __init__(self, jar: Path) -> None:
        argv = command(jar, "ListingCases")
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self._lines = JsonLines(process, "Java has ended")
        self.listed: list[str] = []
        self.opened: list[str] = []

    def __call__(self, paths: Sequence[str], conf: Mapping[str, str]) -> list[FileInfo]:
        self._lines.tell({"paths": paths, "conf": conf})
        answer = self._lines.answer()
        if "error" in answer:
            raise _error(str(answer["error"]))
        self.listed, self.opened = answer["listed"], answer["opened"]
        return [FileInfo(path, length, 0, is_dir) for path, length, is_dir in answer["files"]]

    def close(self) -> None:
        self._lines.close()


def _error(text: str) -> Exception:
    """Returns the exception that `list_status` raises for the jar's error."""
    for kind in _ERRORS:
        if text.startswith(f"[{kind.code}] "):
            return kind(text.partition("] ")[2])
    if "does not exist" in text or "matches 0 files" in text:
        return MissingPath(text)
    return RuntimeError(text)
