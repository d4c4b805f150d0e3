"""Sends traces to OpenTelemetry and lineage to OpenLineage, for statements, copies and instances.

`traces` and `lineage` describe work that ended and send it with the libraries of the extra
`telemetry`. Both run in threads for which no statement waits.
"""
