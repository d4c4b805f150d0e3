"""Replies to clients: each object gets the cluster's own location."""
