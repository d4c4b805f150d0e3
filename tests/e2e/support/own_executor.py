"""A Spark with the guard and an executor process, which reads the views from its driver."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from cli.stack.configuration import hive_site
from cli.stack.java import find_java
from cli.stack.stack import spark_home
from conf.topology import Endpoint
from pipeline.spark.jar import guard_jar
from tests.class_archive import class_path

PROGRAM = """\
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.enableHiveSupport().getOrCreate()
spark.sql("CREATE TABLE IF NOT EXISTS t (a INT) USING parquet")
spark.sql("INSERT OVERWRITE t VALUES (1), (41)")
print("sum", spark.sql("SELECT sum(a) FROM t").first()[0])
spark.sparkContext.parallelize(["x"], 1).saveAsTextFile(sys.argv[1])
spark.stop()
"""

NOTHING: Mapping[str, str] = MappingProxyType({})


def spark(
    folder: Path,
    metastore: Endpoint,
    site: Mapping[str, str],
    core: Mapping[str, str] = NOTHING,
    defaults: Mapping[str, str] = NOTHING,
    environment: Mapping[str, str] = NOTHING,
) -> "subprocess.CompletedProcess[str]":
    """Runs PROGRAM in `folder` as the cluster `west` of the view in the folder beside it. The
    executor writes a text file, which no plan of Spark names."""
    own = configured(folder, metastore, site, core, defaults)
    (folder / "program.py").write_text(PROGRAM)
    words = [sys.executable, "program.py", f"file:{folder.parent}/view/west/{folder.name}-texts"]
    return subprocess.run(
        words,
        env=own | dict(environment),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def configured(
    folder: Path,
    metastore: Endpoint,
    site: Mapping[str, str] = NOTHING,
    core: Mapping[str, str] = NOTHING,
    defaults: Mapping[str, str] = NOTHING,
) -> dict[str, str]:
    """The environment of a Spark whose settings are in `folder`."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    site = {
        "hive.metastore.uris": f"thrift://{metastore}",
        "hive.metastore.connect.retries": "1",
        "hive.metastore.client.connect.retry.delay": "0",
        "hive.exec.scratchdir": str(folder / "scratch"),
        **site,
    }
    (conf / "hive-site.xml").write_text(hive_site(site))
    (conf / "core-site.xml").write_text(hive_site(dict(core)))
    jar = guard_jar()
    options = f"-javaagent:{jar}"
    if (realm := os.environ.get("KRB5_CONFIG")) is not None:
        options += f" -Djava.security.krb5.conf={realm}"
    lines = {
        "spark.master": "local-cluster[1,1,512]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "700m",
        "spark.executor.memory": "512m",
        "spark.local.dir": str(folder),
        "spark.sql.extensions": "causeway.guard.Guard",
        "spark.plugins": "causeway.guard.WritePlugin",
        "spark.causeway.cluster": "west",
        "spark.causeway.default.cluster": "west",
        "spark.causeway.filesystem.west": f"file:{folder.parent}/view/west",
        "spark.driver.extraClassPath": class_path(jar),
        "spark.driver.extraJavaOptions": f"{options} -Dderby.system.home={folder}",
        "spark.executor.extraClassPath": str(jar),
        "spark.executor.extraJavaOptions": options,
        **defaults,
    }
    (conf / "spark-defaults.conf").write_text(
        "".join(f"{name} {value}\n" for name, value in lines.items())
    )
    return os.environ | {
        "SPARK_CONF_DIR": str(conf),
        "HADOOP_CONF_DIR": str(conf),
        "SPARK_HOME": str(spark_home()),
        "JAVA_HOME": str(find_java().parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "PYSPARK_PYTHON": sys.executable,
    }
