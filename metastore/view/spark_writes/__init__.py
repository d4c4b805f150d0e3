"""Writes that a cluster's Spark makes past the proxy, and reports by `causeway_write`.

`spark_writes` decides what a write changes: its marks, and the copies that become stale.
`reported_writes` has the writes that run now. `folder_index` finds the tables in the folders that a
write touches, and `copy_folders` keeps that index up to date.
"""
