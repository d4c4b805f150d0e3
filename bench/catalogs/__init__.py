"""Benchmarks of listings, metadata calls and the metastore view."""
