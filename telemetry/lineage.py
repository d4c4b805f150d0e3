"""Events of OpenLineage: what each run read and wrote, sent by OpenLineage's own client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from uuid import UUID

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    JobFacet,
    RunFacet,
    error_message_run,
    job_type_job,
    sql_job,
    tags_run,
)
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport

from conf.times import utc

_TIMEOUT = 5.0  # seconds for an event
_RETRIES = 1
_PRODUCER = "urn:causeway"
_INTEGRATION = "CAUSEWAY"


class Outcome(Enum):
    """How a run ended: OpenLineage's types of events."""

    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"


@dataclass(frozen=True, slots=True)
class LineageRun:
    """A run that ended.

    `id` are 32 hexadecimal digits, `job` names what runs again and again, `kind` is OpenLineage's
    job type, such as QUERY. `began` and `ended` are Unix times. `inputs` and `outputs` are tables,
    `database.table`. `sql` and `error` may be empty.
    """

    id: str
    job: str
    kind: str
    began: float
    ended: float
    outcome: Outcome
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    sql: str = ""
    error: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


class LineageSender:
    """Sends runs to the server of OpenLineage at `url`, with `token` if it is not empty.

    Jobs are in `namespace`. Tables are named as OpenLineage names Hive's: in the namespace
    `hive://HOST:PORT` of the metastore.
    """

    def __init__(self, url: str, token: str, namespace: str, metastore: str) -> None:
        retry = {"total": _RETRIES, "connect": _RETRIES, "read": _RETRIES}
        config = HttpConfig(url=url, timeout=_TIMEOUT, retry=retry)
        if token:
            config.auth = ApiKeyTokenProvider({"apiKey": token})
        self._client = OpenLineageClient(transport=HttpTransport(config))
        self._namespace = namespace
        self._tables = f"hive://{metastore}"

    def send(self, runs: Sequence[LineageRun]) -> int:
        """The number of runs that the server has not taken: from the first failure on, all."""
        for done, run in enumerate(runs):
            try:
                for event in events_of(run, self._namespace, self._tables):
                    self._client.emit(event)
            except Exception:  # the client documents none
                return len(runs) - done
        return 0


def events_of(run: LineageRun, namespace: str, tables: str) -> list[RunEvent]:
    """The run's start and its end, both with all that is known."""
    of_job: dict[str, JobFacet] = {
        "jobType": job_type_job.JobTypeJobFacet("BATCH", _INTEGRATION, run.kind)
    }
    if run.sql:
        of_job["sql"] = sql_job.SQLJobFacet(run.sql)
    job = Job(namespace, run.job, of_job)
    tags = [
        tags_run.TagsRunFacetFields(name, value, _INTEGRATION)
        for name, value in run.tags.items()
        if value
    ]
    started: dict[str, RunFacet] = {"tags": tags_run.TagsRunFacet(tags)}
    ended = dict(started)
    if run.error:
        ended["errorMessage"] = error_message_run.ErrorMessageRunFacet(run.error, "SQL")
    inputs = [InputDataset(tables, name) for name in run.inputs]
    outputs = [OutputDataset(tables, name) for name in run.outputs]
    id = str(UUID(run.id))
    return [
        RunEvent(
            eventTime=utc(when),
            producer=_PRODUCER,
            run=Run(id, known),
            job=job,
            eventType=state,
            inputs=inputs,
            outputs=outputs,
        )
        for when, state, known in (
            (run.began, RunState.START, started),
            (run.ended, RunState(run.outcome.value), ended),
        )
    ]
