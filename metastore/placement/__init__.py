"""Cluster facts in the metastore's parameters: reading, changing, verifying them."""
