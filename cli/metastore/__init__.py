"""`causeway metastore`: the views of a metastore, and its upgrade, verification and downgrade."""
