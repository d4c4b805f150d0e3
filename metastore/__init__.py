"""The Hive Metastore: its client, cluster facts in it, and what is built on them.

`client/` is the Thrift client, `placement/` reads and changes cluster facts, `catalog/` turns
tables into columns and listings, `snapshot/` keeps the facts that the router needs in memory, and
`view/` is the metastore as each cluster sees it.
"""
