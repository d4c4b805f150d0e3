"""Writes files by Hadoop's file system, in a JVM with the agent, as its input says.

    file_writes.py URIS FOLDER

A line of the input is `create PATH` or `many FOLDER COUNT`. The answer begins with `:`
and has the error, if there is one.
"""

import sys

from pyspark.sql import SparkSession

uris, folder = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.hadoop.hive.metastore.uris", uris)
    .config("spark.sql.warehouse.dir", f"file:{folder}")
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


print(":", flush=True)
for line in sys.stdin:
    words = line.split()
    try:
        {"create": create, "many": many}[words[0]](*words[1:])
        print(":", flush=True)
    except Exception as error:
        print(":" + str(error).replace("\n", " "), flush=True)
spark.stop()
