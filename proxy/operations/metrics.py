"""The metrics for Prometheus.

Each process counts in plain dictionaries, which takes about 2 microseconds a statement; the
counters of prometheus_client would take 12. The samples of a process are a JSON list, so that the
supervisor can merge those of all workers (`merged`). A collector passes them to prometheus_client,
which writes the text format.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nlargest

from prometheus_client import Metric, generate_latest
from prometheus_client.registry import Collector

from conf import errors
from conf.names import ClusterName, TableRef
from router.errors import GUARD_REFUSALS, REFUSALS

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)
ERRORS = "causeway_errors_total"
LAG = "causeway_copy_lag_seconds"
QUEUE = "causeway_queue"
COPIES = 500  # the number of copies whose lag is in the metrics
PHASE = "causeway_phase_seconds"
_HISTOGRAM_SUFFIXES = ("_bucket", "_sum", "_count")

Labels = tuple[str, ...]
Sample = tuple[str, Labels, float]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric family. `kind` is Prometheus's type. The values of several processes are added up if
    `summed`; otherwise the largest is taken."""

    kind: str
    help: str
    labels: tuple[str, ...] = ()
    summed: bool = True


FAMILIES: dict[str, Family] = {
    "causeway_decisions_total": Family(
        "counter", "Statements routed, by rule and cluster.", ("rule", "cluster")
    ),
    ERRORS: Family("counter", "Errors with a code of Causeway.", ("code",)),
    "causeway_statements_total": Family("counter", "Statements that ended.", ("state",)),
    PHASE: Family("histogram", "Seconds of a statement by phase.", ("phase",)),
    "causeway_sent_bytes_total": Family("counter", "Bytes of results sent to clients."),
    "causeway_sent_rows_total": Family("counter", "Rows sent, where a reply says how many."),
    "causeway_catalog_total": Family(
        "counter", "Statements analysed with facts from memory or after loading some.", ("result",)
    ),
    "causeway_stopped_total": Family("counter", "Statements that ran too long.", ("what",)),
    "causeway_refused_total": Family("counter", "Requests refused by a limit.", ("what",)),
    "causeway_authentication_failures_total": Family("counter", "Logins that failed."),
    "causeway_idle_closed_total": Family("counter", "Closed because they were idle.", ("what",)),
    "causeway_audit_dropped_total": Family("counter", "Lines missing in the audit log."),
    "causeway_history_dropped_total": Family(
        "counter", "Statements, or what was fetched of them, missing in the history."
    ),
    "causeway_telemetry_dropped_total": Family(
        "counter", "Statements missing in the traces or the lineage that are sent."
    ),
    "causeway_connections": Family("gauge", "Connections of clients."),
    "causeway_sessions": Family("gauge", "Open sessions."),
    "causeway_statements_running": Family("gauge", "Running statements."),
    "causeway_operations": Family("gauge", "Operations that are not closed."),
    "causeway_tables_cached": Family("gauge", "Tables whose facts are in memory."),
    QUEUE: Family(
        "gauge",
        "Statements that wait for earlier writes of their tables (write), for others of their user"
        " (statement), for a thread of a busy Thrift Server (server) or for a process that analyses"
        " them (analysis), and records that wait to be written (audit, history) or sent"
        " (telemetry).",
        ("queue",),
    ),
    LAG: Family(
        "gauge",
        "Seconds since the first write that a copy misses, 0 while it is fresh.",
        ("table", "cluster"),
        False,
    ),
    "causeway_endpoint_up": Family(
        "gauge", "1 if the Thrift Server passes its health checks.", ("cluster", "endpoint"), False
    ),
    "causeway_endpoint_drained": Family(
        "gauge", "1 if an operator drained the Thrift Server.", ("cluster", "endpoint"), False
    ),
    "causeway_endpoint_connections": Family(
        "gauge", "Connections to the Thrift Server.", ("cluster", "endpoint")
    ),
    "causeway_endpoint_opening": Family(
        "gauge",
        "Sessions that wait until the Thrift Server can open them.",
        ("cluster", "endpoint"),
    ),
}


class Metrics:
    """The counters and the histogram of one process."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Labels], float] = {}
        self._phases: dict[str, tuple[list[int], list[float]]] = {}

    def count(self, name: str, *labels: str, by: float = 1) -> None:
        """Adds to a counter."""
        key = (name, labels)
        self._counts[key] = self._counts.get(key, 0) + by

    def observe(self, phase: str, seconds: float) -> None:
        """Adds a duration to the histogram of phases."""
        histogram = self._phases.get(phase)
        if histogram is None:
            histogram = self._phases[phase] = ([0] * (len(BUCKETS) + 1), [0.0])
        histogram[0][bisect_left(BUCKETS, seconds)] += 1
        histogram[1][0] += seconds

    def samples(self) -> list[Sample]:
        """All counters, and the histogram with cumulative buckets."""
        samples = [(name, labels, value) for (name, labels), value in self._counts.items()]
        for phase, (buckets, (total,)) in self._phases.items():
            below = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
                below += count
                samples.append((f"{PHASE}_bucket", (phase, bound), below))
            samples += [(f"{PHASE}_sum", (phase,), total), (f"{PHASE}_count", (phase,), below)]
        return samples


def copy_lags(
    since: Mapping[tuple[TableRef, ClusterName], float | None], now: float
) -> list[Sample]:
    """The lags of these copies in seconds, of at most `COPIES` copies, the largest first.

    `since` has the Unix time of the first write that a copy misses; None if the copy is fresh.
    """
    lags = {key: 0.0 if when is None else max(now - when, 0.0) for key, when in since.items()}
    worst = nlargest(COPIES, lags, key=lags.__getitem__)
    return [(LAG, (str(table), str(cluster)), lags[table, cluster]) for table, cluster in worst]


def merged(processes: Iterable[Iterable[Sample]]) -> list[Sample]:
    """The samples of several processes, merged into one list."""
    values: dict[tuple[str, Labels], float] = {}
    for samples in processes:
        for name, labels, value in samples:
            key = (name, tuple(labels))
            family = FAMILIES.get(name)
            if family is None or family.summed:
                values[key] = values.get(key, 0) + value
            else:
                values[key] = max(values.get(key, value), value)
    return [(name, labels, value) for (name, labels), value in values.items()]


def text(samples: Iterable[Sample]) -> str:
    """The samples in Prometheus's text format."""
    return generate_latest(_Samples(samples)).decode()


class _Samples(Collector):
    """Passes samples to prometheus_client.

    Families without labels and all error codes are present from the start, with 0: Prometheus sees
    no increase in a series whose first value is 1.
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = list(samples)

    def collect(self) -> Iterator[Metric]:
        metrics = {name: _metric(name, family) for name, family in FAMILIES.items()}
        for name, labels, value in self._samples:
            family = name if name in FAMILIES else _family(name)
            names = (*FAMILIES[family].labels, *(("le",) if name.endswith("_bucket") else ()))
            metrics[family].add_sample(name, dict(zip(names, labels, strict=True)), value)
        for name, metric in metrics.items():
            if not metric.samples and not FAMILIES[name].labels:
                metric.add_sample(name, {}, 0)
        counted = {sample.labels["code"] for sample in metrics[ERRORS].samples}
        refusals = {refusal.code for refusal in (*REFUSALS, *GUARD_REFUSALS)}
        for code in sorted((errors.codes() | refusals) - counted):
            metrics[ERRORS].add_sample(ERRORS, {"code": code}, 0)
        yield from metrics.values()


def _metric(name: str, family: Family) -> Metric:
    return Metric(name.removesuffix("_total"), family.help, family.kind)


def _family(name: str) -> str:
    """The name of the histogram that has the sample."""
    return next(name.removesuffix(end) for end in _HISTOGRAM_SUFFIXES if name.endswith(end))
