"""Copies from and to S3 by Hadoop's S3A, which is no part of Spark.

It needs hadoop-aws of Spark's own Hadoop version, from Maven Central:
`mvn dependency:get -Dartifact=org.apache.hadoop:hadoop-aws:3.3.4`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.stack.stack import spark_home

_ROOT = Path(__file__).parents[3]


def s3a_jars() -> str:
    """hadoop-aws and the SDK that it uses, as a class path; skips where they are not there."""
    client = next((spark_home() / "jars").glob("hadoop-client-api-*.jar")).stem
    maven = Path.home() / ".m2/repository"
    aws = maven / "org/apache/hadoop/hadoop-aws" / client.rpartition("-")[2]
    found = [*aws.glob("*.jar"), *maven.glob("com/amazonaws/aws-java-sdk-bundle/*/*.jar")]
    if len(found) < 2:
        pytest.skip(f"no S3A to test with: {aws} is not there")
    return ":".join(map(str, found))


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
