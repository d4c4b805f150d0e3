"""A call on its way to the metastore: admitted, changed or refused."""
