"""The Hive Metastore: a client for it, cluster facts in it, and the views of it.

`client/` is the Thrift client, `placement/` reads and changes cluster facts, `catalog/` turns
tables into columns and listings, `snapshot/` keeps the facts that the router needs in memory, and
`view/` is the server that shows the metastore as each cluster should see it.
"""
