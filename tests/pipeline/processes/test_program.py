"""Programs run under a lease."""

import sys
import threading

import pytest

from pipeline.errors import LeaseLost
from pipeline.processes.errors import CannotRun, ScriptFailed
from pipeline.processes.program import cause, run_program
from tests.pipeline.processes.lease import WorkLease


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_is_logged_and_the_environment_given() -> None:
    lease = WorkLease()
    code = "import os, sys; print(os.environ['WORD']); print('err', file=sys.stderr)"
    assert run_program(python(code), {"WORD": "hello"}, lease).endswith("ended with 0")
    assert set(lease.lines[-1].splitlines()) == {"hello", "err"}


def test_failures_say_how_they_ended() -> None:
    with pytest.raises(ScriptFailed, match=r"ended with 3: line 98 \| line 99"):
        run_program(python("[print('line', n) for n in (98, 99)]; exit(3)"), {}, WorkLease())
    with pytest.raises(CannotRun, match="No such file"):
        run_program(["/no/such/program"], {}, WorkLease())


def test_endless_output_is_bounded() -> None:
    lease = WorkLease()
    run_program(python("print('x' * 5_000_000); [print(n) for n in range(100_000)]"), {}, lease)
    assert len(lease.lines[-1]) < 1_000_000


def test_a_lost_lease_ends_the_program() -> None:
    lease = WorkLease()
    timer = threading.Timer(0.3, lease.lose)
    timer.start()
    with pytest.raises(LeaseLost):
        run_program(python("import time; print('on', flush=True); time.sleep(3600)"), {}, lease)
    timer.join()


PYTHON = """24/01/01 00:00:00 INFO SparkContext: Running Spark
Traceback (most recent call last):
  File "job.py", line 3, in <module>
    spark.table("none").count()
pyspark.errors.exceptions.captured.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] `none`
24/01/01 00:00:01 INFO SparkContext: Invoking stop() from shutdown hook
24/01/01 00:00:01 INFO ShutdownHookManager: Deleting directory /tmp/spark
"""
JAVA = """Exception in thread "main" org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.Main$.main(Main.scala:1)
Caused by: java.io.FileNotFoundException: /in/part-0
\t... 12 more
24/01/01 00:00:01 INFO ShutdownHookManager: Shutdown hook called
"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (PYTHON, "pyspark.errors.exceptions.captured.AnalysisException: [TABLE_OR_VIEW_NOT_FOUND]"),
        (JAVA, "Caused by: java.io.FileNotFoundException: /in/part-0"),
        ("one\ntwo", "one | two"),
    ],
)
def test_the_cause_is_the_innermost_exception(output: str, expected: str) -> None:
    assert cause(output.splitlines()).startswith(expected)
