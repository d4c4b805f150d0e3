"""Tries to change a folder of another cluster by every writer of a Spark program.

    writes_elsewhere.py DATABASE FOLDER SCRATCH

The last line of the output is a JSON object: each attempt and its error, empty without one.
Attempts whose names begin with "own" write folders that this cluster may write.
"""

import json
import sys
from collections.abc import Callable

from pyspark.sql import SparkSession

database, folder, scratch = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .enableHiveSupport()
    .getOrCreate()
)
sc = spark.sparkContext
jvm = sc._jvm
conf = sc._jsc.hadoopConfiguration()
frame = spark.createDataFrame([("z",)], ["a"])
results = {}


def attempt(name: str, action: Callable[[], object]) -> None:
    try:
        action()
        results[name] = ""
    except Exception as error:
        results[name] = str(error)


def path(text: str) -> object:
    return jvm.org.apache.hadoop.fs.Path(text)


def stream(name: str, **options: str) -> None:
    writer = (
        spark.readStream.format("rate")
        .load()
        .writeStream.option("checkpointLocation", f"{scratch}/check/{name}")
        .trigger(availableNow=True)
        .options(**options)
    )
    if name.startswith("table"):
        writer.toTable(f"{database}.{name}").awaitTermination()
    else:
        writer.format("parquet").start().awaitTermination()


def file_system(text: str = folder) -> object:
    return path(text).getFileSystem(conf)


inside = [f"{folder}/{name}" for name in ("new", "new2")]
own = f"{scratch}/own"
(existing,) = [
    status.getPath()
    for status in file_system().listStatus(path(folder))
    if not status.getPath().getName().startswith("_")
][:1]
attempt("own frame", lambda: frame.write.csv(f"{own}/csv"))
attempt("own text", lambda: sc.parallelize(["z"]).saveAsTextFile(f"{own}/text"))
attempt("own stream", lambda: stream("path", path=f"{own}/stream"))
attempt("frame", lambda: frame.write.mode("overwrite").csv(folder))
attempt("frame, append", lambda: frame.write.mode("append").csv(folder))
attempt(
    "frame, another class for the scheme",
    lambda: (
        frame.write.mode("append")
        .option("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem")
        .option("fs.file.impl.disable.cache", "true")
        .csv(folder)
    ),
)
attempt(
    "save as table",
    lambda: frame.write.mode("overwrite").option("path", folder).saveAsTable(f"{database}.saved"),
)
attempt("text", lambda: sc.parallelize(["z"]).saveAsTextFile(inside[0]))
attempt(
    "hadoop file",
    lambda: sc.parallelize([("k", "v")]).saveAsNewAPIHadoopFile(
        inside[0],
        "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat",
        conf={
            "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
            "fs.file.impl.disable.cache": "true",
        },
    ),
)
attempt("pickle", lambda: sc.parallelize(["z"]).saveAsPickleFile(inside[0]))
attempt("stream", lambda: stream("path2", path=inside[0]))
attempt("stream to a table", lambda: stream("table", path=inside[0]))
attempt(
    "checkpoint",
    lambda: (
        spark.readStream.format("rate")
        .load()
        .writeStream.option("checkpointLocation", inside[0])
        .trigger(availableNow=True)
        .format("noop")
        .start()
        .awaitTermination()
    ),
)
attempt("checkpoint of an RDD", lambda: sc.setCheckpointDir(inside[0]))
attempt("create", lambda: file_system().create(path(inside[0])).close())
attempt("create in the raw file system", lambda: file_system().getRaw().create(path(inside[0])))
attempt("append", lambda: file_system().getRaw().append(existing))
attempt("mkdirs", lambda: file_system().mkdirs(path(inside[0])))
attempt("delete", lambda: file_system().delete(existing, True))
attempt("rename away", lambda: file_system().rename(existing, path(f"{own}/stolen")))
attempt("rename to", lambda: file_system().rename(path(f"{own}/csv"), path(inside[0])))
attempt("truncate", lambda: file_system().getRaw().truncate(existing, 0))
attempt(
    "permission",
    lambda: file_system().setPermission(
        existing, jvm.org.apache.hadoop.fs.permission.FsPermission("700")
    ),
)
attempt("times", lambda: file_system().setTimes(existing, 1, 1))
attempt("link", lambda: file_system().createSymlink(existing, path(f"{own}/link"), False))
attempt(
    "of FileContext",
    lambda: jvm.org.apache.hadoop.fs.FileContext.getFileContext(path(folder).toUri(), conf).delete(
        existing, True
    ),
)
attempt(
    "another class",
    lambda: jvm.org.apache.hadoop.fs.RawLocalFileSystem().delete(existing, True),
)
print(json.dumps(results))
spark.stop()
