"""What guards refuse because no claim covers it, counted for every server that a test starts.

A guard appends each refusal to the file that `spark.causeway.refusals.file` names. The virtual
machines of all stacks, `causeway up`'s too, have that setting by JDK_JAVA_OPTIONS. After each test
the codes in the file have to be those that its mark `provokes` names, by default none.
"""

import atexit
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyhive import hive
from TCLIService import ttypes

from conf.topology import Endpoint
from router.claim import KEY

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
    """What is wrong with a test that provokes these codes; empty where nothing is. One that did not
    pass may have provoked some of them."""
    codes = {each["code"] for each in refused}
    if codes == provoked or (codes < provoked and not passed):
        return ""
    shown = "\n".join(f"{each['refusal']}\n    {each['statement']}" for each in refused)
    return f"guards refused {sorted(codes)}, the test provokes {sorted(provoked)}\n{shown}"


def refused_directly(
    endpoint: Endpoint, query: str, settings: Sequence[str] = (), **claim: Any
) -> str:
    """A Thrift Server's error for a statement with that claim: by default it reads nothing."""
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        for each in settings:
            connection.cursor().execute(each)
        request = ttypes.TExecuteStatementReq(
            connection.sessionHandle, query, {KEY: json.dumps({"v": 1, **claim})}, runAsync=False
        )
        message: str = connection.client.ExecuteStatement(request).status.errorMessage
        return message
