"""A reply on its way to the client: each object with the cluster's own location."""
