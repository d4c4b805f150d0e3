"""The Spark session of this process: local by default, any other master by option."""

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.errors import SparkFailed
from pipeline.spark.hadoop_login import KEYTAB, PRINCIPAL, log_in, realms_of_libkrb5

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "WARN",
}
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def open_session(
    master: str = "local[*]", conf: Mapping[str, str] | None = None, name: str = "causeway"
) -> SparkSession:
    """The session of this process. Starts one when there is none or its JVM has ended. Raises
    SparkFailed. Must not be called by several threads at once.

    With `spark.kerberos.principal` and `spark.kerberos.keytab` it logs in where Hadoop uses
    Kerberos, and raises KerberosFailed if that fails.
    """
    if _ended(0.0):
        _forget()
    builder = SparkSession.builder.master(master).appName(name)
    local = master.startswith("local")
    settings = {**_QUIET, **(_LOOPBACK if local else {}), **(conf or {})}
    principal, keytab = settings.get(PRINCIPAL), settings.get(KEYTAB)
    if local:
        # spark-submit would log in itself, and a failure would end the JVM without a message.
        settings = {key: text for key, text in settings.items() if key not in (PRINCIPAL, KEYTAB)}
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with realms_of_libkrb5():
            session = builder.getOrCreate()
    except (PySparkException, RuntimeError, OSError) as error:
        raise SparkFailed(f"Spark did not start at {master}: {error}") from error
    if principal and keytab:
        gateway: Any = session.sparkContext._gateway
        log_in(gateway.jvm, principal, keytab)
    return session


def count_ends(patience: float = 0.0) -> int:
    """The number of JVMs of this process's Spark that have ended. Waits up to `patience` seconds
    for the end of the present one, because its connections may break before its process ends.
    """
    if _ended(patience):
        _forget()
    return _ends


_ends = 0


def _ended(patience: float) -> bool:
    gateway: Any = SparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is None:
        return False
    with suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    return process.poll() is not None


def _forget() -> None:
    """Makes PySpark forget the JVM that has ended. Otherwise it would use its connections."""
    global _ends
    _ends += 1
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
