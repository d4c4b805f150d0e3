"""What operators learn: metrics, audit log, history, telemetry."""
