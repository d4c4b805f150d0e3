"""A standalone Spark: a master and its workers, started without Spark's scripts."""

from cli.stack.stack import spark_home
from pipeline.spark.jar import SPARK_MAJOR


def standalone_variables() -> dict[str, str]:
    """What Spark's scripts put into the environment. Without the version of Scala, a worker starts
    no executor, because it looks for a build of Spark."""
    return {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(spark_home()),
        "SPARK_SCALA_VERSION": "2.13" if SPARK_MAJOR >= 4 else "2.12",
    }
