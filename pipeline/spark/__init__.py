"""The only place that knows Spark: a session, and the Java that carries files inside its tasks."""
