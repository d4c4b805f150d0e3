"""Spark's own lexer and parser in a JVM beside the tests, called for thousands of texts at once."""

import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import Thread

import pytest

from cli.stack.errors import JavaMissing
from cli.stack.java import find_java
from cli.stack.stack import spark_home
from tests.class_archive import class_path

_PROGRAMS = sorted(Path(__file__).parent.glob("*.java"))
_MODULES = ("java.lang", "java.util", "java.nio", "sun.nio.ch", "java.net")
_FLUSH, _END = struct.pack(">i", -1), struct.pack(">i", 0)
_BATCH = 2_000

Request = tuple[str, str]
Answer = list[str]


class SparkText:
    """Results of `SparkReads.java`: the fields of each, with `error` first if Spark refuses."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def answers(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """One answer for each request, in order."""
        waiting = iter(requests)
        while batch := list(islice(waiting, _BATCH)):
            yield from self._batch(batch)

    def words(self, texts: Iterable[str]) -> Iterator[Answer]:
        """The words of each text: `closed` or `unclosed`, then symbol, start and end."""
        return self.answers(("L", text) for text in texts)

    def tables(self, texts: Iterable[str]) -> Iterator[Answer]:
        """The class of each text's plan, then owner, class and name of each table in it."""
        return self.answers(("P", text) for text in texts)

    def statements(self, seeds: Iterable[int]) -> Iterator[list[str]]:
        """The words of a random statement of Spark's grammar for each seed."""
        return self.answers(("G", str(seed)) for seed in seeds)

    def scripts(self, seeds: Iterable[int]) -> Iterator[list[str]]:
        """The words of a random script for each seed."""
        return self.answers(("S", str(seed)) for seed in seeds)

    def keywords(self) -> list[str]:
        """The keywords of Spark's grammar, in lower case."""
        return self._batch([("K", "")])[0]

    def set(self, key: str, value: str) -> None:
        """Set a configuration key for the texts that follow."""
        self._batch([("C", f"{key}={value}")])

    def _batch(self, batch: Sequence[Request]) -> list[Answer]:
        sending = Thread(target=self._send, args=(batch,))
        sending.start()
        answers = [self._answer() for _ in batch]
        sending.join()
        return answers

    def _send(self, batch: Sequence[Request]) -> None:
        assert self._process.stdin is not None
        for kind, text in batch:
            data = (kind + text).encode()
            self._process.stdin.write(struct.pack(">i", len(data)) + data)
        self._process.stdin.write(_FLUSH)
        self._process.stdin.flush()

    def _answer(self) -> Answer:
        assert self._process.stdout is not None
        head = self._process.stdout.read(4)
        assert len(head) == 4, "Spark's JVM ended"
        text = self._process.stdout.read(struct.unpack(">i", head)[0]).decode()
        return text.removesuffix("\x01").split("\x01")


@contextmanager
def spark_text(folder: Path) -> Iterator[SparkText]:
    """Starts the JVM with classes in `folder`. Skips the test if there is no Java compiler."""
    try:
        java = find_java()
    except JavaMissing as missing:
        pytest.skip(f"no Java: {missing}")
    compiler = shutil.which("javac", path=str(java.parent)) or shutil.which("javac")
    if compiler is None:
        pytest.skip("this Java has no compiler")
    jars = f"{spark_home()}/jars/*"
    words = [compiler, "-nowarn", "-d", str(folder), "-cp", jars, *map(str, _PROGRAMS)]
    subprocess.run(words, check=True, timeout=120, capture_output=True)
    words = [str(java), "-Xmx2g", "-Xss16m", "-XX:+UseSerialGC"]
    words += [f"--add-opens=java.base/{module}=ALL-UNNAMED" for module in _MODULES]
    words += ["-cp", class_path(folder), "SparkReads"]
    with (
        (folder / "spark.log").open("wb") as log,
        subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        try:
            yield SparkText(process)
        finally:
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.write(_END)
                process.stdin.close()
