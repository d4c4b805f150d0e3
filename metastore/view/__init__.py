"""The metastore view: one endpoint for each cluster, which shows the metastore as it should see it.

`methods` has a row for each call: what it does, and where names and objects are in its bytes.
`metastore.client.object_spans` finds them. `inbound` admits, changes or refuses a request,
`outbound` puts the cluster's own locations into a reply, `spark_writes` decides about writes that
Spark reports. These do no I/O: `lookups` are generators of the requests that they need. `server`
does the I/O, and `locks` keep writers of facts apart.
"""
