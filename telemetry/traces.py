"""Spans of work that ended, sent to OpenTelemetry by OTLP over HTTP.

The id of a trace is the id of the statement or of the lifecycle's instance, or of a copy that was
made for neither. The audit log, the history and the descriptions of Spark's jobs have the same 32
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
    """Work that ended: a span `name` with a child for each of `phases`, which follow one another.

    `id` has 32 hexadecimal digits, `began` is a Unix time, durations are in seconds. `error` is
    empty after a success. If `part` is set, the span is itself a child: its parent is the span of
    the same id with an empty `part`.
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
    """Sends traces to `url`, the full URL of a collector (`http://host:4318/v1/traces`). The
    environment variable OTEL_EXPORTER_OTLP_HEADERS sets headers, as OpenTelemetry defines it."""

    def __init__(self, url: str, host: str) -> None:
        self._exporter = OTLPSpanExporter(endpoint=url, timeout=_TIMEOUT)
        self._resource = Resource(
            {"service.name": "causeway", "service.instance.id": host, "host.name": host}
        )

    def send(self, traces: Sequence[Trace]) -> bool:
        """Sends the traces; returns whether the collector accepted them."""
        spans = [span for trace in traces for span in spans_of(trace, self._resource)]
        return not spans or self._exporter.export(spans) is SpanExportResult.SUCCESS


def spans_of(trace: Trace, resource: Resource) -> list[ReadableSpan]:
    """The span of the whole work, then the spans of its phases."""
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
