"""The command lines of Spark and Pig processes."""

import importlib.util
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.process import Process
from pipeline.processes.errors import CannotRun
from pipeline.processes.script import located


@dataclass(frozen=True, slots=True)
class Programs:
    """The configured programs: spark-submit, and the command of Pig or None."""

    spark_submit: str
    pig: str | None = None


def find_spark_submit() -> str:
    """The path of pyspark's spark-submit beside this interpreter, else of that on PATH."""
    return str(_BESIDE) if _BESIDE.exists() else shutil.which("spark-submit") or "spark-submit"


_BESIDE = Path(sysconfig.get_path("scripts")) / "spark-submit"


def _spark_environment(spark_submit: str) -> dict[str, str]:
    """The environment for pyspark's own spark-submit, which otherwise runs python3 of PATH to find
    SPARK_HOME.
    """
    found = importlib.util.find_spec("pyspark")
    if spark_submit != str(_BESIDE) or found is None or found.origin is None:
        return {}
    return {"SPARK_HOME": str(Path(found.origin).parent), "PYSPARK_PYTHON": sys.executable}


def spark_command(
    process: Process, cluster: Cluster, values: Mapping[str, str], user: str, programs: Programs
) -> tuple[list[str], dict[str, str]]:
    """The command and environment of a Spark process. Raises CannotRun.

    The application's arguments are the filter, table and database of each input, then the
    partitions, table and database of each output, then those of the document; for a feed of paths
    its paths. The session's configuration has all parameters as `spark.causeway.NAME`.
    """
    spark = process.spark
    if spark is None:
        raise CannotRun("engine spark needs spark-attributes", final=True)
    command = [programs.spark_submit, "--name", spark.name]
    command += ["--master", spark.master or cluster.endpoint("spark") or "local[*]"]
    if spark.mode:
        command += ["--deploy-mode", _deploy_mode(spark.mode)]
    if spark.main_class:
        command += ["--class", spark.main_class]
    command += ["--conf", "spark.ui.enabled=false"]
    for key, value in sorted(_session(cluster).items()):
        command += ["--conf", f"{key}={value}"]
    for name, value in sorted(values.items()):
        command += ["--conf", f"spark.causeway.{name}={value}"]
    command += shlex.split(spark.options)
    if process.workflow.lib:
        command += ["--jars", process.workflow.lib]
    application = spark.jar.split(",")
    if len(application) > 1:
        option = "--py-files" if spark.jar.endswith(".py") else "--jars"
        command += [option, ",".join(application[1:])]
    command.append(_application(application[0].strip(), process.workflow.path, cluster))
    command += _arguments(process, values)
    command += spark.arguments
    return command, {**_spark_environment(programs.spark_submit), "HADOOP_USER_NAME": user}


def _deploy_mode(mode: str) -> str:
    return "cluster" if "cluster" in mode.lower() else "client"


def _session(cluster: Cluster) -> dict[str, str]:
    """Spark's settings for the cluster's metastore and file system."""
    found = {"spark.sql.catalogImplementation": "hive"}
    if registry := cluster.endpoint("registry"):
        found["spark.hadoop.hive.metastore.uris"] = registry
    write = cluster.endpoint("write")
    if write and urlsplit(write).scheme:
        found["spark.hadoop.fs.defaultFS"] = write
    return found


def _application(jar: str, workflow_path: str, cluster: Cluster) -> str:
    """The location of the jar or Python file; a bare name is in the workflow's directory."""
    if urlsplit(jar).scheme or jar.startswith("/"):
        return located(jar, cluster)
    return located(f"{workflow_path.rstrip('/')}/{jar}", cluster)


def _arguments(process: Process, values: Mapping[str, str]) -> list[str]:
    """The arguments of the application for its inputs and outputs."""
    found: list[str] = []
    for each in process.inputs:
        if f"{each.name}_table" in values:
            names = ("partition_filter_java", "table", "database")
            found += [values[f"falcon_{each.name}_{name}"] for name in names]
        else:
            found.append(values[each.name])
    for output in process.outputs:
        if f"{output.name}_table" in values:
            names = ("partitions_java", "table", "database")
            found += [values[f"falcon_{output.name}_{name}"] for name in names]
        else:
            found.append(values[output.name])
    return found


def pig_command(
    process: Process, cluster: Cluster, values: Mapping[str, str], programs: Programs
) -> list[str]:
    """The command `pig -useHCatalog -param name=value .. -f script`. Raises CannotRun if none is
    configured.
    """
    if not programs.pig:
        raise CannotRun("no pig command is configured (--pig or CAUSEWAY_PIG)", final=True)
    command = [*shlex.split(programs.pig), "-useHCatalog"]
    for name, value in sorted(values.items()):
        command += ["-param", f"{name}={value}"]
    return [*command, "-f", located(process.workflow.path, cluster)]
