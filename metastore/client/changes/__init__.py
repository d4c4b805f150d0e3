"""What clients of the metastore and its views tell each other about changes."""
