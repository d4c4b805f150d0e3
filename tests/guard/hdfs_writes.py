"""Tries to change files in an HDFS of another cluster, by each name that the HDFS has.

    hdfs_writes.py FOLDER PORT HTTP_PORT

The last line of the output is a JSON object: `left`, the number of files in the HDFS at the end,
and `results`, the error of each attempt, empty without one. Attempts whose names begin with "read"
change nothing there.
"""

import json
import sys
from collections.abc import Callable

from pyspark.sql import SparkSession

folder, port, http = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.warehouse.dir", f"file:{folder}/c1")
    .config("spark.causeway.cluster", "c1")
    .config("spark.causeway.filesystem.c1", f"file:{folder}/c1")
    .config("spark.causeway.filesystem.c2", f"hdfs://localhost:{port}")
    .config("spark.hadoop.dfs.nameservices", "Service")
    .config("spark.hadoop.dfs.ha.namenodes.Service", "nn1,nn2")
    .config("spark.hadoop.dfs.namenode.rpc-address.Service.nn1", f"localhost:{port}")
    .config("spark.hadoop.dfs.namenode.rpc-address.Service.nn2", "localhost:1")
    .config(
        "spark.hadoop.dfs.client.failover.proxy.provider.Service",
        "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
    )
    .config("spark.hadoop.fs.viewfs.mounttable.table.link./far", f"hdfs://localhost:{port}/far")
    .getOrCreate()
)
jvm = spark.sparkContext._jvm
hadoop = jvm.org.apache.hadoop.fs
conf = spark.sparkContext._jsc.hadoopConfiguration()
frame = spark.createDataFrame([("z",)], ["a"])
results = {}
NAMES = {
    "name": f"hdfs://localhost:{port}",
    "address": f"hdfs://127.0.0.1:{port}",
    "user": f"hdfs://me@localhost:{port}",
    "case": f"HDFS://LOCALHOST:{port}",
    "web": f"webhdfs://localhost:{http}",
    "service": "hdfs://Service",
    "mount": "viewfs://table/far",
}


def attempt(name: str, action: Callable[[], object]) -> None:
    try:
        action()
        results[name] = ""
    except Exception as error:
        results[name] = str(error)


def create(root: str) -> None:
    path = hadoop.Path(f"{root}/new")
    path.getFileSystem(conf).create(path).close()


def create_in_context(root: str) -> None:
    path = hadoop.Path(f"{root}/new")
    hadoop.FileContext.getFileContext(path.toUri(), conf).mkdir(path, None, True)


for name, root in NAMES.items():
    attempt(f"create: {name}", lambda root=root: create(root))
    if name != "web":  # Spark lists the folder first, and the HDFS of the test does not answer HTTP
        attempt(f"frame: {name}", lambda root=root: frame.write.csv(f"{root}/new"))
for name in ("name", "service"):
    attempt(f"context: {name}", lambda name=name: create_in_context(NAMES[name]))
path = hadoop.Path(f"{NAMES['name']}/")
attempt("read", lambda: path.getFileSystem(conf).listStatus(path))
attempt("read own", lambda: frame.write.csv(f"file:{folder}/c1/own"))
spark.conf.set("fs.hdfs.impl.disable.cache", "true")
attempt("no cache", lambda: frame.write.csv(f"{NAMES['address']}/new"))
count = path.getFileSystem(conf).listStatus(path)
print(json.dumps({"left": len(list(count)), "results": results}))
spark.stop()
