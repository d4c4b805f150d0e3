"""Runs a command under a lease: logs its output, and ends it if the lease is lost."""

import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pipeline.lease import WorkLease
from pipeline.processes.errors import CannotRun, ScriptFailed

_TAIL_LINES = 200  # last lines of the output that are logged
_LINE = 2000  # bytes of a line; longer ones are split
_TERM_SECONDS = 10.0  # between SIGTERM and SIGKILL
# `pyspark.errors.AnalysisException: ..`, `Exception in thread "main" ..`, `Caused by: ..`
_EXCEPTION = re.compile(
    r'(?:Exception in thread "[^"]*" |Caused by: )?'
    r"(?:[A-Za-z_]\w*[.$])*[A-Z]\w*(?:Error|Exception)(?::|$)"
)


def run_program(command: Sequence[str], environment: Mapping[str, str], lease: WorkLease) -> str:
    """Runs the command to its end; returns a line of text about it. Raises ScriptFailed with the
    cause if it does not end with 0, CannotRun, LeaseLost.

    It has its own process group, which is terminated, and then killed, if the lease is lost.
    """
    lease.check()
    lease.log("$ " + " ".join(command)[:_LINE])
    try:
        program = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    except OSError as error:
        raise CannotRun(f"{command[0]}: {error.strerror}", final=True) from error
    with program:
        lease.on_loss(lambda: _end(program))
        tail = _drain(program)
    if tail:
        lease.log("\n".join(tail))
    lease.check()
    if program.returncode != 0:
        raise ScriptFailed(f"{command[0]} ended with {program.returncode}: {cause(tail)}"[:4000])
    return f"{os.path.basename(command[0])} ended with 0"


def cause(output: Sequence[str]) -> str:
    """The last line of a program's output that names an exception of Python or Java; else the last
    lines.
    """
    named = [line for line in output if _EXCEPTION.match(line)]
    return named[-1] if named else " | ".join(list(output)[-5:])


def _drain(program: "subprocess.Popen[bytes]") -> deque[str]:
    """Reads the output to its end; returns the last lines."""
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    assert program.stdout is not None
    while line := program.stdout.readline(_LINE):
        if text := line.decode(errors="replace").rstrip():
            tail.append(text)
    return tail


def _end(program: "subprocess.Popen[bytes]") -> None:
    """Terminates the process group, and kills it after _TERM_SECONDS if the program still runs."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, signal.SIGTERM)
    timer = threading.Timer(_TERM_SECONDS, _kill, (program,))
    timer.daemon = True
    timer.start()


def _kill(program: "subprocess.Popen[bytes]") -> None:
    if program.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, signal.SIGKILL)
