"""Hadoop's S3A, which is no part of Spark: hadoop-aws of Spark's own Hadoop version.

`mvn dependency:get -Dartifact=org.apache.hadoop:hadoop-aws:3.3.4` gets it and Amazon's SDK.
"""

from pathlib import Path

import pytest

from cli.stack.stack import spark_home


def s3a_jars() -> list[Path]:
    """hadoop-aws and Amazon's SDK; skips where they are not there."""
    client = next((spark_home() / "jars").glob("hadoop-client-api-*.jar")).stem
    version = client.rpartition("-")[2]
    home = Path.home() / ".m2/repository"
    aws = home / f"org/apache/hadoop/hadoop-aws/{version}/hadoop-aws-{version}.jar"
    sdk = sorted((home / "com/amazonaws/aws-java-sdk-bundle").glob("*/*.jar"))
    if not aws.is_file() or not sdk:
        pytest.skip(f"no S3A to test with: {aws} is not there")
    return [aws, sdk[-1]]
