"""Run one instance of a process: the engine's way, under the instance's ticket."""

from dataclasses import replace

from pipeline.falcon.model import Cluster, Engine, Process
from pipeline.processes.commands import Programs, pig_command, spark_command
from pipeline.processes.errors import CannotRun
from pipeline.processes.hive import run_sql
from pipeline.processes.parameters import parameters_of
from pipeline.processes.program import run_program
from pipeline.processes.script import read_script
from pipeline.scheduler.work import Task, Ticket


def run_process(task: Task, ticket: Ticket, programs: Programs) -> str:
    """One line on what was run. Raises ActionFailed, LeaseLost."""
    process, cluster = _late_or_usual(task), task.world.cluster(task.schedule.key.cluster)
    if cluster is None:
        raise CannotRun(f"cluster {task.schedule.key.cluster} is not there any more")
    at = task.instance
    values = parameters_of(
        process, cluster.name, task.world, at.nominal, task.owner, at.run, at.fingerprint
    )
    match process.workflow.engine:
        case Engine.HIVE:
            script = read_script(process.workflow.path)
            return run_sql(script, values, _hive_server(cluster), task.owner, ticket)
        case Engine.SPARK:
            command, environment = spark_command(process, cluster, values, task.owner, programs)
            return run_program(command, environment, ticket)
        case Engine.PIG:
            command = pig_command(process, values, programs)
            return run_program(command, {"HADOOP_USER_NAME": task.owner}, ticket)
        case Engine.OOZIE:
            raise CannotRun("engine oozie is not run here", final=True)


def _late_or_usual(task: Task) -> Process:
    """A run that late data began takes the workflow of the first input that changed."""
    process = task.entity
    assert isinstance(process, Process)
    changed = task.instance.late.split(",")[0]
    if not changed or process.late is None or changed not in process.late.workflows:
        return process
    late = replace(process.workflow, path=process.late.workflows[changed])
    return replace(process, workflow=late)


def _hive_server(cluster: Cluster) -> str:
    endpoint = cluster.endpoint("execute")
    if not endpoint:
        raise CannotRun(f"cluster {cluster.name} has no execute interface", final=True)
    return endpoint.split(",")[0].strip()
