"""Cluster facts in the parameters of tables and partitions: reads, changes and verifies them.

`placement_store` is the only module that changes facts of a running system; `write_marks` uses it
for writes, `assign` for operators. `upgrade` and `verify` are for a whole metastore.
"""
