"""Spans of what ended, for OpenTelemetry, sent by OTLP over HTTP.

The id of the trace is the id of the statement, of the lifecycle's instance, or of a copy that was
made for neither: the audit log, the history and the descriptions of Spark's jobs have the same 32
hexadecimal digits.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

_TIMEOUT = 5.0  # seconds for a request with its repetitions
_SCOPE = InstrumentationScope("causeway")
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


@dataclass(frozen=True, slots=True)
class Trace:
    """What ended: a span `name` with one child for each of `phases`, which follow each other.

    `id` are 32 hexadecimal digits, `began` is Unix time, durations are seconds. `error` is empty
    if it succeeded. With a `part` the span is a child of the span without one of the same id.
    """

    id: str
    name: str
    began: float
    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)
    attributes: Mapping[str, str | int | float] = field(default_factory=dict)
    error: str = ""
    part: str = ""


class TraceSender:
    """Sends traces to `url`, the full URL of a collector (`http://host:4318/v1/traces`). Headers
    come from OTEL_EXPORTER_OTLP_HEADERS, as in every program with OpenTelemetry."""

    def __init__(self, url: str, host: str) -> None:
        self._exporter = OTLPSpanExporter(endpoint=url, timeout=_TIMEOUT)
        self._resource = Resource(
            {"service.name": "causeway", "service.instance.id": host, "host.name": host}
        )

    def send(self, traces: Sequence[Trace]) -> bool:
        """Whether the collector has taken them."""
        spans = [span for trace in traces for span in spans_of(trace, self._resource)]
        return not spans or self._exporter.export(spans) is SpanExportResult.SUCCESS


def spans_of(trace: Trace, resource: Resource) -> list[ReadableSpan]:
    """The span of all, then those of its phases."""
    context = _context(trace.id, trace.part)
    status = Status(StatusCode.ERROR, trace.error) if trace.error else Status(StatusCode.UNSET)
    spans = [
        ReadableSpan(
            trace.name,
            context,
            _context(trace.id, "") if trace.part else None,
            resource,
            attributes=dict(trace.attributes),
            kind=SpanKind.INTERNAL if trace.part else SpanKind.SERVER,
            status=status,
            start_time=_nanoseconds(trace.began),
            end_time=_nanoseconds(trace.began + trace.seconds),
            instrumentation_scope=_SCOPE,
        )
    ]
    began = trace.began
    for phase, seconds in trace.phases.items():
        spans.append(
            ReadableSpan(
                phase,
                _context(trace.id, f"{trace.part} {phase}" if trace.part else phase),
                context,
                resource,
                start_time=_nanoseconds(began),
                end_time=_nanoseconds(began + seconds),
                instrumentation_scope=_SCOPE,
            )
        )
        began += seconds
    return spans


def _context(trace: str, part: str) -> SpanContext:
    digest = hashlib.sha256(f"{trace} {part}".encode()).digest()
    return SpanContext(int(trace, 16), int.from_bytes(digest[:8]), False, _SAMPLED)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
