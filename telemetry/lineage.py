"""Events of OpenLineage: what each run read and wrote, sent by OpenLineage's own client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import urlsplit
from uuid import UUID

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import (
    InputDataset,
    Job,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
    set_producer,
)
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    RunFacet,
    error_message_run,
    job_type_job,
    nominal_time_run,
    parent_run,
    sql_job,
    symlinks_dataset,
    tags_run,
)
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport

from conf.formats import utc

_TIMEOUT = 5.0  # seconds for an event
_RETRIES = 1
_PRODUCER = "urn:causeway"
_INTEGRATION = "CAUSEWAY"
set_producer(_PRODUCER)  # of facets


class RunOutcome(Enum):
    """How a run ended: OpenLineage's types of events."""

    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"


@dataclass(frozen=True, slots=True)
class DatasetLocation:
    """The data of `table` at a URI, or at a path: one of its copies, or a directory if `table` is
    empty."""

    uri: str
    table: str = ""


@dataclass(frozen=True, slots=True)
class LineageRun:
    """A run that ended.

    `id` are 32 hexadecimal digits, `job` names what runs again and again, `kind` is OpenLineage's
    job type, such as QUERY. `began` and `ended` are Unix times. `inputs` and `outputs` are tables,
    `database.table`, or locations. `sql` and `error` may be empty. `parent` is the id and the job
    of the run that made this one, `nominal` the Unix time that it is about.
    """

    id: str
    job: str
    kind: str
    began: float
    ended: float
    outcome: RunOutcome
    inputs: Sequence[str | DatasetLocation] = ()
    outputs: Sequence[str | DatasetLocation] = ()
    sql: str = ""
    error: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    parent: tuple[str, str] | None = None
    nominal: float | None = None
    language: str = "SQL"


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
    if run.nominal is not None:
        started["nominalTime"] = nominal_time_run.NominalTimeRunFacet(utc(run.nominal))
    if run.parent is not None:
        parent, job_of_parent = run.parent
        started["parent"] = parent_run.ParentRunFacet(
            parent_run.Run(str(UUID(parent))), parent_run.Job(namespace, job_of_parent)
        )
    ended = dict(started)
    if run.error:
        ended["errorMessage"] = error_message_run.ErrorMessageRunFacet(run.error, run.language)
    inputs, outputs = (
        [(*_name(each, tables), _links(each, tables)) for each in data]
        for data in (run.inputs, run.outputs)
    )
    id = str(UUID(run.id))
    return [
        RunEvent(
            eventTime=utc(when),
            producer=_PRODUCER,
            run=Run(id, known),
            job=job,
            eventType=state,
            inputs=[InputDataset(host, name, facets=links) for host, name, links in inputs],
            outputs=[OutputDataset(host, name, facets=links) for host, name, links in outputs],
        )
        for when, state, known in (
            (run.began, RunState.START, started),
            (run.ended, RunState(run.outcome.value), ended),
        )
    ]


def _name(data: str | DatasetLocation, tables: str) -> tuple[str, str]:
    """The namespace and the name of a dataset, as OpenLineage names them: a directory is in the
    namespace of its file system."""
    if isinstance(data, str):
        return tables, data
    parts = urlsplit(data.uri)
    host = f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.scheme or "file"
    return host, parts.path.rstrip("/") or "/"


def _links(data: str | DatasetLocation, tables: str) -> dict[str, DatasetFacet]:
    """The table that a directory has the data of."""
    if isinstance(data, str) or not data.table:
        return {}
    table = symlinks_dataset.Identifier(tables, data.table, "TABLE")
    return {"symlinks": symlinks_dataset.SymlinksDatasetFacet([table])}
