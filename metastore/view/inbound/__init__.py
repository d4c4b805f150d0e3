"""Requests to the metastore: admitted, changed or refused."""
