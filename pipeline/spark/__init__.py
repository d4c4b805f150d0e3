"""Spark: the session of this process, its file systems, and the Java in which tasks copy files."""
