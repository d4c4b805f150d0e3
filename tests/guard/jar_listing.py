"""The jar's input format for Hudi tables, in a Java of its own."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.stack.java import find_java
from cli.stack.stack import spark_home
from pipeline.hudi.errors import (
    BadRange,
    DamagedTimeline,
    HollowCommit,
    IncrementalError,
    MissingPath,
    UnsupportedTable,
)
from pipeline.hudi.table.storage import FileInfo

PROGRAM = Path(__file__).parent / "java" / "ListingCases.java"
_ERRORS: tuple[type[IncrementalError], ...] = (
    UnsupportedTable, DamagedTimeline, HollowCommit, BadRange,
)  # fmt: skip


class JarListing:
    """Called as `list_status` is. `listed` and `opened` are the paths of the last call's calls."""

    def __init__(self, jar: Path) -> None:
        argv = [str(find_java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp"]
        argv += [os.pathsep.join((str(jar), f"{spark_home() / 'jars'}/*"))]
        argv += ["org.codehaus.janino.SimpleCompiler", str(PROGRAM), "ListingCases"]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self.listed: list[str] = []
        self.opened: list[str] = []

    def __call__(self, paths: Sequence[str], conf: Mapping[str, str]) -> list[FileInfo]:
        answer = self._answer({"paths": paths, "conf": conf})
        if "error" in answer:
            raise _error(str(answer["error"]))
        self.listed, self.opened = answer["listed"], answer["opened"]
        return [FileInfo(path, length, 0, is_dir) for path, length, is_dir in answer["files"]]

    def _answer(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise RuntimeError("Java has ended")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def _error(text: str) -> Exception:
    """What `list_status` raises for it."""
    for kind in _ERRORS:
        if text.startswith(f"[{kind.code}] "):
            return kind(text.partition("] ")[2])
    if "does not exist" in text or "matches 0 files" in text:
        return MissingPath(text)
    return RuntimeError(text)
