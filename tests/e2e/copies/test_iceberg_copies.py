"""Copies of an Iceberg table through its life, read by Iceberg itself from every snapshot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.spark.jar import SPARK_MAJOR
from tests.e2e.support import iceberg_spark
from tests.e2e.support.jars import fetch_jar

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,
    pytest.mark.skipif(SPARK_MAJOR >= 4, reason="Iceberg has no jar for Spark 4.3"),
]


@pytest.mark.parametrize(("version", "lacks"), [("1.10.1", ""), ("1.6.1", "with statistics")])
def test_each_snapshot_of_a_copy_is_read_without_the_primary(
    tmp_path: Path, version: str, lacks: str
) -> None:
    jar = fetch_jar(f"org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:{version}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.e2e.support.iceberg_spark", str(tmp_path), str(jar), lacks],
        capture_output=True, text=True, timeout=600, check=False,
        cwd=Path(__file__).parents[3], env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        name for name in iceberg_spark.STEPS if name != lacks
    ]
