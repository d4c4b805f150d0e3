"""Writes that a cluster's Spark reports: `causeway_write`, their marks, the copies they end."""
