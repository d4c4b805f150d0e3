"""What operators see and do: administration, audit, metrics, workers, discovery."""
