"""The one metastore and what Causeway makes of it.

`hms/` speaks thrift, `view/` is a cluster's sight of the metastore, `snapshot` the cached facts
that the router decides on, `upgrade` the move of an old metastore to clusters and back; `net/`
does the waiting.
"""
