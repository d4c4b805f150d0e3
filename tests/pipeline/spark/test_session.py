"""A session of Spark after its JVM has ended. In a process of its own, whose JVM may be killed."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

_PROGRAM = """
from pyspark import SparkContext
from pipeline.spark.session import count_ends, open_session

first = open_session("local[1]")
assert open_session("local[1]") is first
assert count_ends() == 0
SparkContext._gateway.proc.kill()
assert count_ends(30.0) == 1
second = open_session("local[1]")
assert second.range(3).count() == 3
assert count_ends() == 1
"""


def test_a_session_is_opened_again_after_its_jvm_has_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
