"""A process of a test's own that answers JSON lines: a question and an answer are an object each.

Other lines that it writes, such as Spark's, are passed over.
"""

import json
import subprocess
from typing import Any


class JsonLines:
    """Talks to a process whose input and output are pipes of text."""

    def __init__(self, process: "subprocess.Popen[str]", ended: str) -> None:
        """`ended` is what RuntimeError says when the process answers no more."""
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._in, self._out = process.stdin, process.stdout
        self._ended = ended

    def tell(self, question: dict[str, Any]) -> None:
        """Asks and does not wait for the answer."""
        self._in.write(json.dumps(question) + "\n")
        self._in.flush()

    def answer(self) -> dict[str, Any]:
        """The next answer. Raises RuntimeError."""
        for line in self._out:
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
        raise RuntimeError(self._ended)

    def ok(self) -> Any:
        """What the next answer has as `ok`. Raises RuntimeError with what it has as `error`."""
        found = self.answer()
        if "error" in found:
            raise RuntimeError(found["error"])
        return found["ok"]

    def close(self) -> None:
        """Ends the process, which reads to the end of its input."""
        self._in.close()
        self._process.wait(60)
        self._out.close()
