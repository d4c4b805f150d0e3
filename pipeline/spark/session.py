"""The Spark session of this process: local by default, any other master by option."""

from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.errors import SparkFailed

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "WARN",
}
_HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def open_session(
    master: str = "local[*]", conf: Mapping[str, str] | None = None, name: str = "causeway"
) -> SparkSession:
    """The session of this process, started when there is none. Raises SparkFailed."""
    builder = SparkSession.builder.master(master).appName(name)
    own = _HERE if master.startswith("local") else {}
    for key, value in {**_QUIET, **own, **(conf or {})}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, RuntimeError, OSError) as error:
        raise SparkFailed(f"Spark did not start at {master}: {error}") from error
