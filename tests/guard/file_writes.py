"""Executes commands that write files by Hadoop's file system, in a JVM with the agent.

    file_writes.py URIS FOLDER

A line of the input is `create PATH`, `many FOLDER COUNT`, `frame PATH` (a DataFrame), `save URI
SETTING=VALUE ..` (an RDD, by the committer that the settings choose) or `pid`. The reply is a line
that begins with `:`. The process id follows, or the error, or nothing.
"""

import sys
from collections.abc import Callable

from pyspark.sql import SparkSession

uris, folder = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.hadoop.hive.metastore.uris", uris)
    .config("spark.sql.warehouse.dir", f"file:{folder}")
    .config("spark.sql.extensions", "causeway.guard.Guard")
    .config("spark.causeway.cluster", "c1")
    .config("spark.causeway.filesystem.c1", f"file:{folder}")
    .getOrCreate()
)
hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs
conf = spark.sparkContext._jsc.hadoopConfiguration()


def create(name: str) -> None:
    path = hadoop.Path(f"file:{name}")
    path.getFileSystem(conf).create(path).close()


def many(name: str, count: str) -> None:
    for number in range(int(count)):
        create(f"{name}/{number}/new")


def save(uri: str, *settings: str) -> None:
    pairs = spark.sparkContext.parallelize([("a", "b")], 1)
    pairs.saveAsNewAPIHadoopFile(
        uri,
        "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat",
        "org.apache.hadoop.io.Text",
        "org.apache.hadoop.io.Text",
        conf=dict(each.split("=", 1) for each in settings),
    )


def frame(name: str) -> None:
    spark.range(3).repartition(2).write.csv(f"file:{name}")


def pid() -> int:
    """The process id of the JVM."""
    return spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()


COMMANDS: dict[str, Callable[..., int | None]] = {
    "create": create,
    "many": many,
    "save": save,
    "frame": frame,
    "pid": pid,
}
print(":", flush=True)
for line in sys.stdin:
    command = line.split()
    try:
        result = COMMANDS[command[0]](*command[1:])
        print(":" if result is None else f":{result}", flush=True)
    except Exception as error:
        print(":" + str(error).replace("\n", " "), flush=True)
spark.stop()
