"""`causeway metastore`: serves the views of a metastore; upgrades, verifies or downgrades it."""
