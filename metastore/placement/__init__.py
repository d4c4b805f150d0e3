"""Cluster facts, kept as parameters of tables and partitions: read, change, verify them."""
