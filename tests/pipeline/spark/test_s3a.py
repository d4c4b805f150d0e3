"""Copies from and to S3 by Hadoop's S3A."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.spark.s3a import s3a_jars

_ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_copies_by_s3a() -> None:
    s3a_jars()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    cases = Path(__file__).with_name("s3a_cases.py")
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    # A JVM that runs already has no S3A on its class path.
    done = subprocess.run(
        [*command, str(cases)], cwd=_ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-8000:]
