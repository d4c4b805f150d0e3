"""What Causeway sends to a company's own tracing and lineage: OpenTelemetry and OpenLineage.

`traces` and `lineage` describe what ended and send it by the libraries of the extra `telemetry`.
Both are called by threads that no statement waits for.
"""
