"""Dataset lifecycle: entities, copies, retention, processes and incremental pull, on Spark."""
