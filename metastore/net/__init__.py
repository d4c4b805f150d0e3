"""Waiting: blocking metastore clients in threads, loads that are shared, endpoints of the views."""
