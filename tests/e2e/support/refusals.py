"""The refusals of all guards by claims, in every server that a test starts.

A guard appends each refusal to the file that `spark.causeway.refusals.file` names. The virtual
machines of all stacks, `causeway up`'s too, have that setting by JDK_JAVA_OPTIONS. After each test
the codes in the file have to be those of its mark `provokes`, by default none.
"""

import atexit
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SETTING = "-Dspark.causeway.refusals.file="


@dataclass(slots=True)
class Refusals:
    """The file's lines, each of which is taken once."""

    file: Path
    _taken: int = 0

    def take(self) -> list[dict[str, Any]]:
        """The refusals since the last call."""
        lines = self.file.read_bytes().splitlines()[self._taken :]
        self._taken += len(lines)
        return [json.loads(line) for line in lines]


def _collected() -> Refusals:
    """The refusals of the servers that this process starts from now on."""
    handle, name = tempfile.mkstemp(prefix="causeway-refusals-", suffix=".jsonl")
    os.close(handle)
    atexit.register(Path(name).unlink)
    os.environ["JDK_JAVA_OPTIONS"] += f" {_SETTING}{name}"
    return Refusals(Path(name))


REFUSALS = _collected()


def difference(provoked: set[str], refused: list[dict[str, Any]], *, passed: bool) -> str:
    """The fault of a test with the mark `provokes` for these codes; empty without one. A test that
    did not pass may have provoked some of them alone."""
    codes = {each["code"] for each in refused}
    if codes == provoked or (codes < provoked and not passed):
        return ""
    shown = "\n".join(f"{each['refusal']}\n    {each['statement']}" for each in refused)
    return f"guards refused {sorted(codes)}, the test provokes {sorted(provoked)}\n{shown}"
