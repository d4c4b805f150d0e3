"""One metastore as each cluster should see it.

`methods` has the positions of names and objects in every call, and `metastore.client.object_spans`
finds them in the bytes. `inbound` admits, changes or refuses a request, `outbound` puts the
cluster's own locations into a reply. These are pure; `server` does the I/O.
"""
