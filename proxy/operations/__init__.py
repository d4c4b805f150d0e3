"""Metrics, the audit log, the history and telemetry of statements."""
