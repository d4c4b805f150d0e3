"""Events of OpenLineage: the data that each run read and wrote, sent by OpenLineage's client."""

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
    """The outcome of a run, with OpenLineage's names."""

    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"


@dataclass(frozen=True, slots=True)
class DatasetLocation:
    """A directory, by its URI or path; if it has a copy of a table's data, `table` names that."""

    uri: str
    table: str = ""


@dataclass(frozen=True, slots=True)
class LineageRun:
    """A run that ended.

    `id` has 32 hexadecimal digits. `job` is the name that all runs of the same work share, and
    `kind` is OpenLineage's job type, such as QUERY. `began` and `ended` are Unix times. `inputs`
    and `outputs` are tables (`database.table`) or locations. `sql` and `error` may be empty.
    `parent` is the id and the job of the run that started this one. `nominal` is the time of the
    calendar for which it ran, a Unix time.
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
        """Sends the runs in order until one fails; returns the number that were not sent."""
        for done, run in enumerate(runs):
            try:
                for event in events_of(run, self._namespace, self._tables):
                    self._client.emit(event)
            except Exception:  # the client's documentation names no errors
                return len(runs) - done
        return 0


def events_of(run: LineageRun, namespace: str, tables: str) -> list[RunEvent]:
    """The events of the run's start and end, with the same facets; an error is only in the end."""
    job_facets: dict[str, JobFacet] = {
        "jobType": job_type_job.JobTypeJobFacet("BATCH", _INTEGRATION, run.kind)
    }
    if run.sql:
        job_facets["sql"] = sql_job.SQLJobFacet(run.sql)
    job = Job(namespace, run.job, job_facets)
    tags = [
        tags_run.TagsRunFacetFields(name, value, _INTEGRATION)
        for name, value in run.tags.items()
        if value
    ]
    start_facets: dict[str, RunFacet] = {"tags": tags_run.TagsRunFacet(tags)}
    if run.nominal is not None:
        start_facets["nominalTime"] = nominal_time_run.NominalTimeRunFacet(utc(run.nominal))
    if run.parent is not None:
        parent, parent_job = run.parent
        start_facets["parent"] = parent_run.ParentRunFacet(
            parent_run.Run(str(UUID(parent))), parent_run.Job(namespace, parent_job)
        )
    end_facets = dict(start_facets)
    if run.error:
        end_facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(run.error, run.language)
    inputs, outputs = (
        [(*_name(dataset, tables), _links(dataset, tables)) for dataset in datasets]
        for datasets in (run.inputs, run.outputs)
    )
    id = str(UUID(run.id))
    return [
        RunEvent(
            eventTime=utc(when),
            producer=_PRODUCER,
            run=Run(id, facets),
            job=job,
            eventType=state,
            inputs=[InputDataset(space, name, facets=links) for space, name, links in inputs],
            outputs=[OutputDataset(space, name, facets=links) for space, name, links in outputs],
        )
        for when, state, facets in (
            (run.began, RunState.START, start_facets),
            (run.ended, RunState(run.outcome.value), end_facets),
        )
    ]


def _name(dataset: str | DatasetLocation, tables: str) -> tuple[str, str]:
    """OpenLineage's namespace and name of a dataset. `tables` is the namespace of tables; that of a
    directory is its file system."""
    if isinstance(dataset, str):
        return tables, dataset
    parts = urlsplit(dataset.uri)
    host = f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.scheme or "file"
    return host, parts.path.rstrip("/") or "/"


def _links(dataset: str | DatasetLocation, tables: str) -> dict[str, DatasetFacet]:
    """The facet that links a directory with a table's copy to the table."""
    if isinstance(dataset, str) or not dataset.table:
        return {}
    table = symlinks_dataset.Identifier(tables, dataset.table, "TABLE")
    return {"symlinks": symlinks_dataset.SymlinksDatasetFacet([table])}
