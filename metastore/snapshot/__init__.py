"""The facts of the metastore in memory, from which the router decides, and their loading.

`snapshot` and `partitions` keep the facts, `loader_client` is the way to load and change them,
`table_loads` and `partitions_client` read tables and partitions for it.
"""
