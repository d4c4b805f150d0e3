"""Counts and durations for Prometheus: cheap to add to, and added up over processes.

A sample is a name with its labels; a process's samples are a JSON list, so that several
processes' can be merged before they are written as text.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)
PHASE = "causeway_phase_seconds"

Labels = tuple[str, ...]
Sample = tuple[str, Labels, float]


@dataclass(frozen=True, slots=True)
class Family:
    """`kind` is Prometheus's; of gauges that are not `summed` the processes' largest counts."""

    kind: str
    help: str
    labels: tuple[str, ...] = ()
    summed: bool = True


FAMILIES: dict[str, Family] = {
    "causeway_decisions_total": Family(
        "counter", "Statements that were routed, by rule.", ("rule", "cluster")
    ),
    "causeway_errors_total": Family("counter", "Refusals and failures of ours.", ("code",)),
    "causeway_statements_total": Family("counter", "Statements that ended.", ("state",)),
    PHASE: Family("histogram", "Where a statement's time goes.", ("phase",)),
    "causeway_sent_bytes_total": Family("counter", "Bytes of results sent to clients."),
    "causeway_sent_rows_total": Family("counter", "Rows sent, where a reply says how many."),
    "causeway_catalog_total": Family(
        "counter", "Statements analysed from memory, or not.", ("result",)
    ),
    "causeway_stopped_total": Family("counter", "Ended since it took too much.", ("what",)),
    "causeway_refused_total": Family("counter", "Clients refused by a limit.", ("what",)),
    "causeway_authentication_failures_total": Family("counter", "Clients that were not let in."),
    "causeway_idle_closed_total": Family("counter", "Closed since nobody used it.", ("what",)),
    "causeway_audit_dropped_total": Family("counter", "Lines that the audit log has not."),
    "causeway_connections": Family("gauge", "Connections of clients."),
    "causeway_sessions": Family("gauge", "Sessions."),
    "causeway_statements_running": Family("gauge", "Statements that run."),
    "causeway_operations": Family("gauge", "Operations that are not closed."),
    "causeway_tables_cached": Family("gauge", "Tables in memory."),
    "causeway_endpoint_up": Family(
        "gauge", "1 when the Thrift Server is well.", ("cluster", "endpoint"), False
    ),
    "causeway_endpoint_drained": Family(
        "gauge", "1 when it takes no new sessions.", ("cluster", "endpoint"), False
    ),
    "causeway_endpoint_connections": Family(
        "gauge", "Our connections to it.", ("cluster", "endpoint")
    ),
}


class Metrics:
    """One process's."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Labels], float] = {}
        self._times: dict[str, tuple[list[int], list[float]]] = {}

    def count(self, name: str, *labels: str, by: float = 1) -> None:
        key = (name, labels)
        self._counts[key] = self._counts.get(key, 0) + by

    def took(self, phase: str, seconds: float) -> None:
        times = self._times.get(phase)
        if times is None:
            times = self._times[phase] = ([0] * (len(BUCKETS) + 1), [0.0])
        times[0][bisect_left(BUCKETS, seconds)] += 1
        times[1][0] += seconds

    def samples(self) -> list[Sample]:
        told = [(name, labels, value) for (name, labels), value in self._counts.items()]
        for phase, (buckets, (total,)) in self._times.items():
            below = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
                below += count
                told.append((f"{PHASE}_bucket", (phase, bound), below))
            told += [(f"{PHASE}_sum", (phase,), total), (f"{PHASE}_count", (phase,), below)]
        return told


def merged(processes: Iterable[Iterable[Sample]]) -> list[Sample]:
    """The samples of several processes as those of one."""
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
    """Prometheus's text format. Each family is there, so that a rate has a beginning."""
    by_family: dict[str, list[str]] = {name: [] for name in FAMILIES}
    for name, labels, value in samples:
        family = next((each for each in (name, _stem(name)) if each in FAMILIES), None)
        if family is not None:
            names = (*FAMILIES[family].labels, *(("le",) if name.endswith("_bucket") else ()))
            told = _labels(dict(zip(names, labels, strict=True)))
            by_family[family].append(f"{name}{told} {_number(value)}")
    lines = []
    for name, family_lines in by_family.items():
        family_ = FAMILIES[name]
        lines += [f"# HELP {name} {family_.help}", f"# TYPE {name} {family_.kind}"]
        if not family_lines and not family_.labels:
            family_lines = [f"{name} 0"]
        lines += family_lines
    return "\n".join(lines) + "\n"


def _stem(name: str) -> str:
    return name.rpartition("_")[0]


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
