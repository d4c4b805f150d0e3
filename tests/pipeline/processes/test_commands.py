"""Command lines of Spark and Pig processes."""

import sys
from pathlib import Path

import pytest

from pipeline.processes.commands import Programs, find_spark_submit, pig_command, spark_command
from pipeline.processes.errors import CannotRun
from tests.pipeline.falcon.documents import (
    CLUSTER,
    PROCESS,
    read_cluster,
    read_entities,
    read_process,
)

SPARK = PROCESS.replace(
    '<workflow engine="hive" path="/app/summary.hql"/>',
    '<workflow engine="spark" path="/app/spark"/><spark-attributes><master>local</master>'
    "<name>Word Count</name><jar>count.py,more.py</jar>"
    "<spark-opts>--conf 'a b=c d' --driver-memory 512m</spark-opts><arg>one two</arg>"
    "</spark-attributes>",
)
VALUES = {
    "in_table": "clicks",
    "falcon_in_partition_filter_java": "(ds='1')",
    "falcon_in_table": "clicks",
    "falcon_in_database": "src",
    "out_table": "sums",
    "falcon_out_partitions_java": "ds=1",
    "falcon_out_table": "sums",
    "falcon_out_database": "dst",
}
PROGRAMS = Programs("/opt/spark-submit", "pig -x local")


def test_spark() -> None:
    command, environment = spark_command(
        read_process(SPARK), read_cluster(), VALUES, "ann", PROGRAMS
    )
    assert command[:5] == ["/opt/spark-submit", "--name", "Word Count", "--master", "local"]
    assert "spark.hadoop.hive.metastore.uris=thrift://localhost:9083" in command
    assert "spark.causeway.in_table=clicks" in command
    assert command[command.index("a b=c d") - 1] == "--conf"
    application = command.index("/app/spark/count.py")
    assert command[application - 2 : application] == ["--py-files", "more.py"]
    assert command[application + 1 :] == [
        "(ds='1')",
        "clicks",
        "src",
        "ds=1",
        "sums",
        "dst",
        "one two",
    ]
    assert environment == {"HADOOP_USER_NAME": "ann"}


def test_pysparks_own_script_has_spark_home() -> None:
    programs = Programs(find_spark_submit())
    _, environment = spark_command(read_process(SPARK), read_cluster(), VALUES, "ann", programs)
    assert environment["PYSPARK_PYTHON"] == sys.executable
    assert (Path(environment["SPARK_HOME"]) / "bin" / "spark-class").exists()


def test_path_feeds_are_arguments() -> None:
    values = {"in": "/a,/b", "out": "/c"}
    command, _ = spark_command(read_process(SPARK), read_cluster(), values, "ann", PROGRAMS)
    assert command[-3:] == ["/a,/b", "/c", "one two"]


def test_pig() -> None:
    pig = read_process(PROCESS.replace('engine="hive"', 'engine="pig"'))
    command = pig_command(pig, read_cluster(), {"in_table": "clicks"}, PROGRAMS)
    assert command == [
        "pig",
        "-x",
        "local",
        "-useHCatalog",
        "-param",
        "in_table=clicks",
        "-f",
        "/app/summary.hql",
    ]
    with pytest.raises(CannotRun, match="no pig command"):
        pig_command(pig, read_cluster(), {}, Programs("spark-submit"))


def test_files_of_the_cluster() -> None:
    text = CLUSTER.replace("{name}", "c1").replace(
        'write" endpoint="file:///', 'write" endpoint="hdfs://nn'
    )
    remote = read_entities(text).clusters["c1"]
    command, _ = spark_command(read_process(SPARK), remote, VALUES, "ann", PROGRAMS)
    assert "hdfs://nn/app/spark/count.py" in command
    pig = read_process(PROCESS.replace('engine="hive"', 'engine="pig"'))
    assert pig_command(pig, remote, {}, PROGRAMS)[-1] == "hdfs://nn/app/summary.hql"
