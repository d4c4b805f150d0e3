"""Benchmarks of results: packed in columns, read through JDBC, and unread."""
