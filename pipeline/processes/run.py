"""Runs an instance of a process with its engine, while its lease lasts."""

from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.process import Engine, Process
from pipeline.falcon.entity_set import EntitySet
from pipeline.lease import WorkLease
from pipeline.processes.commands import Programs, pig_command, spark_command
from pipeline.processes.errors import CannotRun
from pipeline.processes.hive import run_sql
from pipeline.processes.parameters import parameters_of
from pipeline.processes.program import run_program
from pipeline.processes.script import ReadRemote, read_script


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """One run of one instance of a process on a cluster, as `owner`.

    `number` counts reruns. `late` names the changed inputs that caused this run, comma-separated;
    `fingerprint` has the instances chosen for inputs that count.
    """

    process: Process
    cluster: str
    entity_set: EntitySet
    nominal: datetime
    owner: str
    number: int = 0
    late: str = ""
    fingerprint: str = ""


def run_process(
    run: ProcessRun, programs: Programs, read_remote: ReadRemote, lease: WorkLease
) -> str:
    """Runs the workflow; returns a line of text about it. Raises ActionFailed, CopyError,
    LeaseLost.
    """
    process, cluster = _with_workflow(run), run.entity_set.cluster(run.cluster)
    if cluster is None:
        raise CannotRun(f"cluster {run.cluster} is not there any more")
    values = parameters_of(
        process,
        cluster.name,
        run.entity_set,
        run.nominal,
        run.owner,
        run.number,
        run.fingerprint,
    )
    match process.workflow.engine:
        case Engine.HIVE:
            script = read_script(process.workflow.path, cluster, read_remote)
            return run_sql(script, values, execute_endpoint(cluster), run.owner, lease)
        case Engine.SPARK:
            command, environment = spark_command(process, cluster, values, run.owner, programs)
            return run_program(command, environment, lease)
        case Engine.PIG:
            command = pig_command(process, cluster, values, programs)
            return run_program(command, {"HADOOP_USER_NAME": run.owner}, lease)
        case Engine.OOZIE:
            raise CannotRun("engine oozie is not run here", final=True)


def _with_workflow(run: ProcessRun) -> Process:
    """The process; after late data with the late workflow of the first changed input."""
    process = run.process
    changed = run.late.split(",")[0]
    if not changed or process.late is None or changed not in process.late.workflows:
        return process
    late = replace(process.workflow, path=process.late.workflows[changed])
    return replace(process, workflow=late)


def execute_endpoint(cluster: Cluster) -> str:
    """The first endpoint of the cluster's execute interface. Raises CannotRun if it has none."""
    endpoint = cluster.endpoint("execute")
    if not endpoint:
        raise CannotRun(f"cluster {cluster.name} has no execute interface", final=True)
    return endpoint.split(",")[0].strip()
