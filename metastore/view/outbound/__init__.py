"""Replies to clients: each object in a reply gets the cluster's own location."""
